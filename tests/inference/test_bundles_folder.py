"""Bundles on disk: written and read back, and refused where they are damaged, forged or strange."""

import json
import shutil
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aor_lib.config.params import load_model_cards
from aor_lib.inference.bundles import BundleError, read_bundle, write_bundle
from aor_lib.models.base import Answer, Failure
from tests.conftest import make_text_stimuli
from tests.inference.conftest import Machine

SECRET = "this text must not be quoted"
ODD = " \t\u00a0\u2028\x00\U0001f600\ud7ff'\"\\<b>"
FILES = ("trials.parquet", "responses.parquet", "verdicts.parquet", "cards.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory, model):
    """A bundle that nobody has touched, with odd texts and failures."""

    def odd(text):
        return Failure(f"a{ODD}b") if text == "text 5" else Answer(f"{text}{ODD}.", 2**40)

    there = Machine(tmp_path_factory.mktemp("made") / "there", make_text_stimuli(6))
    return there.ask(model("other"), model("third", odd)).export()


@pytest.fixture
def bundle(made, tmp_path):
    """A copy to spoil."""
    return shutil.copytree(made, tmp_path / "bundle")


def sign(bundle, name):
    """Make a bundle's manifest name the present content of a file: a forger's last step."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["files"][name] = sha256((bundle / name).read_bytes()).hexdigest()
    (bundle / "manifest.json").write_text(json.dumps(manifest))


def rewrite(bundle, name, change):
    """Change the rows of a table, or the content of a JSON file, and its hash with it."""
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


def refused(bundle):
    """Why a bundle is refused: in one line that quotes no answer."""
    with pytest.raises(BundleError) as error:
        read_bundle(bundle)
    assert SECRET not in str(error.value)
    assert str(error.value).isprintable()
    return str(error.value)


def test_a_bundle_is_read_back_as_it_was_written(made, tmp_path):
    read = read_bundle(made)
    assert len(read.trials) == len(read.responses) == len(read.verdicts) == 12
    assert any(ODD in (response.text or "") for response in read.responses)
    (tmp_path / "again").mkdir()  # an empty folder may be there
    write_bundle(read, tmp_path / "again")
    assert read_bundle(tmp_path / "again") == read
    assert (tmp_path / "again/manifest.json").read_bytes() == (made / "manifest.json").read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_an_altered_or_missing_file_is_refused_and_named(bundle, name):
    content = bytearray((bundle / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / name).write_bytes(content)
    assert f"{name}: is not what its sha256 says" in refused(bundle)
    (bundle / name).unlink()
    assert f"{name}: is missing" in refused(bundle)


@pytest.mark.parametrize("text", ["", "[]", '{"files": {}}', "[" * 100_000])
def test_a_manifest_of_something_else_is_refused(bundle, text):
    (bundle / "manifest.json").write_text(text)
    assert "manifest.json: is not the manifest of a results bundle" in refused(bundle)
    (bundle / "manifest.json").unlink()
    assert "is no results bundle" in refused(bundle)


def change(**values):
    return lambda rows: rows[0].update(values)


def change_arm(**values):
    return lambda rows: rows[0]["trial"]["arm"].update(values)


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        ("trials", change(trial_key="0" * 64), "row 1: trial_key: is not the hash"),
        ("trials", change_arm(model="../../out"), "row 1: trial: arm: model: String should match"),
        ("trials", lambda rows: rows.append(rows[0]), "is there twice"),
        ("trials", lambda rows: rows.pop(), "is to no trial of the bundle"),
        ("responses", change(status="failed", text=SECRET), "'failed' does not go with"),
        ("responses", change(status="failed", text=None, error="busy"), "there is no answer"),
        ("responses", change(latency_s=float("nan")), "row 1: latency_s"),
        ("responses", change(created=SECRET), "row 1: created"),
        ("responses", change(heard=f'{{"{SECRET}": {{}}}}'), "row 1: heard: must hold"),
        ("responses", lambda rows: rows.pop(), "is on no response"),
        ("verdicts", change(score=float("nan")), "row 1: score"),
        ("verdicts", change(judge="<b>"), "row 1: judge"),
        ("cards", lambda cards: cards.pop("other"), "cards: one for each model"),
        ("cards", lambda cards: cards.update(other=cards["third"]), "cards: one for each model"),
        ("cards", lambda cards: cards["other"].update(title="<b>"), "other: title: must be plain"),
        ("cards", lambda cards: cards["other"].update(title="a\u202eb"), "title: must be plain"),
        ("manifest", lambda it: it["answered"][0].update(libraries={"<b>": "2"}), "must be plain"),
        ("manifest", lambda it: it.update({"\x1b[31m\nred": 1}), "[31m red: unknown key"),
        ("manifest", lambda it: it.update(format_version=1), "use the same version of aor"),
        ("manifest", lambda it: it.update(dataset_version=1), "run the models on that"),
    ],
)
def test_what_no_study_would_have_written_is_refused(bundle, name, spoil, reason):
    [path] = bundle.glob(f"{name}.*")
    rewrite(bundle, path.name, spoil)
    assert reason in refused(bundle)


@pytest.mark.parametrize("name", ["responses.parquet", "cards.json"])
@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"PAR1\4\0\0\0PAR1"])
def test_a_signed_file_of_something_else_is_refused(bundle, name, content):
    (bundle / name).write_bytes(content)
    sign(bundle, name)
    assert f"{name}: cannot be read" in refused(bundle)


def test_the_cards_of_all_models_may_travel(machine, model):
    cards = load_model_cards()
    there = machine("there", 1)
    there.ask(*(model(card.id, **card.model_dump(exclude={"id"})) for card in cards.values()))
    assert read_bundle(there.export()).cards == cards


def test_a_folder_in_use_is_refused(bundle):
    read = read_bundle(bundle)
    with pytest.raises(FileExistsError, match="exists and is not empty; remove it"):
        write_bundle(read, bundle)
    assert read_bundle(bundle) == read
