"""A command-line simulator: final sizes of Reed-Frost epidemics, one a line. It stands for any program you have.

Usage: simulator.py R0 HOUSEHOLD COUNT SEED
"""

import random
import sys


def final_size(r0: float, household: int, generator: random.Random) -> int:
    """How many of the others in a household one first case infects, directly or not."""
    escape = max(0.0, 1 - r0 / household)
    susceptible, infectious = household, 1
    while infectious and susceptible:
        newly = sum(generator.random() > escape**infectious for _ in range(susceptible))
        susceptible, infectious = susceptible - newly, newly
    return household - susceptible


def main() -> None:
    r0, household, count, seed = float(sys.argv[1]), *map(int, sys.argv[2:5])
    if r0 < 0:
        sys.exit(f"R0 is {r0}; it cannot be negative")
    generator = random.Random(seed)
    print(*(final_size(r0, household, generator) for _ in range(count)), sep="\n")


main()
