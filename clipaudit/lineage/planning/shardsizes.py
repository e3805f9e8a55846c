"""Samples per shard of each corpus: as stated, as a world makes them, or as indexed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from clipaudit.errors import InputError, StoreError
from clipaudit.lineage.planning.scaling import law_of
from clipaudit.steps.jobs import Job
from clipaudit.store.store import Pointer


class ShardSizes:
    """Samples per shard, by corpus: stated for it, else learned, else stated for all others."""

    def __init__(self, by_corpus: Mapping[str, int], others: int | None = None) -> None:
        """Start with the user's numbers: for some corpora, and for all unknown ones."""
        self._stated = by_corpus
        self._others = others
        self._learned: dict[str, tuple[float, str]] = {}
        self._corpora: list[str] = []

    def learn(self, jobs: Iterable[Job]) -> None:
        """Learn from a workflow: from worlds' settings, and from indexed parts.

        Raise InputError with all unknown corpora, and for a stated corpus that no job indexes.
        """
        indexed = [job for job in jobs if law_of(job.script).counted]
        self._corpora = sorted({job.wildcards["corpus"] for job in indexed})
        for job in jobs:
            if job.script == "generate_shard":
                corpus = job.wildcards["corpus"]
                made = job.params["world"]["corpora"][corpus]["samples_per_shard"]
                self._learned[corpus] = (float(made), f"world {job.wildcards['world']}")
        rows, shards = Counter[str](), Counter[str]()
        for job in indexed:
            with suppress(StoreError):
                given = (Path(job.outputs[name][0]) for name in ("samples", "drops"))
                rows[job.wildcards["corpus"]] += sum(Pointer.read(path).rows for path in given)
                shards[job.wildcards["corpus"]] += len(job.params["shards"])
        for corpus, count in shards.items():
            if count:
                self._learned[corpus] = (rows[corpus] / count, "as indexed")
        self._check()

    def samples(self, corpus: str) -> float:
        """Return the number of samples per shard of a corpus."""
        return self._known(corpus)[0]

    def said(self) -> dict[str, str]:
        """Return for each corpus the samples per shard, and the source of the number."""
        return {
            corpus: "{:,.6g} per shard ({})".format(*self._known(corpus))
            for corpus in self._corpora
        }

    def _known(self, corpus: str) -> tuple[float, str]:
        if corpus in self._stated:
            return float(self._stated[corpus]), "as stated"
        assert corpus in self._learned or self._others is not None
        return self._learned.get(corpus) or (float(self._others or 0), "as stated")

    def _check(self) -> None:
        for corpus in self._stated:
            if corpus not in self._corpora:
                raise InputError(
                    f"--samples-per-shard {corpus}=: no job indexes a corpus of this name. Known "
                    f"corpora: {', '.join(self._corpora)}."
                )
        missing = [
            corpus
            for corpus in self._corpora
            if self._others is None and corpus not in self._stated and corpus not in self._learned
        ]
        if missing:
            raise InputError(
                f"The number of samples per shard is unknown for {', '.join(missing)}. Give "
                f"--samples-per-shard {missing[0]}=10000, or --samples-per-shard 10000 for all "
                "unknown corpora."
            )
