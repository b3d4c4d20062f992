"""Loops whose body does little, compiled in one piece.

XLA on the processor runs the body of a loop as a row of small programs, each of which costs as much to begin as tens of
numbers cost to compute; only bodies that touch less than a thousand bytes become one program. An update of a few cheap
chains touches a little more than that, and then takes many times as long as it could. The limit is an option of XLA,
which reads it once, before its first program; loops with products of matrices, sorting or calls of the host stay as
they are.
"""

from __future__ import annotations

import os

OPTION = "xla_cpu_small_while_loop_byte_threshold"
FLAG = "xla_backend_extra_options"
BYTES = 2**18  # that a body may touch


def compile_in_one_piece() -> None:
    """Raise the limit for this process, and for those that it starts, unless its user has set options of that kind."""
    given = os.environ.get("XLA_FLAGS", "")
    if FLAG not in given:
        os.environ["XLA_FLAGS"] = f"{given} --{FLAG}={OPTION}={BYTES}".strip()
