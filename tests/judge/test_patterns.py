"""The examples of the data file are the tests of its patterns."""

import re

import pytest

from aor_lib.config.typed_yaml import read
from aor_lib.judge.patterns import PATTERNS, PatternFile
from aor_lib.judge.reading import read as normal_form

FILE = read(PATTERNS, PatternFile)


@pytest.mark.parametrize(
    "pattern", [pytest.param(pattern, id=place) for place, pattern in FILE.patterns()]
)
def test_a_pattern_matches_its_example_and_spares_the_other(pattern):
    expression = re.compile(FILE.expression(pattern))
    assert expression.search(normal_form(pattern.matches).text)
    assert not expression.search(normal_form(pattern.spares).text)
