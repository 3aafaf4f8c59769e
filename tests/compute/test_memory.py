import ctypes
import subprocess
import sys

import pytest

from unembed.compute import memory

# Two large blocks, one after the other: are the second one's pages new ones? It is a little smaller: beside
# a block of the very same size, something small may have moved into the rest that alignment needs.
FAULTS = """
import resource, sys, torch
from unembed.compute.memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
torch.ones(50_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.ones(49_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_what_is_freed_is_used_again():
    def faults(how):
        out = subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True)
        return int(out.stdout)

    assert faults("keep") < 0.2 * faults("default")


def test_where_there_is_no_glibc_nothing_is_done(monkeypatch):
    def no_library(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    assert not memory.keep_freed_memory()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not memory.keep_freed_memory()
