import io
import json
import zipfile
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aor_lib.inference import exchange
from aor_lib.inference.exchange import BundleError, read_bundle, write_bundle
from aor_lib.models.base import Answer, Failure
from tests.conftest import make_text_stimuli
from tests.inference.conftest import Machine, model

SECRET = "this text must not be quoted"
ODD = " \t\u00a0\u2028\x00\U0001f600\ud7ff'\"\\<b>"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def odd(text):
        return Failure(f"a{ODD}b") if text == "text 5" else Answer(f"{text}{ODD}.", 2**40)

    there = Machine(tmp_path_factory.mktemp("made") / "there", make_text_stimuli(6))
    return there.ask(model("other"), model("third", odd)).export()


@pytest.fixture
def spoiled(made, tmp_path):
    def spoiled(changes, *, signed=True):
        with zipfile.ZipFile(made) as archive:
            files = {name: archive.read(name) for name in archive.namelist()} | changes
        if signed and "manifest.json" not in changes:
            manifest = json.loads(files.pop("manifest.json"))
            kept = {name: content for name, content in files.items() if content}
            manifest["files"] = {name: sha256(kept[name]).hexdigest() for name in kept}
            files["manifest.json"] = json.dumps(manifest).encode()
        with zipfile.ZipFile(tmp_path / "spoiled.zip", "w") as archive:
            for name, content in files.items():
                if content is not None:
                    archive.writestr(name, content)
        return tmp_path / "spoiled.zip"

    return spoiled


def content_of(bundle, name):
    with zipfile.ZipFile(bundle) as archive:
        return archive.read(name)


def refused(bundle):
    """Reason for which a bundle is refused: one line that quotes no answer."""
    with pytest.raises(BundleError) as error:
        read_bundle(bundle)
    assert SECRET not in str(error.value)
    assert str(error.value).isprintable()
    return str(error.value)


def test_a_bundle_is_read_back_as_it_was_written(made, tmp_path):
    read = read_bundle(made)
    assert len(read.trials) == len(read.responses) == len(read.verdicts) == 12
    assert any(ODD in (response.text or "") for response in read.responses)
    write_bundle(read, tmp_path / "again.zip", {})
    assert (tmp_path / "again.zip").read_bytes() == made.read_bytes()
    with pytest.raises(BundleError, match="exists"):
        write_bundle(read, tmp_path / "again.zip", {})


@pytest.mark.parametrize("name", [f"{name}.parquet" for name in exchange._TABLES])
def test_an_altered_or_missing_file_is_refused_and_named(made, spoiled, name):
    content = bytearray(content_of(made, name))
    content[len(content) // 2] ^= 1
    assert name in refused(spoiled({name: bytes(content)}, signed=False))
    assert name.partition(".")[0] in refused(spoiled({name: None}))


def test_what_is_no_bundle_or_holds_anything_else_is_refused(spoiled, tmp_path):
    (tmp_path / "some.zip").write_text("no zip file")
    assert "some.zip" in refused(tmp_path / "some.zip")
    for text in (b"", b"[]", b"[" * 100_000, None):
        assert "bundle" in refused(spoiled({"manifest.json": text}))
    assert "cannot be read" in refused(spoiled({"responses.parquet": b"\xff"}))
    for name in ("study/clips/../../x.flac", "run.py", "study/results.sqlite"):
        assert repr(name) in refused(spoiled({name: b"x"}))
    with zipfile.ZipFile(tmp_path / "some.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(list(range(300))))
    whole = (tmp_path / "some.zip").read_bytes()
    for place, byte in enumerate(whole):  # damaged, said to be encrypted, or compressed otherwise
        spoilt = whole[:place] + bytes([byte ^ 0xFF]) + whole[place + 1 :]
        (tmp_path / "some.zip").write_bytes(spoilt)
        refused(tmp_path / "some.zip")


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        ("trials", lambda row: row["arm"].update(model="../../out"), "row 1: arm: model"),
        ("trials", lambda row: row["arm"].update(instruction="Think."), "no trial in the bundle"),
        ("responses", lambda row: row.update(status="failed", text=SECRET), "row 1: status"),
        ("responses", lambda row: row.update(created=SECRET), "row 1: created"),
        ("verdicts", lambda row: row.update(p_refusal=float("nan")), "row 1: p_refusal"),
    ],
)
def test_rows_that_no_study_would_have_written_are_refused(made, spoiled, name, spoil, reason):
    rows = pq.read_table(io.BytesIO(content_of(made, f"{name}.parquet"))).to_pylist()
    spoil(rows[0])
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), content)
    assert reason in refused(spoiled({f"{name}.parquet": content.getvalue()}))
