"""Directives that show HTML which is made of the study of the book."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import aor_lib as aor


class StudyHtml(SphinxDirective, ABC):
    """A directive whose :meth:`html` is shown."""

    def run(self) -> list[nodes.Node]:
        """Return the HTML as it is."""
        study = aor.open(Path(self.env.srcdir).parent)  # the sources lie in the study's folder
        return [nodes.raw("", self.html(study), format="html")]

    @abstractmethod
    def html(self, study: aor.Study) -> str:
        """Make HTML of a study."""


def render(template: Path, **values: Any) -> str:
    """Fill a template in; text is escaped, and the filter ``address`` makes it part of one."""
    environment = jinja2.Environment(autoescape=True)
    environment.filters["address"] = quote
    return environment.from_string(template.read_text("utf-8")).render(**values)
