"""Conformance check of any adapter: does a model do what the study takes for granted?

The questions are short, harmless, and spoken in a voice of the study; nothing else is needed.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import one_line
from aor_lib.models.asked import SCENES, Asked, Failed, Skipped
from aor_lib.models.base import AudioModel, ModelError
from aor_lib.models.checks import CHECKS, Check


@dataclass(frozen=True)
class Checked:
    """Outcome of one check. ``what_to_do`` is empty unless it failed."""

    check: str
    outcome: Literal["passed", "failed", "skipped"]
    detail: str
    what_to_do: str = ""


def check_model(model: AudioModel, scene: Scene | None = None) -> list[Checked]:
    """Ask a model some twenty short questions and say what it does right and wrong.

    Checks of abilities that it does not claim (:class:`aor_lib.models.base.Capabilities`) are
    skipped, and so are those that cannot be decided. One that answers nothing is asked no further.
    ``scene`` is one to be heard, in place of a scene of the study.

    Raises
    ------
    ModelError
        If it cannot run here at all.
    """
    rows: list[Checked] = []
    with tempfile.TemporaryDirectory() as folder:
        asked = Asked(model, Path(folder), (scene or SCENES[0], SCENES[1]))
        for name, what_to_do, check in CHECKS:
            if rows and rows[0].outcome == "failed":
                rows.append(Checked(name, "skipped", "there are no answers to go by"))
            else:
                rows.append(_outcome(asked, name, what_to_do, check))
    return rows


def _outcome(asked: Asked, name: str, what_to_do: str, check: Check) -> Checked:
    try:
        return Checked(name, "passed", check(asked))
    except Skipped as reason:
        return Checked(name, "skipped", str(reason))
    except Failed as reason:
        return Checked(name, "failed", str(reason), what_to_do)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - an adapter in the making raises anything
        text = one_line(error, 200)
        return Checked(name, "failed", f"raised {type(error).__name__}: {text!r}", what_to_do)
