"""Make the table of simulated models, in minutes: python -m benchmarks.simulated_models."""

import gc

from aor_lib.analysis.simulated_models import TABLE, measure

if __name__ == "__main__":
    gc.freeze()  # Holm's method in statsmodels collects garbage at every call
    measure().to_csv(TABLE, index=False)
