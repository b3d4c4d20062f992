import gc
import subprocess
import sys

from lockstep.core.collector import old_objects_set_aside


def test_new_objects_are_looked_at_and_the_collector_is_left_as_it_was_found():
    before = gc.get_threshold()
    with old_objects_set_aside():
        within = gc.get_threshold()
    assert within[:2] == before[:2] and within[2] > 10**6
    assert gc.get_threshold() == before


def test_the_collector_waits_for_the_last_of_several_scopes():
    before = gc.get_threshold()
    first, second = old_objects_set_aside(), old_objects_set_aside()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[2] > 10**6
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_importing_does_not_look_through_old_objects():
    code = """
import gc, jax, lockstep as ls
gc.collect()
found = []
gc.callbacks.append(lambda phase, info: found.append(info["generation"]))
ls.sample
assert found and 2 not in found, found
"""
    subprocess.run([sys.executable, "-c", code], check=True)
