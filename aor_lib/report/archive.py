"""A study as one zip file, of which somebody else makes the pages without running a model.

``manifest.parquet``, ``validation.parquet``, ``clips/``, ``steering/``
    As in the study's folder.
``results/``
    A bundle of its results (:mod:`aor_lib.inference.bundles`).
"""

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from aor_lib.config.params import StudyParams
from aor_lib.inference.bundles import (
    Bundle,
    BundleError,
    export_results,
    import_results,
    read_bundle,
)
from aor_lib.stimuli.manifest import (
    MANIFEST,
    VALIDATION,
    load_stimuli,
    load_validation,
    sound_files,
    verify_dataset,
)

_RESULTS = "results"
_MEMBER = re.compile(
    rf"{_RESULTS}/\w+\.(json|parquet)|(manifest|validation)\.parquet|clips/[\w.-]+\.flac"
    r"|steering/\w+\.parquet"
)
_HOW = "'aor results export PROFILE --into NAME.zip' writes one"


def write_archive(study: StudyParams, build: Path, into: Path) -> Bundle:
    """Write a study's clips, results and tables of steering to a new zip file."""
    if into.exists():
        raise BundleError(f"{into}: exists; remove it or name another file")
    load_validation(build)
    clips = [build / name for name, _ in sound_files(load_stimuli(build))]
    tables = [build / MANIFEST, build / VALIDATION, *sorted((build / "steering").glob("*.parquet"))]
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".", suffix=".partial") as scratch:
        whole, results = Path(scratch) / into.name, Path(scratch) / _RESULTS
        bundle = export_results(study, build, results)
        with zipfile.ZipFile(whole, "w") as archive:  # FLAC and Parquet are compressed already
            for path in [*tables, *clips]:
                archive.write(path, path.relative_to(build))
            for path in sorted(results.iterdir()):
                archive.write(path, f"{_RESULTS}/{path.name}")
        whole.replace(into)
    return bundle


def unpack_archive(path: Path, study: StudyParams, build: Path) -> int:
    """Make a study's folder of a zip file that :func:`write_archive` wrote, all of it checked.

    It takes the place of one that was made so before, and of no other; where the file cannot be
    used, nothing was changed. Returns the number of trials.
    """
    if build.exists() and not (build / _RESULTS).is_dir():
        raise BundleError(f"{build}: holds a study of its own; name another folder with --build")
    build.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.parent, prefix=".", suffix=".partial") as scratch:
        folder = Path(scratch) / "study"
        _extract(path, folder)
        bundle = read_bundle(folder / _RESULTS)
        if bundle.profile != study.profile.name:
            raise BundleError(
                f"{path}: is of the profile {bundle.profile!r}, not {study.profile.name!r}: "
                f"'make book PROFILE={bundle.profile} FROM={path}'"
            )
        verify_dataset(load_stimuli(folder), folder)
        done = import_results(folder / _RESULTS, study, folder)
        if build.exists():
            shutil.rmtree(build)
        folder.replace(build)
    return done.trials


def _extract(path: Path, folder: Path) -> None:
    """Take out the files that such a zip file has, and refuse one with others or without them."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            for needed in (MANIFEST, VALIDATION, f"{_RESULTS}/manifest.json"):
                if needed not in names:
                    raise BundleError(f"{path}: makes no book: it has no {needed}; {_HOW}")
            for name in sorted(names):
                if not _MEMBER.fullmatch(name):
                    raise BundleError(f"{path}: holds {name!r}, which no such file does; {_HOW}")
            archive.extractall(folder)
    except zipfile.BadZipFile as error:
        raise BundleError(f"{path}: is damaged, or no zip file ({error}); {_HOW}") from error
    if lacking := {name for name, _ in sound_files(load_stimuli(folder))} - names:
        raise BundleError(f"{path}: {min(lacking)} is missing; copy the whole file again")
