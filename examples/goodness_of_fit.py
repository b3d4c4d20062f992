"""Goodness of fit of random graphs: degrees, shared partners and distances, simulated against observed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import networkx
import numpy as np


def degrees(x: np.ndarray) -> np.ndarray:
    """The share of nodes with 0, 1, … neighbours."""
    return np.bincount(x.sum(axis=1).astype(int), minlength=len(x)) / len(x)


def shared_partners(x: np.ndarray) -> np.ndarray:
    """The share of edges whose ends have 0, 1, … neighbours in common."""
    i, j = np.nonzero(np.triu(x))
    counts = np.bincount((x.astype(int) @ x)[i, j], minlength=len(x))
    return counts / max(len(i), 1)


def distances(x: np.ndarray) -> np.ndarray:
    """The share of pairs at distance 1, 2, …; the last entry is of pairs that no path joins."""
    nodes = len(x)
    counts = np.zeros(nodes)
    for source, reached in networkx.all_pairs_shortest_path_length(networkx.from_numpy_array(x)):
        for target, length in reached.items():
            if source < target:
                counts[length - 1] += 1
    pairs = nodes * (nodes - 1) / 2
    counts[-1] = pairs - counts[:-1].sum()
    return counts / pairs


PANELS = {
    "degree": (degrees, 0, "share of nodes"),
    "edgewise shared partners": (shared_partners, 0, "share of edges"),
    "distance": (distances, 1, "share of pairs"),
}


def plot(data: np.ndarray, simulated: np.ndarray, title: str) -> tuple[plt.Figure, dict[str, float]]:
    """Bands of simulated graphs (all, and the middle 90 %) and the observed graph; the share of points within them."""
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    inside = {}
    for panel, (name, (count, first, label)) in zip(axes, PANELS.items(), strict=True):
        observed = count(data)
        bands = np.stack([count(x) for x in simulated])
        is_joined = name != "distance"
        last = int(
            np.max(np.flatnonzero(np.vstack([observed, bands.max(axis=0)])[:, : None if is_joined else -1].any(0)))
        )
        at = np.arange(first, first + last + 1)
        low, high = np.quantile(bands, (0.05, 0.95), axis=0)
        panel.fill_between(
            at, bands.min(axis=0)[: last + 1], bands.max(axis=0)[: last + 1], color="#cfe2f3", label="simulated, all"
        )
        panel.fill_between(at, low[: last + 1], high[: last + 1], color="#8ab6dd", label="the middle 90 % of them")
        panel.plot(at, observed[: last + 1], "ko-", markersize=3.5, label="observed")
        if not is_joined:
            apart = at[-1] + 1.5
            panel.errorbar([apart], [np.median(bands[:, -1])], [[np.median(bands[:, -1]) - low[-1]],
                           [high[-1] - np.median(bands[:, -1])]], color="#8ab6dd", linewidth=5)  # fmt: skip
            panel.plot([apart], [observed[-1]], "ko", markersize=3.5)
            ticks = [*at[:: max(1, len(at) // 6)], apart]
            panel.set_xticks(ticks, [*map(str, ticks[:-1]), "∞"])
        else:
            panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set(xlabel=name, ylabel=label)
        inside[name] = float(np.mean((observed >= low) & (observed <= high)))
    axes[1].legend(frameon=False)
    figure.suptitle(title)
    return figure, inside
