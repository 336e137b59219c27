"""The examples of the data file are the tests of its patterns."""

import re

import pytest

from aor_lib.judge.reading import read
from aor_lib.judge.sentences import data_file, expression

PATTERNS = [
    pytest.param(pattern, id=f"{section}.{name}.{number}")
    for section in ("sentence", "answer", "context")
    for name, named in data_file()[section].items()
    for number, pattern in enumerate(named["any_of"])
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_its_example_and_spares_the_other(pattern):
    compiled = re.compile(expression(pattern, data_file()["fragments"]))
    assert compiled.search(read(pattern["matches"]).text)
    assert not compiled.search(read(pattern["spares"]).text)
