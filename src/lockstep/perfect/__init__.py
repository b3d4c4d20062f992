"""Perfect simulation: draws that are exact, from chains run out of the past.

Both kinds replay noise, never draw it anew, and say how far back they had to go. At their limit they raise
`PerfectSimulationError`: to stop early and take what is there would be a biased draw.
"""

from lockstep.perfect.draw import PerfectDraw, PerfectSimulationError
from lockstep.perfect.murdoch_green import murdoch_green
from lockstep.perfect.propp_wilson import propp_wilson

__all__ = ["PerfectDraw", "PerfectSimulationError", "murdoch_green", "propp_wilson"]
