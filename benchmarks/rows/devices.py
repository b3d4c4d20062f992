"""Compiled chains over two devices, the cores of a machine, against one; in a process of its own that has two."""

import time

import numpy as np

import lockstep as ls
from benchmarks import two_devices
from benchmarks.harness import Builder, Row, Task
from benchmarks.rows.durable import regression
from benchmarks.rows.lagged import log_density


def mixture() -> ls.MetropolisHastings:
    return ls.standard(log_density, ls.RandomWalk(4.0))


KERNELS = {"regression": (regression, 4), "mixture": (mixture, 2)}


def seconds(name: str, chains: int, draws: int, devices: int) -> float:
    make, dimension = KERNELS[name]
    kernel = make()
    began = time.perf_counter()
    ls.sample(kernel, np.zeros(dimension), draws=draws, chains=chains, progress=False, devices=devices)
    return time.perf_counter() - began


def sampled(name: str, chains: int, devices: int) -> Builder:
    def build(updates: int) -> Task:
        def measure() -> float:
            return two_devices.elsewhere().submit(seconds, name, chains, updates // chains, devices).result()

        return Task(f"{devices} device{'s' * (devices > 1)}", updates // chains * chains, measure)

    return build


ROWS = [
    Row(
        f"devices-{name}",
        f"{chains:,} chains over two devices, {what}",
        sampled(name, chains, 2),
        (sampled(name, chains, 1),),
        target,
        updates=updates,
        repeats=7,
    )
    for name, what, chains, updates, target in (
        ("regression", "logistic regression with 200 data", 64, 2**18, 1.7),
        ("mixture", "mixture in the plane", 1024, 2**22, 1.4),
    )
]
