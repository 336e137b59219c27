import pytest
from markdown_it import MarkdownIt

from aor_lib.report.markdown import bullets, listed, paragraph

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


def test_empty_sentences_leave_no_gap():
    assert paragraph("One", "", "two").markdown == "One two"


def test_items_are_listed_as_in_a_sentence():
    assert [listed("abc"[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
