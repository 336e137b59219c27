"""Says on a page that all its models are reference models: then it checks the instrument.

The refusals of the reference models were planted. What a study finds of them is no finding about
audio language models, and no title may read as one.
"""

from collections.abc import Collection, Iterable
from html import escape
from pathlib import Path

import pandas as pd

from aor_lib.analysis.results import load_cards, load_results, model_titles
from aor_lib.analysis.selections import WORDS_ONLY
from aor_lib.analysis.splits import REFERENCE_MODELS

NOTE = (
    "All models of this build are reference models, whose refusals are known because they were "
    "planted. What follows checks the instrument; it says nothing about audio language models."
)

_CHECK = "Instrument check: "


def is_check(models: Iterable[str]) -> bool:
    """Tell if there are models, and all of them are reference models or the reader of words."""
    asked = set(models) - {WORDS_ONLY}
    return bool(asked) and asked <= set(REFERENCE_MODELS)


def title_for(frame: pd.DataFrame, title: str) -> str:
    """Title of a chart of a frame, whose column ``model`` says which models it shows.

    A title that says so already stays as it is.
    """
    check = "model" in frame and is_check(frame["model"]) and not title.startswith(_CHECK)
    return f"{_CHECK}{title[:1].lower()}{title[1:]}" if check else title


def banner(build: Path | str) -> str:
    """HTML for the top of every page: which audio language models were asked, or that none was."""
    models = set(load_results(build)["model"])
    asked = audio_language_models(build, models)
    if asked:
        titles = model_titles(build, asked).values()
        return f"Audio language models asked in this build: {escape(', '.join(titles))}."
    return f"No audio language model was asked in this build. {NOTE if is_check(models) else ''}"


def audio_language_models(build: Path | str, models: Collection[str]) -> list[str]:
    """Models that take sound in: neither reference models nor other cascades."""
    cards = load_cards(build)
    known = sorted((set(models) & set(cards)) - set(REFERENCE_MODELS))
    return [model for model in known if cards[model].kind != "cascade"]
