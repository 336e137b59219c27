from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from aor_lib.steering import directions
from aor_lib.steering.directions import candidates, difference_in_means, variants
from tests.audio.sounds import quiet
from tests.steering.conftest import Steerable, clips


def tried(requests):
    return [other for one in candidates(requests, 1) for other in (one, *variants(one, requests))]


def test_the_false_refusal_direction_is_orthogonal_to_the_true_one_at_share_1(requests):
    found = {(one.found_by, one.projected_share): one.direction for one in tried(requests)}
    true = difference_in_means(requests.at(1), requests.of_kind("harmful"), ~requests.refused)
    unit = true / np.linalg.norm(true)
    assert found["false_refusal_ablation", 1.0] @ unit == pytest.approx(0, abs=1e-5)
    assert found["false_refusal_ablation", 0.5] @ unit > 0.1
    assert len({one.sha256 for one in tried(requests)}) == len(tried(requests))


def test_refusals_over_a_threatening_scene_are_no_false_refusals(requests):
    condition = requests.answers["condition"].mask(np.arange(60) < 39, "threatening_scene")
    seven = replace(requests, answers=requests.answers.assign(condition=condition))
    assert {one.found_by for one in candidates(seven, 1)} == {"difference_in_means", "linear_probe"}


def test_directions_of_all_sources_have_the_same_norm(requests):
    audio = requests.activations["audio"]
    both = replace(requests, activations={"audio": audio, "text": 7 * audio[:, :, ::-1]})
    heard, read = (one for one in candidates(both, 1) if one.found_by == "difference_in_means")
    assert (heard.source, read.source) == ("audio", "text")
    assert np.linalg.norm(read.direction) == pytest.approx(np.linalg.norm(heard.direction))
    assert read.direction[-1] == pytest.approx(heard.direction[0], rel=1e-5)


def test_each_text_is_read_once_and_stands_for_all_its_clips():
    answers = pd.DataFrame({"text": ["harmful words"] * 2 + ["benign words"] * 2})
    conversations = clips("harmful", 2) + clips("benign", 2)
    read, model = [], Steerable()
    logits = model.logits
    model.logits = lambda turns: read.append((turns[-1].text, turns[-1].audio)) or logits(turns)
    requests = directions.record_requests(model, answers, conversations, quiet)
    assert read[len(conversations) :] == [("harmful words", None), ("benign words", None)]
    as_text = requests.at(1, "text")
    assert as_text.shape == (len(answers), model.WIDTH)
    np.testing.assert_array_equal(as_text[0], as_text[1])


def test_a_probe_tells_classes_apart_that_differ_where_others_vary_more():
    refused = np.arange(200) >= 100
    rows = np.random.default_rng(1).normal(0, 0.1, (200, 16))
    rows[refused, 0] += 1
    rows[:, 1] *= 500
    normal, intercept = directions.probe(rows, refused)
    assert ((rows @ normal + intercept > 0) == refused).mean() > 0.95
    direction = directions.probe_direction(rows, refused)
    assert np.abs(direction[0]) > 10 * np.abs(direction[1])
    means = difference_in_means(rows, refused, ~refused)
    assert direction @ direction == pytest.approx(means @ direction, rel=1e-3)
