"""Refusal rates of the reference models, measured on the test split of a study."""

from pathlib import Path

import pandas as pd

from aor_lib.analysis.selections import unmitigated
from aor_lib.analysis.splits import REFERENCE_MODELS
from aor_lib.config.records import Split

MEASURED = Path(__file__).parent / "reference_rates.csv"


def load_measured(path: Path = MEASURED) -> pd.DataFrame:
    """Read what ``python -m reference.measure`` wrote of the reference models as they ship."""
    return pd.read_csv(path, dtype={"revision": str})


def member_trials(results: pd.DataFrame) -> pd.DataFrame:
    """Trials of the reference models on ``test``, without a mitigation."""
    on_test = results[results["model"].isin(REFERENCE_MODELS) & (results["split"] == Split.TEST)]
    return unmitigated(on_test)
