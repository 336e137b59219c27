"""The examples in docstrings run and give what they show."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "aor_lib").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
NEEDS_WEIGHTS = {"aor_lib.models.registry", "aor_lib.steering", "aor_lib.stimuli.rendering"}


@pytest.mark.parametrize(
    "module",
    [pytest.param(m, marks=[pytest.mark.slow] if m in NEEDS_WEIGHTS else []) for m in MODULES],
)
def test_the_examples_of_a_module_hold(module, study, monkeypatch):
    monkeypatch.chdir(ROOT)
    examples = doctest.testmod(importlib.import_module(module), extraglobs={"study": study})
    assert not examples.failed
