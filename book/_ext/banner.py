"""A banner on every page that names the deployed audio language models evaluated in the build."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from sphinx.application import Sphinx
from sphinx.config import Config

import aor_lib as aor
from aor_lib.analysis.selections import REFERENCE_MODELS
from aor_lib.stimuli.manifest import MANIFEST

_NOBODY = "This report evaluates no deployed audio language model."
_INSTRUMENT = (
    "All its models are reference models: one small model, and copies of it that were trained to "
    "refuse in known ways. The pages show whether the study recovers what was planted; they say "
    "nothing about deployed models."
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.connect("config-inited", _announce)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def banner(asked: pd.DataFrame) -> str:
    """HTML that names the deployed models of a build, or states that there are none.

    Parameters
    ----------
    asked
        Models with answers: id, family and title. Models of the family ``Reference`` serve only to
        validate the study.
    """
    titles = asked["title"][asked["family"] != "Reference"].map(escape)
    if len(titles):
        return f"Deployed models evaluated in this report: {', '.join(sorted(titles))}."
    are_reference_models = len(asked) and asked["id"].isin(REFERENCE_MODELS).all()
    return f"{_NOBODY} {_INSTRUMENT}" if are_reference_models else _NOBODY


def _announce(app: Sphinx, config: Config) -> None:
    build = Path(app.srcdir).parent  # the book's sources are in the study's folder
    if (build / MANIFEST).is_file():
        models = aor.open(build).models
        config.html_theme_options["announcement"] = banner(models[models["answered"]])
