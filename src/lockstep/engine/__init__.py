"""Blocks of noise and loops of moves: the compiled engine and the interpreted one."""
