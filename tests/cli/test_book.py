"""The book's verbs: what they say, and what they serve."""

import pytest
import typer

from aor_lib.cli import steps
from aor_lib.cli.book import serve


def test_each_stage_says_its_time_and_what_is_left(capsys, monkeypatch):
    clock = iter([0.0, 12.0, 20.0, 320.0])
    monkeypatch.setattr(steps.time, "monotonic", lambda: next(clock))
    steps.run_stages([("stimuli", lambda: None), ("pages", lambda: typer.echo("three pages"))])
    first, done, second, said, last = capsys.readouterr().out.splitlines()
    assert (first, second, said) == ("1 of 2: stimuli", "2 of 2: pages", "three pages")
    assert "12 s" in done
    assert done.endswith("left: pages")
    assert "5 min" in last
    assert "left" not in last


def test_a_stage_that_fails_ends_the_rest(capsys):
    def fail():
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        steps.run_stages([("stimuli", fail), ("pages", lambda: typer.echo("three pages"))])
    assert "pages" not in capsys.readouterr().out


def test_what_was_not_built_is_not_served(tmp_path):
    with pytest.raises(FileNotFoundError, match="run 'aor book' first"):
        serve(tmp_path)
