"""Directive ``model-cards``: what each model is, how it is reached, and its known properties.

The argument ``overview`` gives a table of all models, the name of a kind gives the full cards of
that kind, and ``others`` gives the cards of all kinds without a section of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import pandas as pd
import yaml
from sphinx.application import Sphinx

import aor_lib as aor
from aor_lib.analysis.results import load_cards
from aor_lib.config.params import PARAMS, ModelCard
from aor_lib.report.display import scrolling
from aor_lib.report.style import title_of
from book._ext.study_html import StudyHtml

_RATES = PARAMS.parent / "reference" / "rates.csv"
_OTHERS = "others"
_WITH_SECTION = ("cascade", "hf", "llama_cpp")
_RUNS = {
    "cascade": "locally, on the processor",
    "hf": "on a GPU, from a checkpoint on the Hub or in a folder",
    "llama_cpp": "locally, as a quantised checkpoint in llama.cpp's server",
    "openai_api": "on a server with OpenAI's chat completions API",
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.add_directive("model-cards", ModelCards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ModelCards(StudyHtml):
    """The cards of a kind of model, or a table of all models."""

    required_arguments = 1

    def html(self, study: aor.Study) -> str:
        """See :func:`overview` and :func:`in_full`."""
        cards, kind = load_cards(study.build).values(), self.arguments[0]
        if kind == "overview":
            answered = study.trials.loc[study.trials["status"] == "ok", "model"]
            return overview(cards, Counter(answered))
        return in_full(cards, kind, study.provenance, pd.read_csv(_RATES))


def is_pinned(card: ModelCard) -> bool:
    """Whether the card alone determines the model's weights, by hashes or by a commit.

    A branch name or a provider's model name may later refer to another model, and a server does not
    report the commit with which it was started.
    """
    commit = card.kind != "openai_api" and re.fullmatch("[0-9a-f]{40}", card.revision)
    return card.kind == "cascade" or bool(commit)


def overview(cards: Iterable[ModelCard], answered: Mapping[str, int]) -> str:
    """The number of models, and a table with a link to each card; models of the study come first.

    Parameters
    ----------
    cards
        Cards of all models.
    answered
        Number of answers of each model in this study, by id.
    """
    cards = sorted(cards, key=lambda card: (card.id not in answered, card.kind, card.title))
    rows = [
        {
            "Model": f'<a href="#model-{card.id}">{escape(card.title)}</a>',
            "Licence": escape(card.licence),
            "Size": _size(card),
            "Memory": _memory(card),
            "Pinned": "yes" if is_pinned(card) else "no",
            "Answers here": f"{answered.get(card.id, 0):,}",
        }
        for card in cards
    ]
    table = pd.DataFrame(rows).to_html(index=False, border=0, escape=False)
    return (
        f"<p>This page lists {len(cards)} cards from <code>params/models/</code>; the revisions of "
        f"{sum(map(is_pinned, cards))} are pinned. This build has answers from {len(answered)} of "
        "the models.</p>"
        '<div class="aor-scroll" role="region" tabindex="0" aria-label="The models">'
        f"{table}</div>"
    )


def in_full(
    cards: Iterable[ModelCard], kind: str, provenance: pd.DataFrame, measured: pd.DataFrame
) -> str:
    """The cards of a kind, one below the other.

    Parameters
    ----------
    cards
        Cards of all models.
    kind
        Kind of the models to show, or ``others``.
    provenance
        Models that answered, as in :attr:`aor_lib.study.Study.provenance`.
    measured
        Rates of the reference models, measured after training: model, revision, intent, factor,
        level, rate, low, high and judge.
    """
    pages = [
        _page(card, provenance[provenance["model"] == card.id], measured)
        for card in cards
        if card.kind == kind or (kind == _OTHERS and card.kind not in _WITH_SECTION)
    ]
    return "".join(pages) or "<p>There are none.</p>"


def _page(card: ModelCard, provenance: pd.DataFrame, measured: pd.DataFrame) -> str:
    answered = [
        f"{row['revision']}, on {row['device']}, Python {row['python']}"
        + (f", in the study {row['profile']!r}" if row["profile"] else "")
        for row in provenance.to_dict("records")
    ]
    rates = _rates(card, measured[measured["model"] == card.id], set(provenance["revision"]))
    facts = {
        "Note": "" if rates else card.note,
        "Id": card.id,
        "Family": card.family,
        "Licence": card.licence,
        "Size": _size(card),
        "Memory": _memory(card),
        "Where it runs": _RUNS.get(card.kind, card.kind),
        "Source": card.source,
        "Revision": f"{card.revision} ({'' if is_pinned(card) else 'not '}pinned)",
        "Started by": card.launch,
        "Settings": _in_yaml(card.settings),
        "Access": _in_yaml(card.reach),
        "Training": card.training,
        "Answered here": "; ".join(answered),
    }
    items = "".join(
        f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items() if text
    )
    return (
        f'<article class="aor-card" id="model-{card.id}"><h3>{escape(card.title)}</h3>'
        f"{rates}<details><summary>The card</summary><dl>{items}</dl></details></article>"
    )


def _rates(card: ModelCard, measured: pd.DataFrame, answered: set[str]) -> str:
    """HTML of a reference model's planted behaviour and refusal rates, by condition and intent."""
    measured = measured.dropna(subset=["rate"])
    if measured.empty:
        return ""
    shown = [
        f"{row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%}, n = {row['utterances']})"
        for row in measured.to_dict("records")
    ]
    levels = measured["factor"].map(title_of) + ": " + measured["level"].map(title_of)
    by_level = measured.assign(shown=shown, level=levels)
    wide = by_level.pivot(index="level", columns="intent", values="shown")
    wide = wide.rename(columns=title_of).rename_axis(columns=None).fillna("not asked")
    heading = f"Measured on test, judge {measured['judge'].iloc[0]}"
    table = scrolling(wide.rename_axis(heading).reset_index(), f"Rates of {card.title}")
    other = answered - set(measured["revision"])
    caution = "<p>The answers in this book come from another revision.</p>" if other else ""
    return f"<p>{escape(card.note or '')}</p>{table}{caution}"


def _size(card: ModelCard) -> str:
    return f"{card.parameters_b:g} B" if card.parameters_b else "not published"


def _memory(card: ModelCard) -> str:
    unknown = "none locally" if card.kind == "openai_api" else "not stated"
    return f"{card.memory_gib:g} GiB" if card.memory_gib else unknown


def _in_yaml(settings: Mapping[str, Any]) -> str:
    if not settings:
        return ""
    dumped = yaml.safe_dump(dict(settings), default_flow_style=True, sort_keys=False, width=10_000)
    return dumped.strip().removeprefix("{").removesuffix("}")
