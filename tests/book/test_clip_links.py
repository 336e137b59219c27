from urllib.parse import parse_qs

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from book._ext.clip_links import CHOSEN_BY, choice, shortened

KNOWN = pd.DataFrame(
    [(f"u{n // 4}", f"u{n // 4}.{n}", "abc"[n % 3], "xyz"[n % 4 % 3]) for n in range(24)],
    columns=["utterance_id", "stimulus_id", "condition", "intent"],
).assign(model="a", mitigation="none")
KNOWN = KNOWN.assign(**dict.fromkeys(set(CHOSEN_BY) - {*KNOWN}))


def fitting(link):
    rows = KNOWN
    for name, values in parse_qs(link).items():
        rows = rows[rows[name].isin(values[0].split(","))]
    return set(rows["stimulus_id"])


@given(st.sets(st.sampled_from(list(KNOWN["stimulus_id"])), min_size=1))
def test_a_shortened_link_chooses_exactly_the_same_clips(ids):
    assert fitting(choice(f"model=a&mitigation=none&stimulus_id={','.join(ids)}", KNOWN)) == ids


def test_values_are_named_where_they_suffice_and_other_text_stays():
    ids = "%2C".join(KNOWN.loc[KNOWN["condition"] == "a", "stimulus_id"])
    text = f'"<a href=explorer.html#model=a&amp;mitigation=none&amp;stimulus_id={ids}>1</a>"'
    short = '"<a href=explorer.html#model=a&amp;mitigation=none&amp;condition=a>1</a>"'
    assert shortened(text, KNOWN) == short
