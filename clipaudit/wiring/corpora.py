"""Which files belong to a corpus: tars, URLs, lists of samples, pointers by part, manifests."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from clipaudit.config.pictures import require_pictures
from clipaudit.config.settings import Settings
from clipaudit.errors import ClipauditError
from clipaudit.steps import paths
from clipaudit.steps.workflow import stop_with
from clipaudit.wiring.wildcards import Chosen, Paths, Wildcards

FEW_POINTERS = 32  # a list of them is a job of its own, which is worth it for more


class CorpusFiles:
    """The files of the corpora and manifests of some settings.

    Functions of wildcards are what rules name as inputs and params; where their docstrings say "a
    part", it is that of the wildcards `corpus` and `part`.
    """

    def __init__(self, run: Settings, *, cores: int = 1) -> None:
        """Sort the corpora by what their samples come from; `cores` are those of the run."""
        self.run = run
        self.cores = cores
        kinds = run.corpora.items()
        self.splits = [name for name, corpus in kinds if corpus.where is not None]
        self.drawn = [name for name, corpus in kinds if corpus.sets is not None]
        self.listed = [name for name, corpus in kinds if corpus.metadata is not None]
        others = {*self.splits, *self.drawn, *self.listed}
        self.indexed = [name for name in run.corpora if name not in others]
        self.blurred = {name: corpus.blurred for name, corpus in kinds if corpus.blurred}
        self._made = (*(f"data/{world}/" for world in run.worlds), "data/blurred/")
        self._numbers: dict[tuple[str, str], list[int]] = {}

    def brought(self, *named: str | None) -> Paths:
        """Return files that the user brings; where data is absent, only those made here."""
        given = [path for path in named if path]
        if not self.run.without_data:
            return given
        return [path for path in given if path.startswith(self._made)]

    def result(self, path: str) -> str:
        """Return a pointer's path from the folder that snakemake runs in."""
        return f"{self.run.results}/{path}"

    # --- parts ----------------------------------------------------------------------------------

    def numbers_of_part(self, corpus: str, part: str) -> list[int]:
        """Return the shard numbers of a part: one list for all jobs, of which there are many."""
        key = corpus, part
        if key not in self._numbers:
            self._numbers[key] = self.run.part_shards(corpus, part)
        return self._numbers[key]

    def processes(self, wildcards: Wildcards) -> int:
        """Return the threads of a job of a part: the cores, shared out among the parts."""
        if self.cores == 1:
            return 1
        return max(1, self.cores // len(self.run.parts(wildcards.corpus)))

    def uneven_processes(self, wildcards: Wildcards) -> int:
        """Return the threads of a job of a part where one part has far more to do than another.

        Twice a part's share, so that the last one does not keep one core alone.
        """
        parts = len(self.run.parts(wildcards.corpus))
        return min(self.cores, max(1, 2 * self.cores // parts))

    def shard_numbers(self, wildcards: Wildcards) -> list[int]:
        """Return the numbers of the shards of a part."""
        return self.numbers_of_part(wildcards.corpus, wildcards.part)

    def by_part(self, folder: str, corpus: str) -> Paths:
        """Return the pointers of a folder of a corpus, one a part, in order."""
        return [self.result(f"{folder}/{part}.json") for part in self.run.parts(corpus)]

    def by_part_of_each(self, folder: str, corpora: Iterable[str]) -> Paths:
        """Return the pointers of a folder that has a folder for each of some corpora, in order."""
        return [path for name in corpora for path in self.by_part(f"{folder}/{name}", name)]

    def all_parts(self, folder: str) -> Chosen:
        """Return what gives a folder's pointers for all parts of a job's corpus.

        `folder` names wildcards as rules do, and ends in that of the corpus:
        `embeddings/{encoder}/{corpus}`.
        """
        return lambda wildcards: self.pointers_of(_filled(folder, wildcards))

    def pointers_of(self, folder: str) -> Paths:
        """Return the pointers of a folder whose name ends in its corpus, but for manifests."""
        names = folder.split("/")
        return self.by_part(folder, names[1 if names[0] == "manifests" else -1])

    def gathered(self, folder: str) -> Paths:
        """Return a folder's pointers, or the list of many: for rules whose every part reads all."""
        pointers = self.pointers_of(folder)
        if len(pointers) <= FEW_POINTERS:
            return pointers
        return [self.result(f"gathered/{folder}.list")]

    def gathered_parts(self, folder: str) -> Chosen:
        """Return what `all_parts` does, or the list of them where they are many."""
        return lambda wildcards: self.gathered(_filled(folder, wildcards))

    def of_source(self, folder: str) -> Chosen:
        """Return what gives the same part, in a folder, of the corpus that a split is of."""

        def chosen(wildcards: Wildcards) -> Paths:
            source = self.run.source(wildcards.corpus)
            return [self.result(paths.of_part(_filled(folder, wildcards), source, wildcards.part))]

        return chosen

    # --- what users bring -----------------------------------------------------------------------

    def _part_shards(self, wildcards: Wildcards) -> Paths:
        shards = self.run.shards(wildcards.corpus)
        return [shards[number] for number in self.shard_numbers(wildcards)]

    def _need_pictures(self, corpora: Sequence[str]) -> None:
        try:
            require_pictures(self.run, corpora)
        except ClipauditError as error:
            stop_with(error)

    def listed_files(self, wildcards: Wildcards) -> Paths:
        """Return the files that list the samples of a part without pictures."""
        return self.brought(*self._part_shards(wildcards))

    def listed_columns(self, wildcards: Wildcards) -> dict[str, object]:
        """Return which columns of those files say what."""
        listed = self.run.corpora[wildcards.corpus].metadata
        assert listed is not None, "only corpora that are listed have columns"
        return listed.model_dump(exclude={"files"})

    def indexed_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tar files of a part that is indexed; of a remote one none."""
        if self.run.is_remote(wildcards.corpus):
            return []
        return self.brought(*self._part_shards(wildcards))

    def indexed_urls(self, wildcards: Wildcards) -> list[str]:
        """Return the URLs of a remote part; all other rules read what its index lists."""
        return self._part_shards(wildcards) if self.run.is_remote(wildcards.corpus) else []

    def part_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tar files of a part, or the list of its remote ones."""
        self._need_pictures([wildcards.corpus])
        if self.run.is_remote(wildcards.corpus):
            source = self.run.source(wildcards.corpus)
            return [self.result(paths.of_part("shards", source, wildcards.part))]
        return self.brought(*self._part_shards(wildcards))

    def part_truths(self, wildcards: Wildcards) -> Paths:
        """Return the truth tables of the shards of a part of a made corpus."""
        return [str(Path(tar).with_suffix(".truth.parquet")) for tar in self.part_tars(wildcards)]

    def tars(self, corpora: Iterable[str]) -> Paths:
        """Return the tar files of some corpora, or the lists of their remote ones."""
        return [path for corpus in corpora for path in self._corpus_tars(corpus)]

    def tars_of_corpus(self, wildcards: Wildcards) -> Paths:
        """Return the tar files of the corpus of a job, or the lists of its remote ones."""
        return self._corpus_tars(wildcards.corpus)

    def _corpus_tars(self, corpus: str) -> Paths:
        self._need_pictures([corpus])
        if self.run.is_remote(corpus):
            return self.by_part(f"shards/{self.run.source(corpus)}", corpus)
        return self.brought(*self.run.shards(corpus))

    # --- labels and captions --------------------------------------------------------------------

    def classes(self, wildcards: Wildcards) -> Paths:
        """Return the file of class names that a corpus's labels point into, if it has labels."""
        return self.classes_of(wildcards.corpus)

    def classes_of(self, corpus: str) -> Paths:
        """Return the file of class names of a corpus, if it has labels."""
        labels = self.run.corpora[corpus].labels
        return self.brought(self.run.label_sets[labels].classes) if labels else []

    def mapped_classes(self, wildcards: Wildcards) -> Paths:
        """Return the class names that a corpus's label map leads to, and its file if it has one."""
        to = self.run.corpora[wildcards.corpus].label_map
        if to is None:
            return []
        lines = to.classes if isinstance(to.classes, str) else None
        return self.brought(self.run.label_sets[to.to].classes, lines)

    def labels(self, wildcards: Wildcards) -> dict[str, object] | None:
        """Return which labels a job's corpus may have, and its label map; None without labels."""
        corpus = self.run.corpora[wildcards.corpus]
        if corpus.labels is None:
            return None
        lines = corpus.label_map.lines if corpus.label_map else None
        whole = corpus.captions == "none" and not corpus.is_split and corpus.classes is None
        return {
            "corpus": wildcards.corpus,
            "used": corpus.classes,
            "label_map": lines,
            "whole": whole and len(self.run.parts(wildcards.corpus)) == 1,
        }

    def captioning(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how the captions and labels of a job's corpus are read."""
        return self.captioning_of(wildcards.corpus)

    def captioning_of(self, corpus: str) -> dict[str, object]:
        """Return how the captions and labels of a corpus are read."""
        settings = self.run.corpora[corpus]
        labels = self.run.label_sets[settings.labels] if settings.labels else None
        return {
            "source": settings.captions,
            "template": labels.caption_template if labels else None,
            "field": settings.caption_field,
            "may_lack": settings.may_lack_captions,
            "needs_label": settings.labels is not None,
        }

    # --- blurred corpora ------------------------------------------------------------------------

    def unblurred_tar(self, wildcards: Wildcards) -> Paths:
        """Return the shard that a shard of a blurred corpus is made of."""
        shards = self.run.shards(self.blurred[wildcards.corpus].of)
        return self.brought(shards[int(wildcards.shard)])

    def face_detector(self, wildcards: Wildcards) -> Paths:
        """Return the file of the detector that finds faces; shards that state them need none."""
        return self.brought(self.blurred[wildcards.corpus].detector)

    # --- manifests ------------------------------------------------------------------------------

    def manifest_parts(self, wildcards: Wildcards) -> Paths:
        """Return the parts of a manifest, over all corpora that its rows come from."""
        members = self.run.manifests()[wildcards.manifest]
        self._need_pictures(list(members))
        return [
            path
            for corpus, pruning in members.items()
            for path in self.by_part(f"manifests/{corpus}/{pruning}", corpus)
        ]

    def manifest_shards(self, wildcards: Wildcards) -> Paths:
        """Return the shard lists of the corpora of a manifest, in the order of its parts."""
        corpora = self.run.manifests()[wildcards.manifest]
        return [path for corpus in corpora for path in self.gathered(f"shards/{corpus}")]

    def manifest_captionings(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how the captions of each corpus of a manifest are read."""
        corpora = self.run.manifests()[wildcards.manifest]
        return {corpus: self.captioning_of(corpus) for corpus in corpora}

    def manifest_classes(self, wildcards: Wildcards) -> Paths:
        """Return the class names of the corpora of a manifest that have labels."""
        corpora = self.run.manifests()[wildcards.manifest]
        return [path for corpus in corpora for path in self.classes_of(corpus)]


def _filled(folder: str, wildcards: Wildcards) -> str:
    """Return a folder with the wildcards that it names filled in."""
    return re.sub(r"\{(\w+)\}", lambda named: getattr(wildcards, named[1]), folder)
