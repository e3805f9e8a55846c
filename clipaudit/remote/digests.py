"""Compute the SHA-256 of remote shards once while the remote reports them unchanged.

    store/files/urls/<name>.json    one URL: its state when it was hashed, and its SHA-256

A record is trusted while the remote's size, ETag, times and checksums stay the same; else the shard
is fetched into the cache and hashed on the way. Losing a record costs one more fetch.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clipaudit.errors import InputError
from clipaudit.remote.stubs import Stub, find_stub, read_stub, write_stub
from clipaudit.store.store import Store, replace_text


class RemoteDigests:
    """The digests of remote shards, memoized in a store, and their URLs."""

    def __init__(self, store: Store) -> None:
        """Use the folder `files` of `store`, created with the first digest."""
        self._store = store.root
        self._files = store.root / "files"

    def digest(self, url: str) -> str:
        """Return the SHA-256 of a shard, fetching it only if it changed; write a stub for it.

        Raise InputError for a shard that is missing, denied, unreachable, or replaced meanwhile.
        """
        from clipaudit.remote.cache import cache_of
        from clipaudit.remote.fetching import fetch, state_of

        state = state_of(url)
        record = self._read(url)
        if state.tells and record.get("state") == asdict(state):
            sha256 = str(record["sha256"])
        else:
            cache = cache_of(self._store)
            sha256 = cache.take(url, state.bytes, lambda into: fetch(url, state.bytes, into))
            if state_of(url) != state:
                raise InputError(f"{url}: replaced during the read. Rerun when it is complete.")
            fields = {"state": asdict(state), "sha256": sha256}
            replace_text(self._record(url), json.dumps(fields, sort_keys=True))
        write_stub(self._files, Stub(url, state.bytes, sha256))
        return sha256

    def recorded(self, url: str) -> str | None:
        """Return the SHA-256 that a shard had when last checked, without contacting the remote.

        Return None if it was never checked.
        """
        found = self._read(url).get("sha256")
        return found if isinstance(found, str) else None

    def stub(self, sha256: str) -> Path:
        """Return the stub of a shard; raise InputError if no URL of these bytes is known."""
        stub = find_stub(self._files, sha256)
        if stub is None:
            raise InputError(
                f"no URL is known for the remote shard with SHA-256 {sha256}: {self._files} was "
                "removed, or came from elsewhere. Index again: `snakemake --forcerun index`."
            )
        return stub

    def url(self, sha256: str) -> str:
        """Return the URL where these bytes were last found; raise InputError if none is known."""
        return read_stub(self.stub(sha256)).url

    def _record(self, url: str) -> Path:
        return self._files / "urls" / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"

    def _read(self, url: str) -> dict[str, Any]:
        """Read a record; one that is missing or truncated by a crash counts as empty."""
        try:
            fields = json.loads(self._record(url).read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return fields if isinstance(fields, dict) else {}
