"""Models' own reports of what they heard, checked against the manifest.

Models report when a probe asks them, or beside each answer, as the reference models do.
"""

import json
import re

import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from aor_lib.config.params import load_scenes
from aor_lib.config.profile import PROBE

_STEM = 5
"""Letters that two words must share: "sizzling" names what "sizzles"."""
_SAYS_NOTHING = re.compile(
    r"background|distan|hear|noise|people|person|place|scene|sound|speak|speech|voice"
)


def heard(results: pd.DataFrame, probes: pd.DataFrame) -> pd.DataFrame:
    """Select the trials of which the model says what it heard, and check what it says.

    ``results`` are trials over scenes, ``probes`` those that asked what is heard in the same clips.
    Adds ``recognised`` (:func:`names_scene`).
    """
    own = results["heard"].map(lambda text: json.loads(text).get("sounds") if text else None)
    keys = ["model", "stimulus_id"]
    answered = probes[probes["mitigation"].eq(PROBE) & probes["status"].eq("ok")]
    probed = results[keys].merge(answered[[*keys, "response"]], on=keys, how="left")["response"]
    said = probed.set_axis(results.index).fillna(own).dropna()
    trials = results.loc[said.index]
    described = {name: f"{name} {scene.description}" for name, scene in load_scenes().items()}
    scenes = trials["background_scene"].map(lambda name: described.get(name, str(name)))
    sounds = trials["events"].map(lambda events: [one["name"] for one in json.loads(events)])
    checked = zip(said, scenes, sounds, strict=True)
    return trials.assign(recognised=[names_scene(*row) for row in checked])


def names_scene(answer: str, scene: str, sounded: list[str]) -> bool:
    """Tell if an answer shares a telling word, up to its ending, with a scene or its sounds.

    Examples
    --------
    >>> names_scene("I hear meat sizzling.", "barbecue", ["sizzle", "tongs"])
    True
    >>> names_scene("I hear people and background noise.", "people in the background", [])
    False
    """
    return not _telling(answer).isdisjoint(_telling(" ".join([scene, *sounded])))


def _telling(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]{3,}", text.lower().replace("_", " "))) - ENGLISH_STOP_WORDS
    return {word[:_STEM] for word in words if not _SAYS_NOTHING.match(word)}
