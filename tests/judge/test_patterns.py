"""The examples of the data file are the tests of its patterns."""

import re

import pytest
import yaml

from aor_lib.config.typed_yaml import ParamsError, read
from aor_lib.judge.patterns import PATTERNS, PatternFile, load_patterns
from aor_lib.judge.reading import read as normal_form

FILE = read(PATTERNS, PatternFile)


@pytest.mark.parametrize(
    "pattern", [pytest.param(pattern, id=place) for place, pattern in FILE.patterns()]
)
def test_a_pattern_matches_its_example_and_spares_the_other(pattern):
    expression = re.compile(FILE.expression(pattern))
    assert expression.search(normal_form(pattern.matches).text)
    assert not expression.search(normal_form(pattern.spares).text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pattern": "("}, r"sentence\.sorry\.any_of\.0: '\(': missing \)"),
        (
            {"pattern": "{hlep} me"},
            r".*any_of\.0: .*unknown fragment \{hlep\}; did you mean 'help'",
        ),
        ({"pattern": "a", "words": "b"}, r".*any_of\.0: .*either pattern or words"),
    ],
)
def test_a_wrong_pattern_is_named_with_its_file_and_value(tmp_path, changes, message):
    data = yaml.safe_load(PATTERNS.read_text(encoding="utf-8"))
    (example,) = data["sentence"]["sorry"]["any_of"]
    del example["words"]
    example.update(changes)
    path = tmp_path / "patterns.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(ParamsError, match=rf"patterns\.yaml: {message}"):
        load_patterns(path)
