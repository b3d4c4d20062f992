"""Chains over several devices: graphics processors, or the cores of a machine that JAX is told to take as devices."""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from lockstep.core.arguments import whole
from lockstep.core.types import Tree

PROGRAMS = 1024  # traced ones of which is remembered what was found in them: a run asks several times


def require_devices(devices: Any) -> int | None:
    """A number of devices that there are, or None for all of them."""
    if devices is None:
        return None
    count = whole(devices, "devices", 1)
    if count > jax.device_count():
        raise ValueError(
            f"devices is {count}, but JAX has {jax.device_count()}; take fewer, or before anything is computed call "
            f'jax.config.update("jax_num_cpu_devices", {count}), which makes devices of the cores of this machine'
        )
    return count


def used(devices: int | None, chains: int) -> int:
    """How many devices take the same number of chains each: the most that there are, or that are wanted."""
    most = min(jax.device_count() if devices is None else devices, chains)
    return next(count for count in range(most, 0, -1) if chains % count == 0)


def laid_over(tree: Tree, count: int) -> Any:
    """Arrays with a leading axis over the chains, a part of it on each of so many devices. No number changes."""
    mesh = jax.make_mesh((count,), ("chains",), axis_types=(AxisType.Auto,), devices=jax.devices()[:count])
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec("chains")))


@functools.lru_cache(maxsize=PROGRAMS)
def calls_host(program: Any) -> bool:
    """Whether a step of a traced program calls the host."""
    inner = (inside for step in program.eqns for inside in jaxprs_in_params(step.params))
    return any("callback" in step.primitive.name for step in program.eqns) or any(map(calls_host, inner))
