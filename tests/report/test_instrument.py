"""Words of a build for the models that it asked."""

import pandas as pd
import pytest

from aor_lib.config.params import ModelCard
from aor_lib.report import instrument


@pytest.fixture
def asked(monkeypatch):
    """Make a build that asked some models."""
    about = dict.fromkeys(("family", "licence", "source"), "")
    kinds = {"ref-wordbound": "cascade", "mine": "cascade", "omni": "hf", "unasked": "hf"}
    cards = {
        name: ModelCard(id=name, kind=kind, title=f"<b>{name}</b>", **about)
        for name, kind in kinds.items()
    }
    monkeypatch.setattr(instrument, "load_cards", lambda build: cards)
    monkeypatch.setattr("aor_lib.analysis.results.load_cards", lambda build: cards)

    def make(*models):
        results = pd.DataFrame({"model": models})
        monkeypatch.setattr(instrument, "load_results", lambda build: results)
        return "build"

    return make


def test_the_banner_names_the_audio_language_models_alone_that_were_asked_as_text(asked):
    banner = instrument.banner(asked("omni", "ref-wordbound", "mine"))
    assert "&lt;b&gt;omni&lt;/b&gt;" in banner
    assert banner.count("&lt;b&gt;") == 1


@pytest.mark.parametrize(("models", "check"), [(["ref-wordbound"], True), (["mine"], False)])
def test_the_banner_says_that_no_audio_language_model_was_asked(asked, models, check):
    banner = instrument.banner(asked(*models))
    assert banner.startswith("No audio language model")
    assert ("checks the instrument" in banner) is check
