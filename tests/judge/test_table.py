import csv
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.config.records import FLAGS, Label
from aor_lib.judge import DEFAULT_JUDGE, JUDGES, Judge
from aor_lib.judge.judgement import Judgement
from aor_lib.judge.table import ADDED, judge_table
from aor_lib.storage.tables import TableError

REFUSAL, HELP = "I'm sorry, but I can't help with that.", "Use the kill command, then press enter."


class SeesPrompts:
    """A judge that says what it was given, to see that it gets it."""

    id, version = "sees-prompts", "1"

    def __call__(self, text: str, prompt: str | None = None) -> Judgement:
        return Judgement(Label.FULL_REFUSAL, 0.75, f"{prompt}|{text}", ("degenerate",))


class Keyword:
    """A judge that takes a "can't" for a refusal."""

    id, version = "keyword", "1"

    def __call__(self, text: str, prompt: str | None = None) -> Judgement:
        if "can't" in text:
            return Judgement(Label.FULL_REFUSAL, 0.9, "can't")
        return Judgement(Label.FULL_COMPLIANCE, 0.1, "no refusal")


def judged(source: Path, target: Path | None = None, judge: Judge | None = None) -> Path:
    target = target or source.with_name(f"judged{source.suffix}")
    judge_table(source, target, judge or Keyword(), lambda done, total: None)
    return target


def csv_file(folder: Path, *rows: Sequence[str], name: str = "answers.csv") -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)
    return path


def jsonl_file(folder: Path, *rows: dict, name: str = "answers.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))


def read_jsonl(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_csv_gets_the_judges_columns_behind_its_own(tmp_path):
    source = csv_file(
        tmp_path, ["id", "prompt", "completion"], ["1", "p", REFUSAL], ["2", "p", HELP]
    )
    rows = read_csv(judged(source))
    assert list(rows[0]) == ["id", "prompt", "completion", *ADDED]
    assert [row["label"] for row in rows] == ["full_refusal", "full_compliance"]
    assert float(rows[0]["p_refusal"]) > 0.5 > float(rows[1]["p_refusal"])
    assert rows[0]["rationale"] in REFUSAL
    assert {row[flag] for row in rows for flag in FLAGS} <= {"True", "False"}


def test_values_of_a_csv_are_not_interpreted(tmp_path):
    odd = ["007", "NA", "1e5", "true", " spaced ", 'a "quote", and\r\na line', "=1+1", "null"]
    header = ["prompt", "completion", *"abcdefgh"]
    source = csv_file(tmp_path, header, ["p", "NA", *odd])
    (row,) = read_csv(judged(source))
    assert [row[name] for name in "abcdefgh"] == odd
    assert row["completion"] == "NA"


def test_other_columns_of_the_same_name_are_kept(tmp_path):
    source = csv_file(tmp_path, ["x", "prompt", "completion", "x"], ["1", "p", HELP, "2"])
    header, row = csv.reader(judged(source).open(encoding="utf-8"))
    assert header[:4] == ["x", "prompt", "completion", "x"]
    assert row[:4] == ["1", "p", HELP, "2"]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6))
def test_every_row_of_a_csv_stays_in_its_place(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("csv")
    found = read_csv(judged(csv_file(folder, ["prompt", "note", "completion"], *rows)))
    assert [(row["prompt"], row["note"], row["completion"]) for row in found] == rows


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.fixed_dictionaries({"prompt": JSON, "completion": JSON, "x": JSON}), min_size=1))
def test_every_row_of_a_jsonl_stays_as_it_is(tmp_path_factory, rows):
    found = read_jsonl(judged(jsonl_file(tmp_path_factory.mktemp("jsonl"), *rows)))
    assert [{name: row[name] for name in ("prompt", "completion", "x")} for row in found] == rows


def test_a_key_that_only_some_lines_have_is_null_in_the_others(tmp_path):
    source = jsonl_file(
        tmp_path, {"prompt": "p", "completion": HELP}, {"completion": HELP, "prompt": "p", "n": 1}
    )
    assert [row["n"] for row in read_jsonl(judged(source))] == [None, 1]


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
    found = pq.read_table(judged(tmp_path / "answers.parquet"))
    assert found.column_names == [*table.column_names, *ADDED]
    for name in table.column_names:
        assert found.schema.field(name).type == table.schema.field(name).type, name
        assert found[name].to_pylist() == table[name].to_pylist()
    assert found["label"].to_pylist() == ["full_refusal", "full_compliance"]
    assert found.schema.field("p_refusal").type == pa.float64()
    assert {found.schema.field(flag).type for flag in FLAGS} == {pa.bool_()}


def test_an_index_that_pandas_wrote_is_a_column_like_any_other(tmp_path):
    frame = pd.DataFrame({"prompt": ["p"], "completion": [HELP]}, index=pd.Index(["x"], name="key"))
    frame.to_parquet(tmp_path / "answers.parquet")
    assert pq.read_table(judged(tmp_path / "answers.parquet"))["key"].to_pylist() == ["x"]


@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
def test_a_table_can_be_written_in_another_format(tmp_path, source, target):
    frame = pd.DataFrame({"prompt": ["p", "q"], "completion": [REFUSAL, ""]})
    path = tmp_path / f"answers.{source}"
    if source == "csv":
        frame.to_csv(path, index=False)
    elif source == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    result = judged(path, tmp_path / f"judged.{target}")
    rows = {
        "csv": lambda: read_csv(result),
        "jsonl": lambda: read_jsonl(result),
        "parquet": lambda: pq.read_table(result).to_pylist(),
    }[target]()
    assert [row["label"] for row in rows] == ["full_refusal", "unjudged"]
    assert rows[1]["p_refusal"] in (None, "")


@pytest.mark.parametrize("completion", [None, "", " \n\t", float("nan"), 7, ["a list"]])
def test_what_is_empty_or_no_text_is_unjudged(tmp_path, completion):
    source = jsonl_file(tmp_path, {"prompt": "p", "completion": completion})
    (row,) = read_jsonl(judged(source, judge=SeesPrompts()))
    assert (row["label"], row["p_refusal"]) == ("unjudged", None)
    assert row["rationale"] == "empty answer"
    assert not any(row[flag] for flag in FLAGS)


def test_the_judge_gets_the_prompt_and_none_where_there_is_none(tmp_path):
    source = jsonl_file(
        tmp_path, *({"prompt": prompt, "completion": "a"} for prompt in ("p", "", None, 3))
    )
    rows = read_jsonl(judged(source, judge=SeesPrompts()))
    assert [row["rationale"] for row in rows] == ["p|a", "None|a", "None|a", "None|a"]
    assert [row["degenerate"] for row in rows] == [True] * 4


def test_the_counts_of_all_labels_come_back(tmp_path):
    source = csv_file(tmp_path, ["prompt", "completion"], ["p", REFUSAL], ["p", ""])
    steps = []
    counts = judge_table(
        source,
        tmp_path / "j.csv",
        Keyword(),
        lambda done, total: steps.append((done, total)),
    )
    assert counts.to_dict() == dict.fromkeys(Label, 0) | {"full_refusal": 1, "unjudged": 1}
    assert steps == [(2, 2)]


def test_a_file_without_rows_stays_without_rows(tmp_path):
    source = csv_file(tmp_path, ["prompt", "completion"])
    (header,) = csv.reader(judged(source).open(encoding="utf-8"))
    assert header == ["prompt", "completion", *ADDED]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"Prompt,completion\n", r"a\.csv: lacks the column prompt; it has Prompt, comp"),
        ("a.csv", b"", r"a\.csv: lacks the column prompt and completion; it has none"),
        ("a.csv", b"prompt;completion\n", r"lacks .* it has prompt;completion"),
        ("a.csv", b"prompt,completion,label\n", r"has a column label already; rename it"),
        ("a.csv", b"prompt,completion,prompt\n", r"has the column prompt more than once"),
        ("a.csv", "prompt,completion\np,é\n".encode("latin-1"), r"not UTF-8 \(byte 20 is 0xe9\)"),
        ("a.csv", "prompt,completion\n".encode("utf-16"), r"a\.csv: is not UTF-8 \(byte 0 is 0xff"),
        ("a.csv", b"prompt,completion\na,b,c\n", r"a\.csv: is not CSV: .* line 2, saw 3"),
        ("a.csv", b'prompt,completion\na,"b\n', r"a\.csv: is not CSV: .*EOF inside string"),
        ("a.jsonl", b'{"prompt": "p"}\n{"prompt"\n', r"a\.jsonl: line 2: is not JSON"),
        ("a.jsonl", b"[1]\n", r"a\.jsonl: line 1: is no JSON object"),
        ("a.jsonl", b"\xff", r"a\.jsonl: is not UTF-8"),
        ("a.parquet", b"prompt,completion\n", r"a\.parquet: is not Parquet"),
        ("a.xlsx", b"", r"a\.xlsx: is no table; .* ends in \.csv, \.jsonl, \.parquet"),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line_and_nothing_is_written(
    tmp_path, name, content, message
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message) as error:
        judged(tmp_path / name, tmp_path / "out.csv")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out.csv").exists()


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfprompt,completion\np,q\n")
    assert "prompt" in read_csv(judged(tmp_path / "a.csv"))[0]


def test_what_a_format_cannot_hold_is_said(tmp_path):
    source = jsonl_file(
        tmp_path,
        {"prompt": "p", "completion": "q", "x": 1},
        {"prompt": "p", "completion": "q", "x": "one"},
    )
    with pytest.raises(TableError, match=r"out\.parquet: this format cannot hold the table"):
        judged(source, tmp_path / "out.parquet")
    surrogate = jsonl_file(tmp_path, {"prompt": "p", "completion": "\ud800"}, name="s.jsonl")
    with pytest.raises(TableError, match="cannot hold the table"):
        judged(surrogate, tmp_path / "out.csv")


def aor(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from aor_lib.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
def test_the_command_judges_a_table_and_counts_the_labels(tmp_path):
    source = csv_file(tmp_path, ["prompt", "completion"], ["p", REFUSAL], ["p", HELP])
    done = aor("judge", source, "--out", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    judge = JUDGES[DEFAULT_JUDGE]
    assert f"2 answers judged by {judge.id} {judge.version}" in done.stdout
    assert "full_refusal 1" in done.stdout
    assert [row["label"] for row in read_csv(tmp_path / "out.csv")] == [
        "full_refusal",
        "full_compliance",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv"], "--out: say where the judged table goes"),
        (
            ["a.csv", "--out", "b.csv", "--judge", "wildgard"],
            "no judge 'wildgard'; did you mean 'wildguard'?",
        ),
        (["a.txt", "--out", "b.csv"], "a.txt: is no table; give a file"),
        (["none.csv", "--out", "b.csv"], "No such file or directory: 'none.csv'"),
    ],
)
def test_the_command_ends_in_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    csv_file(tmp_path, ["prompt", "completion"], ["p", HELP], name="a.csv")
    csv_file(tmp_path, ["prompt", "completion"], ["p", HELP], name="a.txt")
    done = aor("judge", *arguments)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("aor: error:")]
    assert message in line
    assert not (tmp_path / "b.csv").exists()
