"""A study's folder as frames for analysis."""

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

    The judge is by default the study's own, and of its versions that with most verdicts counts.
    What another judge of the library has not judged in its present version is judged now, and not
    stored. One row per trial, as :attr:`aor_lib.study.Study.trials`, with its :func:`marks`.
    FileNotFoundError if the study has no manifest, or has not been run; ParamsError if an unknown
    judge has given no verdict.
    """
    build = Path(build)
    manifest = load_manifest(build)
    with open_results(build) as store:
        chosen = judge or store.judge() or DEFAULT_JUDGE
        trials = store.frame(chosen)
        versions = trials.pop("judge_version")
        # What another judge has not judged, or not in this version, it judges now.
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
            raise ParamsError(f"judge: {judge!r} has judged nothing here{remedy}")
    results = manifest.merge(trials, on="stimulus_id", how="inner", validate="one_to_many")
    content = [
        sha256 if history == "[]" else content_hash([sha256, history])
        for sha256, history in zip(results["sha256"], results["history"], strict=True)
    ]
    # Of stimuli that have changed since, the study's own trials are to be asked again.
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
    """Read the trials of :func:`load_trials` but for probes, which ask what was heard."""
    trials = load_trials(build, judge)
    return trials[trials["method"] != "probe"].reset_index(drop=True)


def load_cards(build: Path | str) -> dict[str, ModelCard]:
    """Model cards by id: those of the params, and those of every model with results here."""
    if not (Path(build) / STORE).is_file():
        return load_model_cards()
    with Store(Path(build) / STORE) as store:
        return load_model_cards() | store.cards()


def load_provenance(build: Path | str) -> pd.DataFrame:
    """Models, revisions and machines that answered: see :class:`Provenance`.

    ``profile`` names the study that answers were imported from, and is empty for its own.
    """
    with Store(Path(build) / STORE) as store:
        rows = [row.model_dump() for row in store.provenance()]
    return pd.DataFrame(rows, columns=list(Provenance.model_fields))


def load_readings() -> pd.DataFrame:
    """One row per utterance and blind reader, with what the reader answered.

    Two language models that had not written the utterances read the words of each alone, and then
    what is heard behind them.

    ``words``: would a cautious assistant that has these words alone refuse (yes, perhaps, no);
    ``domain``: the scenario that the words give away, or none; ``request``: can one comply with it;
    ``scene``: is its benign scene enough to answer it; ``always``: is it harmful whatever is heard;
    ``threat``: is it a threat by the speaker in its threatening scene (NaN without one);
    ``natural``: would somebody say it there.
    """
    file = PARAMS / "scenarios" / "readings.csv"
    return pd.read_csv(file, dtype=str, keep_default_na=False, na_values=[""])


def marks() -> pd.DataFrame:
    """By utterance: ``strict`` (both readers would refuse its words) and ``told_by_words``.

    The latter holds if one of the readers named its scenario from the words alone.
    """
    rows = load_readings()
    named = [domain in name for domain, name in zip(rows["domain"], rows["id"], strict=True)]
    rows = rows.assign(strict=rows["words"] == "yes", named=named)
    by_utterance = rows.groupby(rows["id"].rename("utterance_id"))
    return by_utterance.agg(strict=("strict", "all"), told_by_words=("named", "any"))
