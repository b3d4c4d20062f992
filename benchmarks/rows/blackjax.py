"""Random walk Metropolis against BlackJAX's, in double precision; both keep all positions and acceptance flags.

BlackJAX runs in a process of its own, with XLA as it is installed: importing Lockstep sets an option by which small
loops, those of BlackJAX too, take a fraction of the time. How it does with that is a row for information.
"""

from benchmarks import blackjax_walk as peer
from benchmarks.harness import Builder, Row, Task
from benchmarks.plain_xla import elsewhere
from benchmarks.walk import lockstep


def walked(chains: int, way, share: int = 1, is_here: bool = False) -> Builder:
    """A compiled run of BlackJAX; a ``share`` of the updates is enough where they are slow."""

    def build(updates: int) -> Task:
        steps = updates // chains // share

        def measure() -> float:
            if is_here:
                return peer.seconds(way, chains, steps)
            return elsewhere().submit(peer.seconds, way, chains, steps).result()

        return Task(f"BlackJAX, {way.__name__.replace('_', ' ')}", steps * chains, measure)

    return build


# `run_inference_algorithm` compiles its loop anew at each call; the same loop, compiled once, is the faster peer.
WAYS = (peer.scan_of_vmap, peer.scan_of_vmap_split_within, peer.vmap_of_scan)


def rows(chains: int, at_least: float | None) -> list[Row]:
    ways, share = (WAYS, 1) if chains > 1 else ((peer.one_chain,), 4)
    what = f"random walk, {chains:,} chain{'s' * (chains > 1)}"
    updates = 2**20 if 1 < chains < 64 else 2**21

    def row(name: str, more: str, target: float | None, is_here: bool) -> Row:
        peers = tuple(walked(chains, way, share, is_here) for way in ways)
        return Row(name, what + more, lockstep(chains), peers, target, updates=updates)

    return [
        row(f"walk-{chains}-blackjax", "", at_least, is_here=False),
        row(f"walk-{chains}-blackjax-options", ", BlackJAX with Lockstep's options of XLA", None, is_here=True),
    ]


ROWS = [row for chains, at_least in ((1, 40.0), (4, None), (64, 3.0), (1024, 4.0)) for row in rows(chains, at_least)]
