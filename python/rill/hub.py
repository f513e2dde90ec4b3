"""Finds a model in the cache of the Hugging Face Hub, where other programs have left it. Nothing is downloaded.

The cache has a folder models--OWNER--NAME per repository: refs/REVISION has the commit of a branch or tag, snapshots/COMMIT the
files. Environment variables are those of the Hub's own client.
"""

from __future__ import annotations

import os
import pathlib
import re

from . import errors

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")  # a branch may have slashes; it never leads out of the folder


def cache_folder() -> pathlib.Path:
    """Return the cache's folder: $HF_HUB_CACHE, else hub/ in $HF_HOME, else huggingface/hub/ in the user's cache."""
    if hub := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return pathlib.Path(hub).expanduser()
    if home := os.environ.get("HF_HOME"):
        return pathlib.Path(home).expanduser() / "hub"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def find(name: str, revision: str, cache: pathlib.Path) -> pathlib.Path:
    """Return the folder of a cached model. Raises NotFoundError with the command that downloads it."""
    if not _NAME.fullmatch(name) or not _REVISION.fullmatch(revision) or ".." in name + revision:
        what = f"{name!r} in revision {revision!r}" if _NAME.fullmatch(name) else repr(name)
        raise errors.NotFoundError(f"{what}: no such folder, and no name of the Hugging Face Hub", "RILL_ERR_NOT_FOUND")
    folder = cache / ("models--" + name.replace("/", "--"))
    commit, ref = revision, folder / "refs" / revision
    if ref.is_file():
        commit = ref.read_text(encoding="utf-8").strip()
    if _REVISION.fullmatch(commit) and ".." not in commit and (folder / "snapshots" / commit).is_dir():
        return folder / "snapshots" / commit
    command = f"hf download {name}" + (f" --revision {revision}" if revision != "main" else "")
    why = f"{name}: no such folder, and revision {revision} is not in the cache {cache}, where `{command}` puts it"
    raise errors.NotFoundError(why, "RILL_ERR_NOT_FOUND")
