"""The engine with the real reference models, through the command."""

import signal
import subprocess
import sys

import pytest

from aor_lib.inference.store import Store

pytestmark = pytest.mark.nightly

KILLED = """
import os, signal, sys
from aor_lib.inference import engine
from aor_lib.cli import main
from aor_lib.inference.store import Store

engine.BATCH = 12
left = int(sys.argv.pop(1))
record = Store.record

def record_or_die(self, responses):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    record(self, responses)

Store.record = record_or_die
main()
"""


def aor_run(profile, build, batches):
    """`aor run`, killed when it is about to record one batch more than these."""
    command = [sys.executable, "-c", KILLED, str(batches), "run", str(profile)]
    done = subprocess.run([*command, "--build", str(build)], capture_output=True, text=True)
    return done.returncode


def test_a_killed_run_goes_on_and_ends_as_if_it_had_not_been(tiny_study, write_profile, outcomes):
    _, build = tiny_study
    profile, store = write_profile(mitigations=["none"]), build / "results.sqlite"
    try:
        assert aor_run(profile, build, -1) == 0
        whole = outcomes(store)
        assert {row.status for row in whole} == {"ok"}
        for name in build.glob("results.sqlite*"):
            name.unlink()
        assert aor_run(profile, build, 2) == -signal.SIGKILL
        with Store(store) as opened:
            kept = len(opened.finished())
        assert 0 < kept < len(whole)
        assert aor_run(profile, build, -1) == 0
        assert outcomes(store) == whole
    finally:
        for name in build.glob("results.sqlite*"):
            name.unlink()
