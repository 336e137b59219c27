"""Judging stored answers: each of a study once, and those in a table with all its rows kept."""

import csv
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.config.records import FLAGS, Arm, Generation, Label, Response, Status, Trial
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.store import STORE, Store
from aor_lib.judge import Judge, Judgement
from aor_lib.judge.stored import ADDED, judge_study, judge_table
from aor_lib.stimuli.manifest import MANIFEST
from tests.audio.sounds import quiet

TEXTS = {name: f"How do I {name} it?" for name in ("kill", "beat", "stop", "shoot")}
THINK = 'First say what is heard. Then write "Final answer:" and answer the request.'
FAILED = {"status": Status.FAILED, "text": None, "error": "timeout"}
BLOCKED = {"status": Status.BLOCKED, "text": None, "error": "a filter"}
OUTCOMES = [{"text": "No."}, FAILED, BLOCKED, {"text": "Yes."}]
REFUSAL, HELP = "I'm sorry, but I can't help with that.", "Use the kill command, then press enter."


def response(**fields):
    given = {"status": Status.OK, "error": None, "latency_s": 0.1, "tokens": 5}
    return Response.model_validate(given | {"created": "2026-01-01T00:00:00Z"} | fields)


def quoting(version="1", fails_on=None):
    """A judge that says what it was given, and takes all for a refusal but a "help"."""

    def judge_all(exchanges):
        if fails_on in [answer for answer, _ in exchanges]:
            raise RuntimeError("cut off")
        return [
            Judgement(Label.FULL_REFUSAL, 0.9, f"{prompt}|{answer}", FLAGS[:1])
            if answer.strip()
            else Judgement(Label.UNJUDGED, None, "empty")
            for answer, prompt in exchanges
        ]

    return Judge("quoting", version, judge_all)


@pytest.fixture
def build(tmp_path):
    """Four trials: answered, failed, blocked, answered."""
    manifest = pd.DataFrame({"stimulus_id": list(TEXTS), "text": list(TEXTS.values())})
    manifest.to_parquet(tmp_path / MANIFEST)
    fields = dict.fromkeys(("revision", "mitigation"), "1") | {"settings_sha256": "0" * 64}
    arm = Arm(model="m", instruction=None, generation=Generation(), **fields)
    trials = [Trial(name, name.encode().hex().ljust(64, "0"), arm) for name in TEXTS]
    with Store(tmp_path / STORE) as store:
        store.set_plan(trials)
        store.record(
            response(trial_key=trial.key, **outcome)
            for trial, outcome in zip(trials, OUTCOMES, strict=True)
        )
    return tmp_path


def verdicts(build):
    with Store(build / STORE) as store:
        return store.frame("quoting").set_index("stimulus_id")


def test_the_judge_gets_each_answer_with_its_prompt_and_a_failure_is_unjudged(build):
    steps = []
    assert judge_study(build, quoting(), lambda done, total: steps.append((done, total))) == 4
    assert steps[-1] == (4, 4)
    found = verdicts(build)
    assert found.loc["kill", "rationale"] == "How do I kill it?|No."
    assert found.loc["shoot", "rationale"] == "How do I shoot it?|Yes."
    assert "timeout" in found.loc["beat", "rationale"]
    assert "a filter" in found.loc["stop", "rationale"]
    assert (found.loc[["beat", "stop"], "label"] == Label.UNJUDGED).all()


def test_what_was_judged_is_judged_again_only_by_another_version(build):
    assert judge_study(build, quoting(), quiet) == 4
    assert judge_study(build, quoting(), quiet) == 0
    assert judge_study(build, quoting("2"), quiet) == 4


def test_verdicts_of_finished_batches_survive_a_judge_that_is_cut_off(build, monkeypatch):
    monkeypatch.setattr("aor_lib.judge.stored._BATCH", 1)
    with Store(build / STORE) as store:
        last = [response.text for response in store.unjudged("quoting", "1") if response.text][-1]
    with pytest.raises(RuntimeError, match="cut off"):
        judge_study(build, quoting(fails_on=last), quiet)
    kept = verdicts(build)["label"].notna().sum()
    assert kept >= 1
    assert judge_study(build, quoting(), quiet) == 4 - kept


def test_answers_to_probes_are_not_judged(build):
    with Store(build / STORE) as store:
        first, *_ = store.planned()
        arm = replace(first.arm, mitigation="hearing", method="probe", steps=("Hear?",))
        probe = replace(first, arm=arm)
        store.set_plan([first, probe])
        store.record([response(trial_key=probe.key, text="A train.")])
    judge_study(build, quoting(), quiet)
    assert verdicts(build).set_index("mitigation")["label"].notna().to_dict() == {
        "1": True,
        "hearing": False,
    }


@pytest.mark.parametrize(
    ("told", "text", "ended", "label"),
    [
        (THINK, "I hear a train, so", "length", Label.UNJUDGED),
        (THINK, "I hear a train. Final answer:", "length", Label.UNJUDGED),
        (THINK, "I hear a train. Final answer: take the", "length", Label.FULL_REFUSAL),
        (THINK, "I hear a train.", "stop", Label.FULL_REFUSAL),
        ("Be brief.", "Take the", "length", Label.FULL_REFUSAL),
    ],
)
def test_reasoning_that_was_cut_off_before_its_final_answer_is_unjudged(
    build, told, text, ended, label
):
    with Store(build / STORE) as store:
        first, *_ = store.planned()
        trial = replace(first, arm=replace(first.arm, instruction=told, revision="2"))
        store.set_plan([trial])
        store.record([response(trial_key=trial.key, text=text, finish_reason=ended)])
    judge_study(build, quoting(), quiet)
    assert list(verdicts(build)["label"]) == [label]


def judged(source, suffix=None):
    """Judge a file and read what was written."""
    target = source.with_name(f"judged{suffix or source.suffix}")
    judge_table(source, target, quoting(), quiet)
    if target.suffix == ".csv":
        with target.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    if target.suffix == ".jsonl":
        return [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    return pq.read_table(target).to_pylist()


def csv_file(folder, *rows):
    path = folder / "answers.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)
    return path


def judged_json(folder, *rows, suffix=None):
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return judged(path, suffix)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
ODD = ("007", "NA", ' "quote", and\r\na line')


@settings(max_examples=40)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6).map(lambda rows: [*rows, ODD]))
def test_every_row_of_a_csv_stays_as_it_is(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("csv")
    found = judged(csv_file(folder, ["prompt", "note", "completion"], *rows))
    assert [(row["prompt"], row["note"], row["completion"]) for row in found] == rows


def test_every_row_of_a_jsonl_stays_as_it_is_before_the_judges_columns(tmp_path):
    row = {"prompt": "p", "completion": HELP, "x": [2.5, {"a": "\u00e9", "b": None}], "y": 7}
    found, other = judged_json(tmp_path, row, {"prompt": "\u2028", "completion": "c"})
    added = ["full_refusal", 0.9, f"p|{HELP}", True, False, False]
    assert found == row | dict(zip(ADDED, added, strict=True))
    assert (other["prompt"], other["y"]) == ("\u2028", None)


def test_types_of_a_parquet_file_stay(tmp_path):
    table = pa.table(
        {
            "prompt": pa.array(["p", None], pa.large_string()),
            "completion": pa.array([REFUSAL, HELP]).dictionary_encode(),
            "count": pa.array([1, None], pa.int8()),
            "when": pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
            "scores": pa.array([[0.5, None], []], pa.list_(pa.float32())),
            "who": pa.array([{"name": "a"}, None], pa.struct([("name", pa.string())])),
        }
    )
    pq.write_table(table, tmp_path / "answers.parquet")
    judged(tmp_path / "answers.parquet")
    found = pq.read_table(tmp_path / "judged.parquet")
    assert found.column_names == [*table.column_names, *ADDED]
    for name in table.column_names:
        assert found.schema.field(name).type == table.schema.field(name).type, name
        assert found[name].to_pylist() == table[name].to_pylist()
    assert found.schema.field("p_refusal").type == pa.float64()


@pytest.mark.parametrize(("suffix", "unknown"), [(".csv", ""), (".parquet", None)])
def test_a_table_can_be_written_in_another_format(tmp_path, suffix, unknown):
    rows = [{"prompt": "p", "completion": completion} for completion in (REFUSAL, "")]
    refused, empty = judged_json(tmp_path, *rows, suffix=suffix)
    assert (refused["label"], refused["prompt"]) == ("full_refusal", "p")
    assert (empty["label"], empty["p_refusal"]) == ("unjudged", unknown)


@pytest.mark.parametrize("completion", [None, " \n\t", 7])
def test_what_is_empty_or_no_text_is_unjudged(tmp_path, completion):
    (row,) = judged_json(tmp_path, {"prompt": "p", "completion": completion})
    assert (row["label"], row["p_refusal"]) == ("unjudged", None)


def test_the_judge_gets_the_prompt_and_none_where_there_is_none(tmp_path):
    rows = [{"prompt": prompt, "completion": "a"} for prompt in ("p", "", None, 3)]
    found = judged_json(tmp_path, *rows)
    assert [row["rationale"] for row in found] == ["p|a", "None|a", "None|a", "None|a"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"Prompt,completion\n", r"a\.csv: .* column prompt"),
        ("a.csv", b"prompt,completion,label\n", r"a\.csv: .* column label"),
        ("a.csv", "prompt,completion\np,é\n".encode("latin-1"), r"a\.csv: .* 0xe9"),
        ("a.csv", b"prompt,completion\na,b\na,b,c\n", r"a\.csv: .* line 3"),
        ("a.jsonl", b'{"prompt": "p"}\n{"prompt"\n', r"a\.jsonl: .* line 2"),
        ("a.parquet", b"prompt,completion\n", r"a\.parquet: "),
        ("a.xlsx", b"", r"a\.xlsx: "),
        ("a.jsonl", b'{"prompt": "p", "completion": "\\ud800"}\n', r"judged\.csv: "),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line_and_nothing_is_written(
    tmp_path, name, content, message
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AorError, match=message) as error:
        judged(tmp_path / name, ".csv")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "judged.csv").exists()


def test_the_command_judges_a_table_and_counts_the_labels(tmp_path, monkeypatch, capsys):
    from aor_lib.cli import main

    source = csv_file(tmp_path, ["prompt", "completion"], ["p", REFUSAL], ["p", HELP])
    monkeypatch.setattr(sys, "argv", ["aor", "judge", str(source), "--out", f"{tmp_path}/out.csv"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert "full_refusal 1" in capsys.readouterr().out
    assert (tmp_path / "out.csv").is_file()
