import csv
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from aor_lib.cli.app import app
from aor_lib.config.records import FLAGS, Label
from aor_lib.config.typed_yaml import AorError
from aor_lib.inference.asking import response_of
from aor_lib.inference.store import STORE, Store
from aor_lib.judge.judgement import Judge, Judgement
from aor_lib.judge.stored import ADDED, judge_study, judge_table
from aor_lib.models.base import Answer, Failure, ModelError
from aor_lib.stimuli.manifest import write_manifest
from tests.audio.sounds import quiet
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import run_texts

THINK = 'First say what is heard. Then write "Final answer:" and answer the request.'
OUTCOMES = {"text 0": Answer("No.", 5), "text 1": Answer("Yes.", 5)}
OUTCOMES |= {"text 2": Failure("timeout"), "text 3": Failure("a filter", blocked=True)}


def quoting(version="1"):
    """A judge that takes all for refusals, and says what it was given."""

    def judge_all(exchanges):
        return [
            Judgement(Label.FULL_REFUSAL, 0.9, f"{prompt}|{answer}", FLAGS[:1])
            if answer.strip()
            else Judgement(Label.UNJUDGED, None, "empty")
            for answer, prompt in exchanges
        ]

    return Judge("quoting", version, judge_all)


@pytest.fixture
def build(tmp_path):
    """Four trials: two answered, one failed and one blocked."""
    texts = make_text_stimuli(len(OUTCOMES))
    write_manifest(texts, tmp_path)
    run_texts(tmp_path / STORE, [ScriptedModel(OUTCOMES.__getitem__)], texts)
    return tmp_path


def ask(build, text, ended="stop", **of_arm):
    with Store(build / STORE) as store:
        first, *_ = store.planned()
        trial = replace(first, arm=replace(first.arm, mitigation="other", **of_arm))
        store.set_plan([first, trial])
        store.record([response_of(trial.key, Answer(text, 5, finish_reason=ended), 0.1)])


def verdicts(build, by="stimulus_id"):
    with Store(build / STORE) as store:
        return store.frame("quoting").set_index(by)


def test_planned_answers_are_judged_once_a_version_with_their_prompt_and_failures_unjudged(build):
    with Store(build / STORE) as store:
        first, *others = store.planned()
        store.set_plan(others)
        assert judge_study(build, quoting(), quiet) == 3
        store.set_plan([first, *others])
    assert judge_study(build, quoting(), quiet) == 1
    found = verdicts(build)
    assert found.loc["s0", "rationale"] == "text 0|No."
    assert "timeout" in found.loc["s2", "rationale"]
    assert "a filter" in found.loc["s3", "rationale"]
    assert (found.loc[["s2", "s3"], "label"] == Label.UNJUDGED).all()
    assert judge_study(build, quoting(), quiet) == 0
    assert judge_study(build, quoting("2"), quiet) == 4
    with Store(build / STORE) as store:
        (again,) = (one.trial_key for one in store.responses() if one.error == "timeout")
        store.record([response_of(again, Answer("An answer at last.", 5), 0.1)])
    assert judge_study(build, quoting("2"), quiet) == 1
    assert verdicts(build).loc["s2", "label"] == Label.FULL_REFUSAL
    assert verdicts(build).loc["s2", "flags"] == f'["{FLAGS[0]}"]'


def failing(fails, reason):
    """A judge that fails on answers for which ``fails`` says so; and those that it was asked."""
    asked = []

    def judge_all(exchanges):
        asked.extend(answer for answer, _ in exchanges if answer)
        refusal = Judgement(Label.FULL_REFUSAL, 1.0, "No")
        return [Failure(reason) if fails(answer) else refusal for answer, _ in exchanges]

    return Judge("quoting", "1", judge_all), asked


def test_a_judge_that_fails_gives_no_verdict_and_is_asked_again_by_the_next_call(build):
    unavailable, _ = failing(lambda answer: answer == "Yes.", "503 Service Unavailable")
    with pytest.raises(ModelError, match=r"1 of 4 .*503 Service"):
        judge_study(build, unavailable, quiet)
    found = verdicts(build)["label"]
    assert found.isna().to_dict() == {"s0": False, "s2": False, "s3": False, "s1": True}
    judge, asked = failing(lambda answer: False, "")
    assert judge_study(build, judge, quiet) == 1
    assert asked == ["Yes."]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_table_keeps_its_verdicts_when_a_quota_ends(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("aor_lib.judge.stored._BATCH", 8)
    source, target = tmp_path / "answers.jsonl", tmp_path / f"judged{suffix}"
    answers = [f"No {number}." for number in range(40)]
    rows = [json.dumps({"prompt": "p", "completion": answer}) for answer in answers]
    source.write_text("\n".join(rows))
    ended, asked = failing(lambda answer: answer in answers[20:], "insufficient_quota")
    kept = []
    with pytest.raises(ModelError, match=r"20 of 40 .*insufficient_quota"):
        judge_table(source, target, ended, lambda *_: kept.append(target.read_text().count("No")))
    assert kept == [48, 56, 60, 60]  # a rationale more of each that is judged
    assert asked == answers[:32]  # and no more, since it failed on all of the last batch
    judge, asked = failing(lambda answer: False, "")
    assert judge_table(source, target, judge, quiet)["full_refusal"] == 40
    assert asked == answers[20:]
    with pytest.raises(AorError, match=rf"judged{suffix}: .*quoting 1, not quoting 2"):
        judge_table(source, target, replace(judge, version="2"), quiet)
    assert asked == answers[20:]


def test_answers_to_probes_are_judged_as_answers_to_what_the_probe_asks(build):
    ask(build, "A train.", method="probe", steps=("Hear?",))
    judge_study(build, quoting(), quiet)
    assert verdicts(build, "mitigation").at["other", "rationale"] == "Hear?|A train."


@pytest.mark.parametrize(
    ("told", "text", "ended", "label"),
    [
        (THINK, "I hear a train. Final answer:", "length", Label.UNJUDGED),
        (THINK, "I hear a train. Final answer: take the", "length", Label.FULL_REFUSAL),
        (THINK, "<|assistant|>I hear a train.", "length", Label.UNJUDGED),
        (THINK, "I hear a train.", "stop", Label.FULL_REFUSAL),
        ("Be brief.", "Take the", "length", Label.FULL_REFUSAL),
    ],
)
def test_reasoning_without_its_final_answer_is_unjudged(build, told, text, ended, label):
    ask(build, text, ended, instruction=told)
    judge_study(build, quoting(), quiet)
    assert verdicts(build, "mitigation").loc["other", "label"] == label


def judged(source, suffix=None):
    target = source.with_name(f"judged{suffix or source.suffix}")
    judge_table(source, target, quoting(), quiet)
    with target.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream) if target.suffix == ".csv" else map(json.loads, stream))


def judged_json(folder, *rows, suffix=None):
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return judged(path, suffix)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
ODD = ("007", "NA", ' "quote", and\r\na line')


@settings(max_examples=40)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6).map(lambda rows: [*rows, ODD]))
def test_every_row_of_a_csv_stays_as_it_is(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "answers.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = [("prompt", "note", "completion"), *rows]
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(table)
    found = judged(path)
    assert [(row["prompt"], row["note"], row["completion"]) for row in found] == rows


def test_every_row_of_a_jsonl_stays_as_it_is_before_the_judges_columns(tmp_path):
    row = {"prompt": "p", "completion": "No.", "x": [2.5, {"a": "\u00e9", "b": None}], "y": 7}
    found, other = judged_json(tmp_path, row, {"prompt": "\u2028", "completion": "c"})
    added = ["full_refusal", 0.9, "p|No.", "quoting 1"]
    assert found == row | dict(zip(ADDED, added, strict=True))
    assert (other["prompt"], other["y"]) == ("\u2028", None)


@pytest.mark.parametrize(("suffix", "unknown"), [(".csv", ""), (".jsonl", None)])
@pytest.mark.parametrize("completion", [None, " \n\t", 7])
def test_what_is_empty_or_no_text_is_unjudged(tmp_path, completion, suffix, unknown):
    (row,) = judged_json(tmp_path, {"prompt": "p", "completion": completion}, suffix=suffix)
    assert (row["label"], row["p_refusal"]) == ("unjudged", unknown)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"Prompt,completion\n", "named 'prompt'"),
        ("a.csv", b"prompt,completion,label\n", "column label"),
        ("a.csv", b"prompt,completion,x,x\np,a,b,c\n", "named 'x'"),
        ("a.csv", b"prompt,completion,,\np,a,,\n", "named ''"),
        ("a.csv", b"prompt,completion\na,b,c\n", "line 2"),
        ("a.jsonl", b'{"prompt": "p"}\n{"prompt"\n', "line 2"),
        ("a.xlsx", b"", "is no table"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AorError, match=rf"{name}: .*{message}"):
        judged(tmp_path / name, ".csv")
    assert not (tmp_path / "judged.csv").exists()


def test_the_command_judges_a_table_and_counts_the_labels(tmp_path):
    source, out = tmp_path / "answers.csv", tmp_path / "out.csv"
    source.write_text("prompt,completion\np,I can't help with that.\n")
    done = CliRunner().invoke(app, ["judge", str(source), "--out", str(out)])
    assert "full_refusal 1" in done.output
    assert out.is_file()
    into_itself = CliRunner().invoke(app, ["judge", str(source), "--out", str(source)])
    assert "another --out" in str(into_itself.exception)
