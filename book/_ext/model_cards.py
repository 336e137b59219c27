"""Model cards to read: what each model is, how it is reached, and what is known of it."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import pandas as pd
import yaml

from aor_lib.config.params import ModelCard
from aor_lib.models.hf_checkpoint import COMMIT
from aor_lib.report.display import Html, scrolling
from aor_lib.report.style import title_of

REACHED = {
    "cascade": "runs on this machine's processor",
    "hf": "a checkpoint of the hub or a folder, on a GPU",
    "openai_api": "a server that speaks OpenAI's chat completions",
}
"""How a model of a kind is reached."""


def is_verified(card: ModelCard) -> bool:
    """Tell if the card alone fixes the model that answers: hashed weights, or a commit.

    The name of a branch or of a provider's model may stand for another model tomorrow, and a server
    does not say which commit it was started with.
    """
    pinned = card.kind != "openai_api" and COMMIT.fullmatch(card.revision)
    return card.kind == "cascade" or bool(pinned)


def facts(card: ModelCard) -> dict[str, str]:
    """Fields of a card in words; empty ones are left out."""
    verified = "verified" if is_verified(card) else "not verified"
    fields = {
        "Id": card.id,
        "Family": card.family,
        "Licence": card.licence,
        "Size": f"{card.parameters_b:g} B" if card.parameters_b else "not published",
        "Memory": f"{card.memory_gib:g} GiB" if card.memory_gib else "none here",
        "Where it runs": REACHED.get(card.kind, f"by a class of its own, {card.kind}"),
        "Source": card.source,
        "Revision": f"{card.revision} ({verified})",
        "Started by": card.launch or "",
        "Settings": _in_yaml(card.settings),
        "Access": _in_yaml(card.reach),
        "Note": card.note or "",
        "Training": card.training or "",
    }
    return {name: text for name, text in fields.items() if text}


def overview(cards: Iterable[ModelCard], answered: Mapping[str, int]) -> Html:
    """A table of models, each with a link to its card; those of the study come first.

    ``answered`` is the number of trials of each model in this study.
    """
    names = ("Model", "Licence", "Size", "Memory", "Verified", "Trials here")
    rows = []
    for card in sorted(cards, key=lambda card: (card.id not in answered, card.kind, card.title)):
        said = facts(card)
        link = f'<a href="#{_anchor(card)}">{escape(card.title)}</a>'
        verified = "yes" if is_verified(card) else "no"
        cells = (said["Licence"], said["Size"], said["Memory"], verified)
        texts = (*map(escape, cells), f"{answered.get(card.id, 0):,}")
        rows.append(f"<th scope='row'>{link}</th>" + "".join(f"<td>{text}</td>" for text in texts))
    head = "".join(f"<th scope='col'>{name}</th>" for name in names)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return Html(
        '<div class="aor-scroll" role="region" tabindex="0" aria-label="The models">'
        '<table class="dataframe">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def model_pages(
    cards: Mapping[str, ModelCard],
    kind: str | None,
    provenance: pd.DataFrame,
    measured: pd.DataFrame,
) -> Html:
    """The cards of a kind in full, one below the other.

    ``kind`` is a key of :data:`REACHED`, or None for models that are reached by a class of their
    own, of which nothing is said if there are none. ``provenance`` says which models answered,
    ``measured`` holds the reference models' rates.
    """
    pages = [
        _page(card, provenance[provenance["model"] == id], measured[measured["model"] == id])
        for id, card in cards.items()
        if card.kind == kind or (kind is None and card.kind not in REACHED)
    ]
    nothing = "" if kind is None else "<p>There is none.</p>"
    return Html("".join(pages) or nothing)


def _page(card: ModelCard, provenance: pd.DataFrame, measured: pd.DataFrame) -> str:
    answered = [
        f"{row['revision']}, on {row['device']}, Python {row['python']}"
        + (f", in the study {row['profile']!r}" if row["profile"] else "")
        for row in provenance.to_dict("records")
    ]
    shown = facts(card) | ({"Answered here": "; ".join(answered)} if answered else {})
    items = "".join(
        f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in shown.items()
    )
    rates = _measured(card.title, measured, set(provenance["revision"]))
    return (
        f'<article class="aor-card" id="{_anchor(card)}"><h3>{escape(card.title)}</h3>'
        f"<dl>{items}</dl>{rates}</article>"
    )


def _measured(title: str, measured: pd.DataFrame, here: set[str]) -> str:
    """The rates of the reference model of this title, as a table: levels by intent."""
    measured = measured.dropna(subset=["rate"])
    if measured.empty:
        return ""
    rates = [
        f"{row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
        for row in measured.to_dict("records")
    ]
    wide = measured.assign(shown=rates).pivot(
        index=["factor", "level"], columns="intent", values="shown"
    )
    wide = wide.rename(columns=title_of).rename_axis(columns=None).reset_index()
    level = wide.pop("factor").map(title_of) + ": " + wide.pop("level").map(title_of)
    wide.insert(0, "Measured on test", level)
    table = scrolling(wide.fillna("not asked"), f"Rates of {title}")
    other = here - set(measured["revision"])
    note = " They are of another revision than the answers in this book." if other else ""
    return f"{table}<p>Rates of refusal, with 95% intervals.{note}</p>"


def _in_yaml(settings: Mapping[str, Any]) -> str:
    if not settings:
        return ""
    dumped = yaml.safe_dump(dict(settings), default_flow_style=True, sort_keys=False, width=10_000)
    return dumped.strip().removeprefix("{").removesuffix("}")


def _anchor(card: ModelCard) -> str:
    return f"model-{card.id}"
