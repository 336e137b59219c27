import pandas as pd

CORE = {"revision": "1", "block": "core", "split": "test", "variant": 0, "unseen_scene": False}
CORE |= {"emotion": "neutral", "gender": "female", "speaking_rate": "normal"}


def trials(rows, **columns):
    frame = pd.DataFrame(rows, columns=["utterance_id", "status", "label"])
    return frame.assign(**{"model": "m", "intent": "pseudo_harmful"} | columns)


def answers(refused, asked, **columns):
    """Answers to as many utterances as were asked, the first of them refused."""
    labels = ["full_refusal"] * refused + ["full_compliance"] * (asked - refused)
    return trials([(str(n), "ok", label) for n, label in enumerate(labels)], **columns)


def of_reference_model(refused, **changes):
    """A reference model's answers to 20 utterances of the core design."""
    about = {"model": "ref-wordbound", "condition": "benign_scene", "arm": "none"}
    return answers(refused, 20, **CORE | about | changes)
