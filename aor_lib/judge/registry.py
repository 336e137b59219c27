"""Every judge by its id: those of the library, and the language models of ``params/judges``."""

from pathlib import Path

from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError, did_you_mean, read_named
from aor_lib.judge import JUDGES, Judge
from aor_lib.models.registry import load_model


def load_judge(name: str, folder: Path = PARAMS / "judges") -> Judge:
    """Return the judge of this id, ready to judge; ``ModelError`` if its model cannot run here."""
    if name in JUDGES:
        return JUDGES[name]
    cards = {path.stem: path for path in folder.glob("*.yaml")}
    if name not in cards:
        raise ParamsError(f"judge: no judge {name!r}{did_you_mean(name, [*JUDGES, *cards])}")
    from aor_lib.judge.llm import JudgeCard, LLMJudge

    card = read_named(cards[name], JudgeCard)
    return LLMJudge(card, load_model(card.as_model()))
