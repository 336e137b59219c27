"""Read a study's folder into frames for analysis."""

import json
from pathlib import Path

import pandas as pd

from aor_lib.config.params import PARAMS, ModelCard, load_model_cards
from aor_lib.config.records import Verdict, content_hash
from aor_lib.config.typed_yaml import ParamsError, did_you_mean
from aor_lib.inference.asking import Provenance
from aor_lib.inference.store import STORE, STUDY, Store, open_results
from aor_lib.judge import DEFAULT_JUDGE, JUDGES
from aor_lib.judge.stored import study_judge
from aor_lib.stimuli.manifest import load_manifest


def load_trials(build: Path | str, judge: str | None = None) -> pd.DataFrame:
    """Read every planned trial of a study with its answer and verdict.

    By default, verdicts are those of the study's own judge, in its version with the most verdicts.
    Another judge of the library now judges the answers that its present version has not yet judged,
    without storing these verdicts. One row per trial, as in :attr:`aor_lib.study.Study.trials`,
    with its :func:`marks`. FileNotFoundError if the study has no manifest or has not been run;
    ParamsError if a judge that the library does not have has no verdicts in the study.
    """
    build = Path(build)
    manifest = load_manifest(build)
    with open_results(build) as store:
        chosen = judge or store.judge() or DEFAULT_JUDGE
        trials = store.frame(chosen)
        versions = trials.pop("judge_version")
        # Another judge now judges the answers that its present version has not judged.
        is_own = judge == store.judge() and versions.notna().any()
        local = None if judge is None or is_own else JUDGES.get(judge)
        counted = [local.version] if local else versions.mode().head(1)
        names = ["label", "p_refusal", "rationale", "flags"]
        trials.loc[~versions.isin(counted), names] = None
        if local:
            responses = store.unjudged(local.id, local.version)
            given = study_judge(store, local, manifest)(responses)
            verdicts = [v.model_dump(mode="json") for v in given if isinstance(v, Verdict)]
            table = pd.DataFrame(verdicts, columns=list(Verdict.model_fields))
            table["flags"] = table["flags"].map(json.dumps)
            new = trials[["trial_key"]].merge(table, how="left")[names]
            trials[names] = new.where(new["label"].notna(), trials[names])
        elif judge is not None and trials["label"].isna().all():
            remedy = f"{did_you_mean(judge, JUDGES)}, or run 'aor judge'"
            raise ParamsError(f"judge: {judge!r} has no verdicts here{remedy}")
    results = manifest.merge(trials, on="stimulus_id", how="inner", validate="one_to_many")
    content = [
        sha256 if history == "[]" else content_hash([sha256, history])
        for sha256, history in zip(results["sha256"], results["history"], strict=True)
    ]
    # Answers to stimuli that have changed are dropped; the study's own trials become missing.
    old = results["stimulus_sha256"] != content
    answer = ["status", "response", "error", "heard", "latency_s", "tokens", *names]
    if old.any():
        results.loc[old, answer] = None
    results = results[~old | results["part"].eq(STUDY)]
    results = results.drop(columns=["stimulus_sha256", "part"]).reset_index(drop=True)
    results = results.join(marks(), on="utterance_id")
    results["status"] = results["status"].fillna("missing")
    results["is_control"] = results["is_control"].astype(bool)
    results.loc[results["intent"] == "harmful", ["response", "rationale"]] = None
    return results


def load_results(build: Path | str, judge: str | None = None) -> pd.DataFrame:
    """Read the trials of :func:`load_trials` except probes, which ask what the model heard."""
    trials = load_trials(build, judge)
    return trials[trials["method"] != "probe"].reset_index(drop=True)


def load_cards(build: Path | str) -> dict[str, ModelCard]:
    """Model cards by id: those in the params, and those of all models with results here."""
    if not (Path(build) / STORE).is_file():
        return load_model_cards()
    with Store(Path(build) / STORE) as store:
        return load_model_cards() | store.cards()


def load_provenance(build: Path | str) -> pd.DataFrame:
    """Provenance of a study's answers, one row per model, revision and machine.

    See :class:`Provenance`. ``profile`` names the study from which answers were imported, if any.
    """
    with Store(Path(build) / STORE) as store:
        rows = [row.model_dump() for row in store.provenance()]
    return pd.DataFrame(rows, columns=list(Provenance.model_fields))


def load_readings() -> pd.DataFrame:
    """Blind readings of the utterances, one row per utterance and reader.

    Two language models that had not written the utterances read the words of each utterance alone,
    then with its scenes. Each answered these questions:

    ``words``: would a cautious assistant refuse, given only the words (yes, perhaps, no);
    ``domain``: which scenario do the words reveal, or none; ``request``: can it be complied with;
    ``scene``: does its benign scene make the harmless reading the natural one; ``always``: is it
    harmful in any scene; ``threat``: is it a threat by the speaker in its threatening scene (NaN
    without one);
    ``natural``: would somebody say it in its benign scene.
    """
    file = PARAMS / "scenarios" / "readings.csv"
    return pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""])


def marks() -> pd.DataFrame:
    """Marks of each utterance by its blind readers, from the words alone.

    ``strict``: both readers expect a refusal; ``told_by_words``: at least one named the scenario.
    """
    rows = load_readings()
    named = [domain in name for domain, name in zip(rows["domain"], rows["id"], strict=True)]
    rows = rows.assign(strict=rows["words"] == "yes", named=named)
    by_utterance = rows.groupby(rows["id"].rename("utterance_id"))
    return by_utterance.agg(strict=("strict", "all"), told_by_words=("named", "any"))
