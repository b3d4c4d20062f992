"""Random graphs by toggling ties, compiled: Metropolis–Hastings with tie–no-tie proposals and change statistics.

With probability 1/2 a tie is proposed to go, else any pair of nodes is proposed to change. Where only some pairs are
free to change, both choose among these alone. A tie that would give a node more than it may have is refused.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lockstep.core.types import Array, Position
from lockstep.models.changes import Compiled, change
from lockstep.models.compiled import inlined, njit, stream, uniform
from lockstep.models.ties import Ties, add, empty, is_full, is_tie, remove, widened


class Rules(NamedTuple):
    """What a chain may do: which pairs are free to change (none listed: all), and the largest degrees."""

    is_directed: Any
    pairs: Any
    most_out: Any
    most_in: Any


@inlined
def free_pairs(nodes: int, rules: Rules) -> Any:
    """How many pairs are free to change."""
    if len(rules.pairs):
        return len(rules.pairs)
    return nodes * (nodes - 1) // (1 if rules.is_directed else 2)


@inlined
def proposed(u: float, ties: np.ndarray, count: int, nodes: int, rules: Rules) -> Any:
    """The pair that a uniform number proposes to toggle, ``count`` free ties being there."""
    if count and u < 0.5:
        n = int(2 * u * count)
        return ties[n, 0], ties[n, 1]
    u = 2 * u - 1 if count else u
    if len(rules.pairs):
        n = int(u * len(rules.pairs))
        return rules.pairs[n, 0], rules.pairs[n, 1]
    n = int(u * nodes * (nodes - 1))
    i, j = n // (nodes - 1), n % (nodes - 1)
    if j >= i:
        j += 1
    if not rules.is_directed and i > j:
        i, j = j, i
    return i, j


@inlined
def proposal_ratio(is_there: int, count: int, pairs: int) -> Any:
    """The probability of proposing the way back over that of the way there."""
    if is_there:
        return (0.5 / pairs if count > 1 else 1.0 / pairs) / (0.5 / count + 0.5 / pairs)
    return (0.5 / (count + 1) + 0.5 / pairs) / (0.5 / pairs if count else 1.0 / pairs)


@inlined
def is_allowed(graph: Ties, i: int, j: int, rules: Rules) -> Any:
    """Whether a tie i → j may be added."""
    return (graph.out_degree[i] < rules.most_out) & (graph.in_degree[j] < rules.most_in)


@njit
def read(x: Array, rules: Rules, ties: np.ndarray, place: Any) -> Any:
    """A matrix as a graph. The ties that are free to change are listed, and ``place`` knows where."""
    nodes, is_directed = len(x), rules.is_directed
    width: Any = np.int64(4)
    for i in range(nodes):
        leaving = 0
        for j in range(nodes):
            leaving += x[i, j]
        width = max(width, 2 * leaving)
    graph = empty(nodes, width, is_directed)
    for i in range(nodes):
        for j in range(0 if is_directed else i + 1, nodes):
            if x[i, j]:
                while is_full(graph, i, j):
                    graph = widened(graph, is_directed)
                add(graph, i, j, is_directed)
    count = 0
    for n in range(len(rules.pairs)):
        i, j = rules.pairs[n, 0], rules.pairs[n, 1]
        if x[i, j]:
            ties[count, 0], ties[count, 1], place[i, j] = i, j, count
            count += 1
    if not len(rules.pairs):
        for i in range(nodes):
            for j in range(0 if is_directed else i + 1, nodes):
                if x[i, j]:
                    ties[count, 0], ties[count, 1], place[i, j] = i, j, count
                    count += 1
    return graph, count


@njit
def write(graph: Ties, x: Array) -> None:
    """A graph as a matrix."""
    for i in range(len(x)):
        for j in range(len(x)):
            x[i, j] = 0
        for n in range(graph.out_degree[i]):
            x[i, graph.out[i, n]] = 1


class Chain(NamedTuple):
    """Where a chain is: its graph, the ties that are free to change, where each is listed, and what has changed."""

    graph: Any
    ties: Any
    place: Any
    total: Any


@njit
def walk(
    at: Array, count: Array, step: Any, last: int, start: Array, theta: Position, rules: Rules, terms: Compiled
) -> Any:
    """Proposals from number ``step`` to ``last``, or to the first that finds no room for its tie; which, and the ties.

    The arrays are the same throughout, so that compiled code need not count who refers to them.
    """
    graph, ties, place, total = at.graph, at.ties, at.place, at.total
    nodes, is_directed = len(place), rules.is_directed
    pairs = free_pairs(nodes, rules)
    added = np.zeros(len(terms.codes))
    has_room = True
    while step < last and has_room:
        # PROPOSE a tie that is there, or any pair.
        i, j = proposed(uniform(start, 2 * step), ties, count, nodes, rules)
        is_there = is_tie(graph, i, j)
        sign = 1 - 2 * is_there
        if is_there or is_allowed(graph, i, j, rules):
            # RATIO of the two graphs, and of proposing one from the other.
            change(graph, i, j, is_there, is_directed, terms, added)
            log_ratio = 0.0
            for t in range(len(added)):
                log_ratio += sign * theta[t] * added[t]
            ratio = math.exp(log_ratio) * proposal_ratio(is_there, count, pairs)
            # ACCEPT.
            if uniform(start, 2 * step + 1) < ratio:
                has_room = bool(is_there) or not is_full(graph, i, j)
                if has_room:
                    for t in range(len(added)):
                        total[t] += sign * added[t]
                    if is_there:
                        remove(graph, i, j, is_directed)
                        count -= 1
                        n = place[i, j]
                        ties[n, 0], ties[n, 1] = ties[count, 0], ties[count, 1]
                        place[ties[n, 0], ties[n, 1]] = n
                    else:
                        add(graph, i, j, is_directed)
                        ties[count, 0], ties[count, 1], place[i, j] = i, j, count
                        count += 1
        step += has_room
    return step, count


@njit
def toggle(words: Array, theta: Position, toggles: int, x: Array, rules: Rules, terms: Compiled, totals: Any) -> None:
    """Toggle the ties of each graph of ``x``, in place.

    ``totals[g, r]`` becomes what its statistics have changed by after (r + 1) ``toggles`` proposals.
    """
    nodes = x.shape[1]
    ties = np.empty((free_pairs(nodes, rules), 2), np.int32)
    place = np.empty((nodes, nodes), np.int32)
    for g in range(len(x)):
        start = stream(words[g], 1)
        graph, count = read(x[g], rules, ties, place)
        total, step = np.zeros(len(terms.codes)), np.int64(0)
        for record in range(totals.shape[1]):
            last = (record + 1) * toggles
            while step < last:
                at = Chain(graph, ties, place, total)
                step, count = walk(at, count, step, last, start, theta[g], rules, terms)
                if step < last:
                    graph = widened(graph, rules.is_directed)
            for t in range(len(total)):
                totals[g, record, t] = total[t]
        write(graph, x[g])


@njit
def count_terms(x: Array, rules: Rules, terms: Compiled, totals: Any) -> None:
    """What the ties of each graph of ``x`` add to the statistics of the empty graph, one after the other."""
    added, nodes, is_directed = np.zeros(len(terms.codes)), x.shape[1], rules.is_directed
    for g in range(len(x)):
        graph = empty(nodes, np.int64(4), is_directed)
        for i in range(nodes):
            for j in range(0 if is_directed else i + 1, nodes):
                if x[g, i, j]:
                    change(graph, i, j, np.int64(0), is_directed, terms, added)
                    for t in range(len(added)):
                        totals[g, t] += added[t]
                    if is_full(graph, i, j):
                        graph = widened(graph, is_directed)
                    add(graph, i, j, is_directed)


@njit
def change_table(x: Array, listed: Any, rules: Rules, terms: Compiled, changes: Any) -> None:
    """What each of the listed pairs would add to the statistics of a graph, if it were a tie."""
    graph, _ = read(x, rules, np.empty((free_pairs(len(x), rules), 2), np.int32), np.empty(x.shape, np.int32))
    for n in range(len(listed)):
        i, j = listed[n, 0], listed[n, 1]
        change(graph, i, j, is_tie(graph, i, j), rules.is_directed, terms, changes[n])
