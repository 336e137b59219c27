from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Split, content_hash


def test_about_a_third_of_the_utterances_is_for_choosing():
    utterances = [u for scenario in load_scenarios().values() for u in scenario.utterances]
    share = sum(u.split is Split.DEV for u in utterances) / len(utterances)
    assert 0.2 < share < 0.45


def test_a_hash_does_not_depend_on_the_order_of_keys():
    assert content_hash({"a": 1, "b": None}) == content_hash({"b": None, "a": 1})
