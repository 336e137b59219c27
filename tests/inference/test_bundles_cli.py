"""`aor results`: what it says, and what it ends with."""

import pytest
import yaml
from typer.testing import CliRunner

from aor_lib.analysis.results import load_results
from aor_lib.cli import app


@pytest.fixture
def aor(here, model, tmp_path):
    """Run a verb of `aor results` on the study in ``here``."""
    profile = tmp_path / "tiny.yaml"
    profile.write_text(yaml.safe_dump(here.study.profile.model_dump(mode="json")))
    (tmp_path / "models").mkdir()
    card = model("own").card.model_dump(mode="json")
    (tmp_path / "models/own.yaml").write_text(yaml.safe_dump(card))

    def aor(verb, *arguments):
        arguments = [verb, *map(str, arguments), str(profile), "--build", str(here.build)]
        return CliRunner().invoke(app, ["results", *arguments])

    return aor


def test_results_are_exported_imported_and_forgotten(aor, here, machine, model, tmp_path):
    exported = aor("export", "--into", tmp_path / "mine")
    assert exported.exit_code == 0, exported.output
    assert "6 trials of 1 models, 6 responses, 6 verdicts" in exported.stdout
    bundles = [machine(name, 8).ask(model(name)).export() for name in ("second", "third")]
    imported = aor("import", *bundles)
    assert imported.exit_code == 0, imported.output
    assert "second: 6 trials, 6 of them new; 6 responses added" in imported.stdout
    assert "third: 6 trials" in imported.stdout
    assert "2 trials are left out" in imported.stderr
    assert set(load_results(here.build)["model"]) == {"own", "second", "third"}
    assert "second: 6 imported trials" in aor("forget", "second").stdout
    assert set(load_results(here.build)["model"]) == {"own", "third"}


def test_a_bundle_that_is_refused_keeps_none_before_it_from_being_imported(
    aor, here, machine, model, tmp_path
):
    bundle = machine("there").ask(model("other")).export()
    failed = aor("import", bundle, tmp_path / "nothing")
    assert failed.exit_code == 1
    assert "is no results bundle" in str(failed.exception)
    assert set(load_results(here.build)["model"]) == {"own", "other"}
