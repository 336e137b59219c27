import dataclasses

import pytest

from aor_lib.config.records import Generation
from aor_lib.inference import cluster as cluster_module
from aor_lib.inference import engine
from aor_lib.inference.cluster import Cluster
from aor_lib.models.base import Answer, Failure, ModelError, Turn
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import fail_some, outcomes_in, run_texts


def local_cluster(workers: int):
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=2,
        dashboard_address=":0",
        host="127.0.0.1",
        protocol="tcp",
        processes=False,
        resources={"scripted": 1},
    )


@pytest.fixture(scope="module")
def cluster():
    """A cluster whose two workers, threads here, hold the model ``scripted``."""
    with local_cluster(2) as machines, Cluster(machines.scheduler_address) as cluster:
        yield cluster


@pytest.fixture
def machines_have(monkeypatch):
    """Say what models the machines of the cluster can load."""
    models = {}

    def load(card):
        if card.id not in models:
            raise ModelError(f"{card.id} needs a GPU")
        return models[card.id]

    monkeypatch.setattr(cluster_module, "load_model", load)
    yield lambda *these: models.update({model.card.id: model for model in these})
    cluster_module._loaded.cache_clear()


def test_results_are_those_of_a_run_in_process(cluster, machines_have, path, monkeypatch):
    monkeypatch.setattr(engine, "BATCH", 10)
    stimuli, names = make_text_stimuli(95), ("scripted", "elsewhere")
    here, machines = ([ScriptedModel(fail_some, name) for name in names] for _ in range(2))
    run_texts(path.with_name("here.sqlite"), here, stimuli)
    machines_have(*machines)
    there = [cluster.model(model.card) for model in machines]
    run_texts(path, there, stimuli, executor=cluster.executor)
    assert outcomes_in(path) == outcomes_in(path.with_name("here.sqlite"))
    assert [sorted(model.asked) for model in machines] == [sorted(model.asked) for model in here]


def test_sound_files_travel_to_the_machines(cluster, machines_have, tmp_path):
    class Reader(ScriptedModel):
        def answer(self, conversations, generation):
            (path,) = [turn.audio for (turn,) in conversations]
            return [Answer(f"{path.suffix} {path.read_text()} {path.parent != tmp_path}", 1)]

    machines_have(Reader())
    clip = tmp_path / "clip.flac"
    clip.write_text("sound")
    model = cluster.model(Reader().card)
    assert model.answer([(Turn("user", audio=clip),)], Generation()) == [
        Answer(".flac sound True", 1)
    ]


def test_a_model_that_no_machine_can_run_says_what_it_needs(cluster, machines_have):
    with pytest.raises(ModelError, match="scripted needs a GPU"):
        cluster.model(ScriptedModel().card)


def test_a_machine_with_another_revision_is_not_asked(cluster, machines_have):
    machines_have(ScriptedModel())
    model = dataclasses.replace(cluster.model(ScriptedModel().card), revision="0")
    with pytest.raises(ModelError, match="one machine has revision 1, another 0"):
        model.answer([(Turn("user", text="text 0"),)], Generation())


def test_a_batch_that_ends_every_machine_has_failed(cluster):
    from distributed import KilledWorker

    class Lost:
        def result(self):
            raise KilledWorker("ask", None, 3)

    results = cluster.outcome(Lost(), 2).results
    assert [type(result) for result in results] == [Failure, Failure]


def test_a_cluster_without_workers_says_how_to_start_some():
    with (
        local_cluster(0) as empty,
        pytest.raises(OSError, match="has no workers; start some: 'dask worker tcp://127"),
    ):
        Cluster(empty.scheduler_address)
