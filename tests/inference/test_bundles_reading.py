"""Bundles that are damaged, forged or strange: refused with a reason, and never worse."""

import json
import re
import shutil
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aor_lib.config.params import load_model_cards
from aor_lib.inference.bundles import BundleError, export_results, read_bundle
from aor_lib.inference.store import Store
from tests.inference.bundles import machine, model, rewrite, sign

SECRET = "this text must not be quoted"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A bundle that nobody has touched."""
    folder = tmp_path_factory.mktemp("made")
    there = machine(folder / "there")
    return there.ask(model("other"), model("third")).export()


@pytest.fixture
def bundle(made, tmp_path):
    """One to spoil."""
    return shutil.copytree(made, tmp_path / "bundle")


def refused(bundle, reason):
    with pytest.raises(BundleError) as error:
        read_bundle(bundle)
    assert re.search(reason, str(error.value)), str(error.value)
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_an_untouched_bundle_is_read(made):
    read = read_bundle(made)
    assert len(read.trials) == len(read.responses) == len(read.verdicts) == 12
    assert [card.id for card in read.cards] == ["other", "third"]


def test_files_that_the_format_does_not_name_are_not_opened(bundle):
    (bundle / "notes.md").write_text("By hand.")
    (bundle / "models/extra.yaml").write_text("{")
    read_bundle(bundle)


FILES = ("trials.parquet", "responses.parquet", "verdicts.parquet", "models/other.yaml")


@pytest.mark.parametrize("name", FILES)
def test_an_altered_file_is_refused_and_named(bundle, name):
    content = bytearray((bundle / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / name).write_bytes(content)
    refused(bundle, f"{name}: is not what its sha256 says; copy the whole bundle again")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused_and_named(bundle, name):
    (bundle / name).unlink()
    refused(bundle, f"{name}: is missing")
    (bundle / name).mkdir()
    refused(bundle, f"{name}: is missing")


def test_a_folder_that_is_no_bundle_says_so(tmp_path, bundle):
    refused(tmp_path, "is no results bundle: it has no manifest.json")
    for text in ("", "{", "[]", "7", '{"files": {}}', "[" * 100_000, "\x00"):
        (bundle / "manifest.json").write_text(text)
        refused(bundle, "is not the manifest of a results bundle")


def test_a_version_that_is_not_known_says_what_to_do(bundle):
    manifest = json.loads((bundle / "manifest.json").read_text())
    for version in (2, "1", None):
        (bundle / "manifest.json").write_text(json.dumps(manifest | {"format_version": version}))
        refused(bundle, "format_version: is .*; use the same version of aor")


def test_a_name_that_leads_out_of_the_folder_is_refused(bundle):
    (bundle.parent / "out.yaml").write_text("id: out")

    def lead_out(rows):
        rows[0]["model"] = "../../out"

    rewrite(bundle, "trials.parquet", lead_out)
    refused(bundle, "trials.parquet: row 1: model: String should match pattern")


def change(**values):
    return lambda rows: rows[0].update(values)


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        ("trials", change(trial_key="0" * 64), "row 1: trial_key: is not the hash of what"),
        ("trials", change(revision="9"), "row 1: trial_key: is not the hash of what"),
        ("trials", change(generation="{}}"), "row 1: generation: Invalid JSON"),
        ("trials", change(generation='{"max_new_tokens":-1}'), "row 1: generation.max_new_tokens"),
        ("trials", change(stimulus_sha256="x"), "row 1: stimulus_sha256"),
        ("trials", lambda rows: rows.append(rows[0]), "trial .*: is there twice"),
        ("trials", lambda rows: rows.pop(), "response to .*: is to no trial of the bundle"),
        ("responses", change(status="well"), "row 1: status: Input should be 'ok'"),
        ("responses", change(status="failed", text=SECRET), "status: 'failed' does not go with"),
        ("responses", change(text=None), "status: 'ok' does not go with"),
        ("responses", change(latency_s=float("nan")), "latency_s: is nan"),
        ("responses", change(latency_s=None, text=SECRET), "row 1: latency_s"),
        ("responses", change(tokens=-1), "tokens: is -1"),
        ("responses", change(created=SECRET), "created or heard"),
        ("responses", change(heard="[1]"), "created or heard"),
        ("responses", change(heard=f'{{"scene": {{"{SECRET}": 1}}}}'), "heard: must hold texts"),
        ("responses", lambda rows: rows.append(rows[0]), "response to .*: is there twice"),
        ("responses", lambda rows: rows.pop(), "verdict of .*: is on no response"),
        ("verdicts", change(label="refusal"), "row 1: label"),
        ("verdicts", change(score=1.5), "score: 1.5 is no probability"),
        ("verdicts", change(score=float("nan")), "score: nan is no probability"),
        ("verdicts", change(flags=[SECRET]), "flags: valid are degenerate"),
        ("verdicts", change(flags=None), "row 1: flags"),
        ("verdicts", change(judge="<b>"), "row 1: judge"),
        ("verdicts", change(judge_version="<b>"), "judge_version: must be plain text"),
        ("verdicts", lambda rows: rows.append(rows[0]), "verdict on .*: is there twice"),
    ],
)
def test_a_row_that_no_study_would_have_recorded_is_refused(bundle, name, spoil, reason):
    rewrite(bundle, f"{name}.parquet", spoil)
    refused(bundle, reason)


def test_a_verdict_on_what_was_not_answered_is_refused(bundle):
    def fail(rows):
        for row in rows:
            row.update(status="failed", text=None, error="busy")

    rewrite(bundle, "responses.parquet", fail)
    refused(bundle, "label: no answer")


def test_columns_of_other_names_or_types_are_refused(bundle):
    table = pq.read_table(bundle / "verdicts.parquet")
    for other in (
        table.drop_columns(["flags"]),
        table.append_column("more", pa.array([1] * len(table))),
        table.set_column(4, "score", pa.array([b"pickle"] * len(table))),
    ):
        pq.write_table(other, bundle / "verdicts.parquet")
        sign(bundle, "verdicts.parquet")
        refused(bundle, "verdicts.parquet: cannot be read: its columns must be trial_key")


def test_text_that_is_not_utf8_is_refused(bundle):
    table = pq.read_table(bundle / "responses.parquet")
    bad = pa.array([b"\xff"] * len(table)).view(pa.string())
    pq.write_table(table.set_column(2, table.schema.field(2), bad), bundle / "responses.parquet")
    sign(bundle, "responses.parquet")
    refused(bundle, "responses.parquet: cannot be read")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "models/other.yaml: "),
        ("id: third\ntitle: T\nfamily: F\nkind: hf\nlicence: L\nsource: S\n", "id: is 'third'"),
        ("id: other\n", "title: Field required"),
        ("- &a [x, x]\n- [*a, *a]\n", "has aliases"),
        ("!!python/object/apply:os.system ['true']", "models/other.yaml"),
        ("[" * 90_000, "nested too deep"),
        ("note: " + "x" * 100_000, "has more than 100000 bytes"),
    ],
)
def test_a_card_that_is_none_is_refused(bundle, text, reason):
    (bundle / "models/other.yaml").write_text(text)
    sign(bundle, "models/other.yaml")
    refused(bundle, reason)


@pytest.mark.parametrize("field", ["title", "family", "licence", "source", "note"])
@pytest.mark.parametrize("text", ["<script>", "[a](b)", "`x`", "a\nb", "a\x1b[31m", "a\u202eb"])
def test_what_pages_show_of_a_model_must_be_plain_text(bundle, field, text):
    path = bundle / "models/other.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {field: text}))
    sign(bundle, "models/other.yaml")
    refused(bundle, f"model other: {field}: must be plain text")


def test_what_is_said_of_a_strange_manifest_is_one_plain_line(bundle):
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").write_text(json.dumps(manifest | {"\x1b[31m\nred": 1}))
    refused(bundle, r"manifest.json:  \[31m red: Extra inputs are not permitted")


def test_the_origin_of_answers_must_be_plain_text_too(bundle):
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["answered"][0]["libraries"]["<torch>"] = "2"
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    refused(bundle, "provenance of other: libraries: must be plain text")


def test_the_cards_of_all_models_may_travel(tmp_path):
    cards = load_model_cards()
    there = machine(tmp_path / "there", 1)
    there.ask(*(model(card.id, **card.model_dump(exclude={"id"})) for card in cards.values()))
    assert {card.id: card for card in read_bundle(there.export()).cards} == cards


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    there = machine(tmp_path / "there", 1)
    there.ask(model("other", note="see [1]"))
    with pytest.raises(BundleError, match="not written: model other: note: must be plain text"):
        there.export()
    assert not list(tmp_path.glob("*bundle*"))


def test_a_folder_in_use_is_refused(tmp_path):
    there = machine(tmp_path / "there", 1).ask(model("other"))
    bundle = there.export()
    with pytest.raises(BundleError, match="exists and is not empty; remove it"):
        there.export()
    assert read_bundle(bundle)


def test_a_study_without_results_says_what_to_run(tmp_path):
    there = machine(tmp_path / "there", 1)
    with pytest.raises(BundleError, match="run 'aor run' first"):
        there.export()
    Store(there.build / "results.sqlite").close()
    with pytest.raises(BundleError, match="run 'aor run' first"):
        export_results(there.study, there.build, tmp_path / "out")


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_in_any_file_are_refused_or_are_a_bundle(made, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("any")
    bundle = shutil.copytree(made, folder / "bundle")
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
