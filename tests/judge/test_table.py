"""Judging a table keeps every row and column, in any of the three formats."""

import csv
import json
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aor_lib.config.records import FLAGS, Label
from aor_lib.judge.judgement import Judgement
from aor_lib.judge.table import ADDED, TableError, judge_table

REFUSAL, HELP = "I'm sorry, but I can't help with that.", "Use the kill command, then press enter."


class Keyword:
    """A judge that takes a "can't" for a refusal, and quotes the prompt."""

    id, version = "keyword", "1"

    def __call__(self, text, prompt=None):
        refuses = "can't" in text
        label = Label.FULL_REFUSAL if refuses else Label.FULL_COMPLIANCE
        return Judgement(label, 0.9 if refuses else 0.1, str(prompt), FLAGS[:1])


def judged(source, suffix=None):
    """Judge a file and read what was written."""
    target = source.with_name(f"judged{suffix or source.suffix}")
    judge_table(source, target, Keyword(), lambda done, total: None)
    if target.suffix == ".csv":
        with target.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    if target.suffix == ".jsonl":
        return [json.loads(line) for line in target.read_text("utf-8").split("\n")[:-1]]
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
    (found,) = judged_json(tmp_path, row)
    added = ["full_compliance", 0.1, "p", True, False, False]
    assert found == row | dict(zip(ADDED, added, strict=True))


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
    assert (row["label"], row["p_refusal"], row["rationale"]) == ("unjudged", None, "empty answer")


def test_the_judge_gets_the_prompt_and_none_where_there_is_none(tmp_path):
    rows = [{"prompt": prompt, "completion": "a"} for prompt in ("p", "", None, 3)]
    found = judged_json(tmp_path, *rows)
    assert [row["rationale"] for row in found] == ["p", "None", "None", "None"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"Prompt,completion\n", r"a\.csv: lacks the column prompt; it has Prompt, comp"),
        ("a.csv", b"prompt,completion,label\n", r"has a column label already"),
        ("a.csv", "prompt,completion\np,é\n".encode("latin-1"), r"a\.csv: .* UTF-8.* 0xe9"),
        ("a.csv", b"prompt,completion\na,b,c\n", r"a\.csv: is not CSV .* line 2, saw 3"),
        ("a.jsonl", b'{"prompt": "p"}\n{"prompt"\n', r"a\.jsonl: .*line 2: is no JSON"),
        ("a.parquet", b"prompt,completion\n", r"a\.parquet: is not PARQUET"),
        ("a.xlsx", b"", r"a\.xlsx: is no table; .* ends in \.csv, \.jsonl, \.parquet"),
        (
            "a.jsonl",
            b'{"prompt": "p", "completion": "\\ud800"}\n',
            r"judged\.csv: this format cannot hold the table",
        ),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line_and_nothing_is_written(
    tmp_path, name, content, message
):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message) as error:
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
