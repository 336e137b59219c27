"""Figures in notebooks and in the book, and numbers in words."""

import json
import re

import pandas as pd

from aor_lib.report import figures


def figure(text):
    rows = [{"model": text, "rate": 0.4}]
    return figures.Figure({"width": "container", "datasets": {"data": rows}}, text, text)


def test_nothing_in_the_data_can_close_the_script_element_or_open_a_tag():
    attack = '"</script><script>alert(1)</script><!--'
    html = figure(attack).html()
    assert html.count("<script") == html.count("</script>") == 1
    assert "<!--" not in html
    spec = json.loads(re.search(r"<script[^>]*>(.*?)</script>", html, re.DOTALL).group(1))
    assert spec["datasets"]["data"][0]["model"] == attack


def test_a_figure_serves_jupyterlab_the_book_and_readers_without_scripts():
    bundle = figure("Rates")._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v6+json"]["width"] == "container"
    assert 'aria-label="Rates"' in bundle["text/html"]
    assert "<td>40.0%</td>" in bundle["text/html"]


def test_a_gap_in_a_table_has_one_sign_whatever_the_columns_type():
    rows = pd.DataFrame({"layer": [18, None], "rate": [0.5, None]}).astype({"layer": "Int64"})
    html = figures.scrolling(rows, "Layers")
    assert html.count(f"<td>{figures.NOTHING}</td>") == 2
    assert "<td>18</td>" in html


def test_lines_of_a_cell_stay_lines_and_what_it_says_is_escaped():
    shown = figures.scrolling(pd.DataFrame({"said": ["one\n<b>two"]}), "Said")
    assert "one<br/>&lt;b&gt;two" in shown
