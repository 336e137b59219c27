"""Bundles on disk: written and read back, and refused where they are damaged, forged or strange."""

import json
import shutil
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aor_lib.config.params import ModelCard, load_model_cards
from aor_lib.config.records import (
    FLAGS,
    Arm,
    Generation,
    Label,
    Response,
    Status,
    Trial,
    Verdict,
    content_hash,
)
from aor_lib.inference.bundles import Bundle, BundleError, read_bundle, write_bundle
from aor_lib.inference.bundles.schema import TrialRow
from aor_lib.inference.provenance import Provenance

SECRET = "this text must not be quoted"
TABLES = ("trials.parquet", "responses.parquet", "verdicts.parquet")
FILES = (*TABLES, "cards.json")

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
PLAIN = st.text(st.characters(categories=("L", "N")), max_size=12)
NAMES = st.sampled_from(["a", "b.c", "d_e-1"])
HASHES = st.integers(0, 5).map(content_hash)
GENERATIONS = st.builds(
    Generation,
    max_new_tokens=st.integers(1, 4096),
    temperature=st.floats(0, 2),
    seed=st.integers(0, 2**63 - 1),
)
STEPS = st.lists(TEXT, max_size=2).map(tuple)
ARMS = st.builds(Arm, NAMES, PLAIN, HASHES, NAMES, st.none() | TEXT, GENERATIONS, STEPS)


@st.composite
def bundles(draw):
    arms = st.sampled_from(draw(st.lists(ARMS, min_size=1, max_size=3)))
    trials = draw(
        st.lists(
            st.builds(Trial, NAMES, HASHES, arms),
            min_size=1,
            max_size=5,
            unique_by=lambda trial: (trial.key, trial.stimulus_id, trial.arm.mitigation),
        )
    )
    keys = draw(st.lists(st.sampled_from([t.key for t in trials]), unique=True))
    responses = [draw(responses_to(key)) for key in keys]
    return Bundle(
        profile="tiny",
        aor_version="0.1.0",
        trials=tuple(TrialRow(trial_key=trial.key, trial=trial) for trial in trials),
        responses=tuple(responses),
        verdicts=tuple(draw(verdicts_on(r)) for r in responses if draw(st.booleans())),
        cards={
            name: ModelCard(id=name, title=draw(PLAIN), family="", kind="hf", licence="", source="")
            for name in {trial.arm.model for trial in trials}
        },
        provenance=(
            Provenance(
                model=trials[0].arm.model,
                revision=draw(PLAIN),
                aor_version="0",
                python="3",
                device=draw(PLAIN),
                libraries=draw(st.dictionaries(PLAIN, PLAIN, max_size=2)),
                since="2026-01-01",
            ),
        ),
    )


@st.composite
def responses_to(draw, key):
    status, words = draw(st.sampled_from(Status)), draw(TEXT)
    return Response(
        trial_key=key,
        status=status,
        text=words if status is Status.OK else None,
        error=None if status is Status.OK else words,
        heard=draw(st.none() | st.dictionaries(TEXT, TEXT, max_size=2).map(json.dumps)),
        latency_s=draw(st.floats(0, 1e6)),
        tokens=draw(st.none() | st.integers(0, 2**40)),
        created=f"{draw(st.datetimes()).isoformat()}+00:00",
    )


@st.composite
def verdicts_on(draw, response):
    answered = response.status is Status.OK
    return Verdict(
        trial_key=response.trial_key,
        judge=draw(NAMES),
        judge_version=draw(PLAIN),
        label=draw(st.sampled_from(Label)) if answered else Label.UNJUDGED,
        score=draw(st.none() | st.floats(0, 1)),
        rationale=draw(TEXT),
        flags=tuple(draw(st.lists(st.sampled_from(FLAGS), unique=True))),
    )


@given(bundle=bundles())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_bundle_is_read_back_as_it_was_written(bundle, tmp_path_factory):
    folder = tmp_path_factory.mktemp("round") / "bundle"
    write_bundle(bundle, folder)
    assert read_bundle(folder) == bundle


@pytest.fixture(scope="module")
def made(tmp_path_factory, model):
    """A bundle that nobody has touched."""
    from tests.inference.conftest import Machine, make_text_stimuli

    there = Machine(tmp_path_factory.mktemp("made") / "there", make_text_stimuli(6))
    return there.ask(model("other"), model("third")).export()


@pytest.fixture
def bundle(made, tmp_path):
    """One to spoil."""
    return shutil.copytree(made, tmp_path / "bundle")


@pytest.fixture
def rewrite(sign):
    """Change the rows of a table, or the content of a JSON file, and its hash with it."""

    def rewrite(bundle, name, change):
        path = bundle / name
        if path.suffix == ".parquet":
            rows = pq.read_table(path).to_pylist()
            change(rows)
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            content = json.loads(path.read_text())
            change(content)
            path.write_text(json.dumps(content))
        if name != "manifest.json":
            sign(bundle, name)

    return rewrite


def refused(bundle):
    """Why a bundle is refused: in one line that quotes no answer."""
    with pytest.raises(BundleError) as error:
        read_bundle(bundle)
    assert SECRET not in str(error.value)
    assert str(error.value).isprintable()
    return str(error.value)


def test_an_untouched_bundle_is_read(made):
    read = read_bundle(made)
    assert len(read.trials) == len(read.responses) == len(read.verdicts) == 12
    assert set(read.cards) == {"other", "third"}


def test_files_that_the_format_does_not_name_are_not_opened(bundle):
    (bundle / "notes.json").write_text("{")
    read_bundle(bundle)


@pytest.mark.parametrize("name", FILES)
def test_an_altered_or_missing_file_is_refused_and_named(bundle, name):
    content = bytearray((bundle / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / name).write_bytes(content)
    assert f"{name}: is not what its sha256 says" in refused(bundle)
    (bundle / name).unlink()
    assert f"{name}: is missing" in refused(bundle)


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path):
    assert "is no results bundle" in refused(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"files": {}}', "[" * 100_000, "\x00"])
def test_a_manifest_of_something_else_is_refused(bundle, text):
    (bundle / "manifest.json").write_text(text)
    assert "manifest.json: is not the manifest of a results bundle" in refused(bundle)


@pytest.mark.parametrize("version", [2, "1", None])
def test_a_version_that_is_not_known_says_what_to_do(bundle, rewrite, version):
    rewrite(bundle, "manifest.json", lambda manifest: manifest.update(format_version=version))
    assert "use the same version of aor" in refused(bundle)


def test_a_strange_key_of_the_manifest_is_named_in_plain_text(bundle, rewrite):
    rewrite(bundle, "manifest.json", lambda manifest: manifest.update({"\x1b[31m\nred": 1}))
    assert "manifest.json:  [31m red: Extra inputs" in refused(bundle)


def change(**values):
    return lambda rows: rows[0].update(values)


def change_arm(**values):
    return lambda rows: rows[0]["trial"]["arm"].update(values)


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        ("trials", change(trial_key="0" * 64), "row 1: trial_key: is not the hash"),
        ("trials", change_arm(revision="9"), "row 1: trial_key: is not the hash"),
        ("trials", change_arm(model="../../out"), "row 1: trial: arm: model: String should match"),
        ("trials", change_arm(generation={}), "row 1: trial: arm: generation"),
        ("trials", change(more="x"), "row 1: more: Extra inputs"),
        ("trials", lambda rows: rows.append(rows[0]), "is there twice"),
        ("trials", lambda rows: rows.pop(), "is to no trial of the bundle"),
        ("responses", change(status="well"), "row 1: status: Input should be 'ok'"),
        ("responses", change(status="failed", text=SECRET), "'failed' does not go with"),
        ("responses", change(text=None), "'ok' does not go with"),
        ("responses", change(latency_s=float("nan")), "row 1: latency_s"),
        ("responses", change(latency_s=None, text=SECRET), "row 1: latency_s"),
        ("responses", change(tokens=-1), "row 1: tokens"),
        ("responses", change(created=SECRET), "row 1: created"),
        ("responses", change(heard="[1]"), "row 1: heard: is no JSON object"),
        ("responses", change(heard=f'{{"{SECRET}": {{}}}}'), "row 1: heard: must hold"),
        ("responses", lambda rows: rows.append(rows[0]), "is there twice"),
        ("responses", lambda rows: rows.pop(), "is on no response"),
        ("verdicts", change(label="refusal"), "row 1: label"),
        ("verdicts", change(score=1.5), "row 1: score"),
        ("verdicts", change(score=float("nan")), "row 1: score"),
        ("verdicts", change(flags=[SECRET]), "row 1: flags"),
        ("verdicts", change(judge="<b>"), "row 1: judge"),
        ("verdicts", change(judge_version="<b>"), "must be plain text"),
        ("verdicts", lambda rows: rows.append(rows[0]), "is there twice"),
    ],
)
def test_a_row_that_no_study_would_have_recorded_is_refused(bundle, rewrite, name, spoil, reason):
    rewrite(bundle, f"{name}.parquet", spoil)
    assert reason in refused(bundle)


def test_a_verdict_on_what_was_not_answered_is_refused(bundle, rewrite):
    def fail(rows):
        for row in rows:
            row.update(status="failed", text=None, error="busy")

    rewrite(bundle, "responses.parquet", fail)
    assert "label: there is no answer" in refused(bundle)


def test_text_that_is_not_utf8_is_refused(bundle, sign):
    table = pq.read_table(bundle / "responses.parquet")
    bad = pa.array([b"\xff"] * len(table)).view(pa.string())
    pq.write_table(table.set_column(2, table.schema.field(2), bad), bundle / "responses.parquet")
    sign(bundle, "responses.parquet")
    assert "responses.parquet: cannot be read" in refused(bundle)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\x00", b"\xff"])
def test_cards_that_are_no_json_are_refused(bundle, sign, text):
    (bundle / "cards.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    sign(bundle, "cards.json")
    assert "cards.json: cannot be read" in refused(bundle)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda cards: cards.pop("other"),
        lambda cards: cards.update(other=cards["third"]),
        lambda cards: cards.update(fourth=cards["third"]),
        lambda cards: cards["other"].pop("title"),
    ],
)
def test_cards_of_other_models_than_the_trials_are_refused(bundle, rewrite, spoil):
    rewrite(bundle, "cards.json", spoil)
    assert "cards" in refused(bundle)


@pytest.mark.parametrize("field", ["title", "family", "licence", "source", "note"])
@pytest.mark.parametrize("text", ["<script>", "[a](b)", "`x`", "a\nb", "a\x1b[31m", "a\u202eb"])
def test_what_pages_show_of_a_model_must_be_plain_text(bundle, rewrite, field, text):
    rewrite(bundle, "cards.json", lambda cards: cards["other"].update({field: text}))
    assert f"cards.json: other: {field}: must be plain text" in refused(bundle)


def test_the_origin_of_answers_must_be_plain_text_too(bundle, rewrite):
    def tag(manifest):
        manifest["answered"][0]["libraries"]["<torch>"] = "2"

    rewrite(bundle, "manifest.json", tag)
    assert "libraries: must be plain text" in refused(bundle)


def test_the_cards_of_all_models_may_travel(machine, model):
    cards = load_model_cards()
    there = machine("there", 1)
    there.ask(*(model(card.id, **card.model_dump(exclude={"id"})) for card in cards.values()))
    assert read_bundle(there.export()).cards == cards


def test_a_folder_in_use_is_refused(made, tmp_path):
    bundle = read_bundle(made)
    (tmp_path / "empty").mkdir()
    write_bundle(bundle, tmp_path / "empty")
    with pytest.raises(BundleError, match="exists and is not empty; remove it"):
        write_bundle(bundle, tmp_path / "empty")
    assert read_bundle(tmp_path / "empty") == bundle


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_in_any_file_are_refused_or_are_a_bundle(made, sign, tmp_path_factory, data):
    bundle = shutil.copytree(made, tmp_path_factory.mktemp("any") / "bundle")
    name = data.draw(st.sampled_from([*FILES, "manifest.json"]))
    content = bytearray((bundle / name).read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (bundle / name).write_bytes(content)
    if name != "manifest.json":
        sign(bundle, name)
    with suppress(BundleError):
        read_bundle(bundle)
