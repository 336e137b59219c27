import hashlib

import pytest
from typer.testing import CliRunner

from aor_lib.analysis.results import load_cards, load_provenance, load_results
from aor_lib.cli import data as verbs
from aor_lib.cli.app import app
from aor_lib.config.records import content_hash
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.exchange import BundleError, export_results, import_results
from aor_lib.inference.store import StoreError, open_results
from aor_lib.models.base import Answer, Failure
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.manifest import VALIDATION, DatasetError, load_manifest
from aor_lib.stimuli.validation import made_from
from aor_lib.storage.progress import finished
from book._ext.unpacking import unpack_study
from tests.audio.sounds import put
from tests.conftest import make_text_stimuli
from tests.inference.conftest import model


@pytest.fixture
def there(machine):
    return machine("there").ask(model("other"))


def take(bundle, to):
    return import_results(bundle, to.study, to.build)


def refused(bundle, by):
    """Reason for which a bundle is refused; the results must be left as they are."""
    before = by.tables()
    with pytest.raises(AorError) as error:
        take(bundle, by)
    assert by.tables() == before
    return str(error.value)


def test_imported_models_stand_beside_the_studys_own_with_their_titles_and_origins(here, there):
    done = take(there.export(), here)
    assert (done.models, done.trials, done.answered) == (("other",), 6, 6)
    by_model = load_results(here.build).groupby("model")
    assert by_model.size().to_dict() == {"other": 6, "own": 6}
    theirs = load_results(there.build)
    columns = ["response", "label", "p_refusal", "rationale", "flags", "tokens", "latency_s"]
    imported = by_model.get_group("other")[columns].reset_index(drop=True)
    assert imported.equals(theirs[columns])
    assert load_cards(here.build)["other"].title == "The model other"
    origins = load_provenance(here.build).set_index("model")
    assert origins["profile"].to_dict() == {"other": "tiny", "own": ""}
    assert origins.loc["other", "libraries"]["torch"]
    once = here.tables()
    assert take(there.build.with_suffix(".zip"), here).answered == 0
    assert here.tables() == once


def test_nothing_is_replaced_by_a_failure_nor_an_answer_by_another(machine):
    def at(name, *answers):
        by_text = dict(zip((f"text {n}" for n in range(5)), answers, strict=True))
        return machine(name, make_text_stimuli(5)).ask(model("other", by_text.__getitem__))

    blocked, failed = Failure("content filter", blocked=True), Failure("busy")
    mine = at("mine", *[Answer("Mine.", 1)] * 2, blocked, failed, failed)
    refusal, new = Answer("I cannot help.", 1), Answer("New.", 1, served_by="model-1")
    theirs = at("theirs", failed, refusal, Answer("A", 1), new, Failure("slow"))
    before = load_results(mine.build)
    assert take(theirs.export(), mine).answered == 1
    after = load_results(mine.build)
    assert after["status"].to_list() == ["ok", "ok", "blocked", "ok", "failed"]
    assert after["error"][4] == "busy"
    assert after["response"].dropna().to_list() == ["Mine.", "Mine.", "New."]
    assert after["label"][:3].to_list() == before["label"][:3].to_list()
    assert after["label"][3] == load_results(theirs.build)["label"][3]
    reason = refused(at("mixed", *[Answer("B", 1, served_by="model-2")] * 5).export(), mine)
    assert all(name in reason for name in ("model 'other'", "model-1", "model-2"))


def test_other_stimuli_of_the_same_names_are_refused_and_named(here, machine):
    new = {"sha256": content_hash("new")}
    others = [s.model_copy(update=new if n in (1, 4) else {}) for n, s in enumerate(here.stimuli)]
    reason = refused(machine("there", others).ask(model("other")).export(), here)
    assert "2 of its 6 stimuli" in reason
    assert "s1, s4" in reason


def test_a_model_of_another_revision_is_refused_whichever_comes_first(here, machine):
    newer = model("own")
    newer.revision = "2"
    bundle = machine("there").ask(newer, model("other")).export()
    reason = refused(bundle, here)
    assert "model 'own'" in reason
    assert "revision: 1,2" in reason
    fresh = machine("fresh")
    take(bundle, fresh)
    with pytest.raises(StoreError, match="--forget own"):
        fresh.ask(model("own"))
    with open_results(fresh.build) as store:
        assert store.forget_imported("own") == store.forget_imported("other") == 6
    assert not fresh.tables()["responses"] + fresh.tables()["verdicts"]
    assert set(load_results(fresh.ask(model("own")).build)["revision"]) == {"1"}


def test_answers_to_other_questions_or_under_other_settings_are_refused(here, there):
    study, bundle = here.study, there.export()
    [none] = study.mitigations
    told = none.model_copy(update={"instruction": "Think first."})
    here.study = study.model_copy(update={"mitigations": (told,)})
    assert "Think first." in refused(bundle, here)
    here.study = study
    here.ask(model("other"), settings_sha256="1" * 64)
    assert "settings" in refused(bundle, here)


@pytest.fixture
def whole(machine):
    *texts, heard = make_text_stimuli(6)
    of_clip = {"path": "clips/a.flac", "sha256": hashlib.sha256(b"a sound").hexdigest()}
    whole = machine("whole", [*texts, heard.model_copy(update=of_clip)]).ask(model("own"))
    put(whole.build / "clips/a.flac", b"a sound")
    (whole.build / VALIDATION).write_bytes((whole.build / "manifest.parquet").read_bytes())
    finished(whole.build, "validate", made_from(whole.build, stimuli(whole.study)))
    return whole


def test_only_what_was_validated_and_asked_as_it_is_now_is_passed_on(whole, tmp_path):
    put(whole.build / "clips/b.flac", b"another")
    with pytest.raises(DatasetError, match="aor validate"):
        export_results(whole.study, whole.build, tmp_path / "study.zip")
    changed = load_manifest(whole.build)
    changed.loc[0, "sha256"] = "0" * 64
    changed.to_parquet(whole.build / "manifest.parquet")
    bundle = export_results(whole.study, whole.build, tmp_path / "study.zip", clips=False)
    assert [len(rows) for rows in (bundle.trials, bundle.responses, bundle.verdicts)] == [5, 5, 5]
    assert load_results(whole.build)["status"].tolist() == ["missing", *["ok"] * 5]


def test_a_study_comes_out_of_its_zip_file_in_place_of_an_earlier_one(whole, tmp_path):
    zipped = tmp_path / "study.zip"
    export_results(whole.study, whole.build, zipped)
    there = tmp_path / "there" / "tiny"
    for _ in range(2):
        assert unpack_study(zipped, whole.study, there) == 6
    columns = ["stimulus_id", "model", "response", "label"]
    assert load_results(there)[columns].equals(load_results(whole.build)[columns])
    assert (there / "clips/a.flac").read_bytes() == b"a sound"
    with pytest.raises(BundleError, match="without clips"):
        unpack_study(whole.export(), whole.study, tmp_path / "other")


def test_imported_clips_are_not_passed_on(whole, tmp_path):
    clips = load_manifest(whole.build).assign(block="imported")
    clips.to_parquet(whole.build / "manifest.parquet")
    with pytest.raises(BundleError, match="--no-clips"):
        export_results(whole.study, whole.build, tmp_path / "study.zip")


def test_the_command_exports_imports_and_forgets(here, there, monkeypatch, tmp_path):
    monkeypatch.setattr(verbs, "study_of", lambda params, build: (here.study, here.build))

    def aor(verb, *arguments):
        return CliRunner().invoke(app, [verb, *map(str, arguments), "tiny.yaml"]).output

    assert "6 verdicts" in aor("export", "--no-clips", "--into", tmp_path / "mine.zip")
    assert "other: 6 trials, 6 responses added" in aor("import", there.export())
    assert "own: 6 trials, 0 responses added" in aor("import", tmp_path / "mine.zip")
    for name in ("other", "own"):
        assert f"{name}: 6 imported trials" in aor("import", "--forget", name)
    assert load_results(here.build).groupby("model")["label"].count().to_dict() == {"own": 6}
