"""Make a study's folder from exported results, for a book that runs no model."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from aor_lib import __version__
from aor_lib.config.params import StudyParams
from aor_lib.inference.exchange import BundleError, import_results, read_bundle
from aor_lib.stimuli.design import stimuli
from aor_lib.stimuli.manifest import VALIDATION, load_stimuli, verify_dataset
from aor_lib.stimuli.validation import made_from
from aor_lib.storage.progress import finished
from aor_lib.study import LABELS

_SOURCE = "made-from.txt"
"""File that marks a study's folder as unpacked from a bundle."""


def unpack_study(path: Path, study: StudyParams, build: Path) -> int:
    """Verify a bundle with clips, unpack it as a study's folder and return its number of trials.

    Only a folder from an earlier unpacking is replaced, and its human labels and book are kept.
    After an error, the folder is unchanged.
    """
    if build.exists() and not (build / _SOURCE).is_file():
        raise BundleError(f"{build}: is not an unpacked bundle; name another folder with --build")
    build.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.parent, prefix=".") as scratch:
        folder = Path(scratch) / "study"
        bundle = read_bundle(path, folder)
        profile = bundle.profile
        if profile != study.profile.name:
            remedy = f"'make book PROFILE={profile} FROM={path}'"
            raise BundleError(
                f"{path}: has profile {profile!r}, not {study.profile.name!r}; run {remedy}"
            )
        if not (folder / VALIDATION).is_file():
            raise BundleError(f"{path}: cannot make a book: it was exported without clips")
        verify_dataset(load_stimuli(folder), folder)
        if bundle.aor_version == __version__:  # its exporter validated it
            finished(folder, "validate", made_from(folder, stimuli(study)))
        done = import_results(path, study, folder)
        (folder / _SOURCE).write_text(f"{path.name}\n")
        # The tables of these two stages now come from the bundle, so earlier records are void.
        ignore = shutil.ignore_patterns("validate", "steer")
        # No bundle holds these; labels come last, since annotators may be adding some.
        for name in ("html", "notebooks", ".stages", LABELS):
            if (build / name).is_dir():
                shutil.copytree(build / name, folder / name, ignore=ignore, dirs_exist_ok=True)
        replace_folder(folder, build)
    return done.trials


def replace_folder(made: Path, folder: Path) -> None:
    """Move a folder to the place of another, which is deleted only afterwards."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as scratch:
        old = Path(scratch) / "old"
        if folder.exists():
            folder.rename(old)
        try:
            made.rename(folder)
        finally:
            if old.exists() and not folder.exists():
                old.rename(folder)
