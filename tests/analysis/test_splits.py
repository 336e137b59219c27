import pandas as pd
import pytest

from aor_lib.analysis.splits import SplitError, for_fitting


def test_there_must_be_something_to_fit_on():
    rows = pd.DataFrame({"utterance_id": ["b"], "split": ["test"]})
    with pytest.raises(SplitError, match="nothing to fit on"):
        for_fitting(rows)
