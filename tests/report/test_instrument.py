"""Words of a build for the models that it asked."""

import pandas as pd
import pytest

from aor_lib.config.params import ModelCard
from aor_lib.report import instrument


@pytest.mark.parametrize(
    ("models", "end"),
    [
        (["omni", "ref-wordbound", "mine"], "asked in this build: &lt;b&gt;omni&lt;/b&gt;."),
        (["ref-wordbound"], instrument.NOTE),
        (["mine"], "No audio language model was asked in this build. "),
    ],
)
def test_the_banner_says_which_audio_language_models_were_asked(monkeypatch, models, end):
    kinds = {"ref-wordbound": "cascade", "mine": "cascade", "omni": "hf", "unasked": "hf"}
    about = dict.fromkeys(("family", "licence", "source"), "")
    cards = {
        name: ModelCard(id=name, kind=kind, title=f"<b>{name}</b>", **about)
        for name, kind in kinds.items()
    }
    monkeypatch.setattr("aor_lib.analysis.results.load_cards", lambda build: cards)
    monkeypatch.setattr(instrument, "load_cards", lambda build: cards)
    monkeypatch.setattr(instrument, "load_results", lambda build: pd.DataFrame({"model": models}))
    assert instrument.banner("build").endswith(end)
