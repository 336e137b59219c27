import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import aor_lib

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "aor_lib").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
# They need the weights, or the smoke study.
SLOW = {"cli.make", "models.check", "models.registry", "steering", "stimuli.rendering", "study"}
MARKS = {f"aor_lib.{name}": [pytest.mark.slow] for name in SLOW}


@pytest.mark.parametrize("module", [pytest.param(m, marks=MARKS.get(m, [])) for m in MODULES])
def test_the_examples_of_a_module_hold(module, study, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert not doctest.testmod(importlib.import_module(module), extraglobs={"study": study}).failed


@pytest.mark.parametrize("name", aor_lib.__all__)
def test_the_public_names_are_few_and_have_an_example(name):
    assert len(aor_lib.__all__) <= 15
    assert ">>> " in inspect.getsource(getattr(aor_lib, name))
