import subprocess
import sys

import pytest

from aor_lib.analysis.results import load_results
from aor_lib.cli import make
from book._ext.build import STATE, record_state


@pytest.mark.slow
def test_a_study_is_made_again_at_no_cost_and_has_another_state_if_changed(write_profile, tmp_path):
    build = tmp_path / "build"
    # Without sound: what costs time is not what is asked here.
    few = {"scenarios": ["kitchen"], "models": ["ref-permissive"], "mitigations": ["none"]}
    few |= {"conditions": ["text_only"]}
    make.make(write_profile(**few, generation={"max_new_tokens": 2}), build)
    results = load_results(build)
    assert (results["status"] == "ok").all()
    assert results["label"].notna().all()
    states = []
    for tokens in (2, 2, 3):
        make.make(write_profile(**few, generation={"max_new_tokens": tokens}), build)
        record_state(build, "speech-acts")
        states.append((build / STATE).read_text())
        if tokens == 2:
            assert load_results(build)["latency_s"].equals(results["latency_s"])
    assert states[0] == states[1] != states[2]


def test_importing_the_library_and_its_command_loads_no_heavy_package():
    code = (
        "import sys, aor_lib, aor_lib.cli.app, aor_lib.config.records, aor_lib.config.params\n"
        "heavy = {'torch', 'transformers', 'inspect_ai', 'pandas', 'onnxruntime', 'altair'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
