import pandas as pd
import pytest

from aor_lib.report import style
from aor_lib.report.style import METHODS

DARK_PAGE = "#14181E"


def test_ids_stand_in_the_order_of_the_design_with_the_colours_of_the_palette():
    kinds = ["of no design", "threatening_scene", "benign_scene", "threatening_scene"]
    titles, colours, _ = zip(*style.looks("condition", kinds), strict=True)
    assert titles == ("Benign scene", "Threatening scene", "Of no design")
    assert colours == style.PALETTE[:3]
    assert len({shape for _, _, shape in style.looks("method", METHODS)}) == len(METHODS)


@pytest.mark.parametrize("others", [[], ["another-model", "ref-contextual"]])
def test_a_model_keeps_its_colour_and_shape_and_no_other_has_both(others):
    looks = style.looks("model", [*others, "ref-permissive"], {"ref-permissive": "Permissive"})
    assert ("Permissive", style.PALETTE[0], style.SHAPES[0]) in looks
    assert style.looks("model", ["words_only"])[0][1] not in style.PALETTE  # of models
    many = style.looks("model", [*map(str, range(20)), *others, "ref-permissive", "words_only"])
    assert len({(colour, shape) for _, colour, shape in many}) == len(many)


def test_a_chart_of_reference_models_alone_is_titled_a_check_of_the_instrument():
    assert style.chart_title("Refused", ["ref-permissive", "words_only"]) != "Refused"
    for models in ([], ["words_only"], ["ref-permissive", "gpt-audio"]):
        assert style.chart_title("Refused", models) == "Refused"


def test_a_table_to_read_has_titles_for_ids_and_leaves_numbers_and_sentences_as_they_are():
    frame = pd.DataFrame({"p_value": [0.5], "text": ["I can't help."]}, index=["ref-x"])
    table = style.titled(frame.rename_axis("model"), {"ref-x": "X"}).reset_index()
    assert table.to_dict("records") == [{"Model": "X", "p": 0.5, "Text": "I can't help."}]


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colour", style.PALETTE)
def test_a_colour_of_the_charts_stands_out_on_white_and_its_lighter_twin_on_a_dark_page(colour):
    assert contrast(colour, "#FFFFFF") >= 3
    assert contrast(style.DARK[colour], DARK_PAGE) >= 4.5
    assert contrast(style.DARK[colour], DARK_PAGE) > contrast(colour, DARK_PAGE)
