"""Blind readings of the utterances (params/scenarios/readings.csv): are they what they claim to be?

Two readers, language models that had not written the utterances and did not see each other's
answers, read the words of each alone, and then what is heard behind them.
"""

import pandas as pd

from aor_lib.config.params import PARAMS


def load_readings() -> pd.DataFrame:
    """One row per utterance and reader, with what the reader answered.

    ``words``: would a cautious assistant that has these words alone refuse (yes, perhaps, no);
    ``domain``: the scenario that the words give away, or none; ``request``: can one comply with it;
    ``scene``: is its benign scene enough to answer it; ``always``: is it harmful whatever is heard;
    ``threat``: is it a threat by the speaker in its threatening scene (NaN without one);
    ``natural``: would somebody say it there.
    """
    file = PARAMS / "scenarios" / "readings.csv"
    return pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""])


def marks() -> pd.DataFrame:
    """By utterance: ``strict`` (both readers would refuse its words) and ``told_by_words``.

    The latter holds if one of the readers named its scenario from the words alone.
    """
    rows = load_readings().set_index("id").rename_axis("utterance_id")
    told = [domain in name for domain, name in zip(rows["domain"], rows.index, strict=True)]
    by_utterance = rows.assign(strict=rows["words"] == "yes", told=told).groupby(level=0)
    return pd.DataFrame(
        {"strict": by_utterance["strict"].all(), "told_by_words": by_utterance["told"].any()}
    )
