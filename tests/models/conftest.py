import json
import shutil

import pytest

from aor_lib.models import openai_api
from tests.models.loopback import KEY, completion, serving


@pytest.fixture
def copied(checkpoint, tmp_path):
    def copy(name, file=None, **settings):
        folder = shutil.copytree(checkpoint(name), tmp_path / name)
        if file:
            whole = json.loads((folder / file).read_text())
            (folder / file).write_text(json.dumps(whole | settings))
        return folder

    return copy


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr(openai_api, "_PAUSE_S", 1e-4)
    with serving() as server:
        server.reply = lambda _: completion("Fine.")
        yield server
