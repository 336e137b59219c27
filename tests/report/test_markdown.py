"""Computed text stays text."""

import pytest
from markdown_it import MarkdownIt

from aor_lib.report.markdown import bullets, nothing_for, paragraph

ATTACKS = [
    "<script>alert(1)</script>",
    "*bold* _em_ `code` ~~gone~~",
    "[link](javascript:alert(1)) ![image](x)",
    "$x$ {term}`x` | # > - 1.",
    "two\n\n# lines",
    "\\",
]


def shown(prose):
    html = MarkdownIt("gfm-like", {"linkify": False}).render(prose.markdown)
    return html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')


@pytest.mark.parametrize("text", ATTACKS)
def test_whatever_is_in_a_sentence_stays_text(text):
    words = " ".join(text.split())
    assert shown(paragraph(text)) == f"<p>{words}</p>\n"
    assert shown(bullets({text: text})) == (
        f"<ul>\n<li><strong>{words}:</strong> {words}</li>\n</ul>\n"
    )
    assert words in shown(nothing_for(text))
