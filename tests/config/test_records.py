from hypothesis import given
from hypothesis import strategies as st

from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Split, content_hash

UTTERANCES = [u for scenario in load_scenarios().values() for u in scenario.utterances]


def test_about_a_third_of_the_utterances_is_for_choosing():
    share = sum(u.split is Split.DEV for u in UTTERANCES) / len(UTTERANCES)
    assert 0.2 < share < 0.45


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=5))
def test_a_hash_does_not_depend_on_the_order_of_keys(content):
    assert content_hash(content) == content_hash(dict(reversed(content.items())))
