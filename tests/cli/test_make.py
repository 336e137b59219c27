import pytest

from aor_lib.analysis.results import load_results
from aor_lib.cli.make import make
from aor_lib.storage.stages import STATE

pytestmark = pytest.mark.slow


def test_a_study_is_made_again_at_no_cost_and_its_state_changes_with_what_pages_show(
    write_profile, tmp_path
):
    build = tmp_path / "build"
    # Without sound: what costs time is not what is asked here.
    few = {"scenarios": ["kitchen"], "models": ["ref-permissive"], "mitigations": ["none"]}
    few |= {"conditions": ["text_only"]}
    profile = write_profile(**few, generation={"max_new_tokens": 2})
    make(profile, build)
    results = load_results(build)
    assert (results["status"] == "ok").all()
    assert results["label"].notna().all()
    state = (build / STATE).read_text()
    written = (build / STATE).stat().st_mtime_ns
    make(profile, build)
    assert load_results(build)["latency_s"].equals(results["latency_s"])
    assert (build / STATE).stat().st_mtime_ns == written
    make(write_profile(**few, generation={"max_new_tokens": 3}), build)
    assert (build / STATE).read_text() != state
