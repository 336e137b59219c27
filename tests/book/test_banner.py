import pandas as pd
import pytest

from book._ext.banner import banner

MODELS = pd.DataFrame(
    {"id": ["ref-wordbound", "mine", "omni"], "family": ["Reference", "Reference", "Omni"]}
)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"omni", "ref-wordbound", "mine"}, "evaluated in this report: &lt;b&gt;omni&lt;/b&gt;."),
        ({"ref-wordbound"}, "All its models are reference models"),
        ({"mine", "ref-wordbound"}, "This report evaluates no deployed audio language model."),
    ],
)
def test_the_banner_says_which_audio_language_models_were_asked(asked, said):
    models = MODELS[MODELS["id"].isin(asked)]
    assert said in banner(models.assign(title="<b>" + models["id"] + "</b>"))
