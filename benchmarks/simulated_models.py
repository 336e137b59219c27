"""Make the table of simulated models, in minutes: python -m benchmarks.simulated_models."""

from aor_lib.analysis.simulated_models import TABLE, measure

if __name__ == "__main__":
    measure().to_csv(TABLE, index=False)
