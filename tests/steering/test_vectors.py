"""Steering vectors on disk."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from safetensors.numpy import save_file

from aor_lib.steering import SteeringError
from aor_lib.steering.interventions import Ablation, Addition, Gate, Gated
from aor_lib.steering.vectors import SteeringVector, load_vector, read_vector, save_vector

WIDTH = 48
AWAY = np.linspace(-1, 1, WIDTH, dtype=np.float32)
ADDITION = Addition(2, AWAY, -0.75)
GATED = Gated(Gate(1, AWAY[::-1].copy(), 0.25, -1.5), ADDITION)


def vector(intervention=ADDITION, **changes):
    made = SteeringVector(
        intervention,
        model="steerable",
        revision="1",
        method="false_refusal",
        source="audio",
        layer=2,
        lam=0.5,
        components=None,
        data_sha256="0" * 64,
        utterances=frozenset({"kitchen-ph-002", "kitchen-ph-001"}),
    )
    return dataclasses.replace(made, **changes)


def fields_of(one):
    return {"name": one.name, **vars(one), "intervention": type(one.intervention)}


@pytest.mark.parametrize("intervention", [ADDITION, Ablation(AWAY), GATED])
def test_a_vector_is_read_as_it_was_saved(tmp_path, intervention):
    saved, paths = vector(intervention), [tmp_path / name for name in ("a", "sub/b")]
    for path in paths:
        save_vector(saved, path)
    assert fields_of(read_vector(paths[1])) == fields_of(saved)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_name_changes_with_all_that_steers_and_with_nothing_else():
    others = [
        vector(dataclasses.replace(ADDITION, coefficient=-1.0)),
        vector(dataclasses.replace(ADDITION, layer=1)),
        vector(dataclasses.replace(ADDITION, direction=AWAY * 2)),
        vector(Ablation(AWAY)),
        vector(GATED),
        vector(dataclasses.replace(GATED, gate=dataclasses.replace(GATED.gate, threshold=9.0))),
    ]
    assert len({one.name for one in [vector(), *others]}) == 7
    assert vector(method="probe").name == vector().name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "other"}, "model: the vector is for 'other', this is 'steerable'"),
        ({"revision": "2"}, "revision: the vector is for '2', this is '1'"),
    ],
)
def test_a_vector_of_another_model_is_refused(tmp_path, steerable, changes, message):
    path = tmp_path / "vector.safetensors"
    save_vector(vector(), path)
    assert fields_of(load_vector(path, steerable())) == fields_of(vector())
    save_vector(vector(**changes), path)
    with pytest.raises(SteeringError, match=message):
        load_vector(path, steerable())


@pytest.mark.parametrize(
    "metadata",
    [None, {"steering": "{"}, {"steering": '{"format": "another"}'}, {"steering": "[1]"}],
)
def test_another_file_is_no_vector(tmp_path, metadata):
    path = tmp_path / "vector.safetensors"
    save_file({"direction": AWAY}, path, metadata)
    with pytest.raises(SteeringError, match=r"vector\.safetensors: holds no steering vector: "):
        read_vector(path)
    path.write_bytes(b"not safetensors")
    with pytest.raises(SteeringError, match="holds no steering vector"):
        read_vector(path)
