import pytest

from aor_lib.analysis.results import load_results
from aor_lib.cli.make import STATE, make

pytestmark = pytest.mark.slow


@pytest.fixture
def texts_only(write_profile):
    """A study without sound: what costs time is not what is asked here."""
    return write_profile(
        conditions=["text_only", "described"], models=["ref-permissive"], mitigations=["none"]
    )


def test_a_study_is_made_and_made_again_at_no_cost(texts_only, tmp_path):
    build = tmp_path / "build"
    make(texts_only, build)
    results = load_results(build)
    assert (results["status"] == "ok").all()
    assert results["label"].notna().all()
    written = (build / STATE).stat().st_mtime_ns
    answered = results["latency_s"]
    make(texts_only, build)
    assert load_results(build)["latency_s"].equals(answered)
    assert (build / STATE).stat().st_mtime_ns == written


def test_the_state_changes_with_what_pages_show(texts_only, tmp_path):
    build = tmp_path / "build"
    make(texts_only, build)
    before = (build / STATE).read_text()
    text = texts_only.read_text().replace("seed: 1", "seed: 1\ngeneration: {max_new_tokens: 9}", 1)
    texts_only.write_text(text.replace("generation:\n  max_new_tokens: 8\n", ""))
    make(texts_only, build)
    assert (build / STATE).read_text() != before
