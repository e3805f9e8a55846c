"""Give rules the files of a corpus: tars, URLs, lists of samples, pointers by part, manifests."""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from clipaudit.config.corpora import Blurred
from clipaudit.config.pictures import require_pictures
from clipaudit.config.settings import Settings
from clipaudit.errors import ClipauditError
from clipaudit.steps import paths
from clipaudit.steps.workflow import stop_with
from clipaudit.wiring.wildcards import Chosen, ChosenByName, Paths, Setting, Wildcards

FEW_POINTERS = 32  # a gathered list is a job of its own, worth it only for more pointers


class CorpusFiles:
    """The files of the corpora and manifests of some settings.

    Rules use the functions of wildcards as inputs and params; in their docstrings "a part" is the
    one of the wildcards `corpus` and `part`.
    """

    def __init__(self, run: Settings, *, cores: int = 1) -> None:
        """Sort the corpora by the source of their samples; `cores` are those of the run."""
        self.run = run
        self.cores = cores
        kinds = run.corpora.items()
        self.splits = [name for name, corpus in kinds if corpus.where is not None]
        self.drawn = [name for name, corpus in kinds if corpus.sets is not None]
        self.listed = [name for name, corpus in kinds if corpus.metadata is not None]
        others = {*self.splits, *self.drawn, *self.listed}
        self.indexed = [name for name in run.corpora if name not in others]
        self.blurred = {name: corpus.blurred for name, corpus in kinds if corpus.blurred}
        self.last_blurred: list[str] = []
        for name in self.blurred:
            count = len(run.shards(name))
            rest = range(count // 10 * 10, count)
            self.last_blurred += [f"{name}/{number:05d}" for number in rest]
        self._made = (*(f"data/{world}/" for world in run.worlds), "data/blurred/")
        self._here = (*self._made, f"{run.results}/")  # what the run writes
        self._numbers: dict[tuple[str, str], list[int]] = {}

    def brought(self, *named: str | None) -> Paths:
        """Return the user's files; with `without_data`, only those made here."""
        given = [path for path in named if path]
        if not self.run.without_data:
            return given
        return [path for path in given if path.startswith(self._made)]

    def result(self, path: str) -> str:
        """Return a pointer's path relative to the folder that snakemake runs in."""
        return f"{self.run.results}/{path}"

    def states(self, *inputs: Chosen | ChosenByName | Paths | dict[str, Paths]) -> Setting:
        """Return a function that gives size and time of the user's files among inputs of a job.

        As a param they start the job for a file that was replaced by an older one: Snakemake itself
        starts it only for a newer one, and compares no param that is made from the inputs. Inodes
        would start it for each new mount of some network disks.
        """

        def of_job(wildcards: Wildcards) -> list[list[int]]:
            files: Paths = []
            for each in inputs:
                given = each(wildcards) if callable(each) else each
                files += chain(*given.values()) if isinstance(given, dict) else given
            stats = [os.stat(path) for path in files if not path.startswith(self._here)]
            return [[stat.st_size, stat.st_mtime_ns] for stat in stats]

        return of_job

    # --- parts ----------------------------------------------------------------------------------

    def numbers_of_part(self, corpus: str, part: str) -> list[int]:
        """Return the shard numbers of a part; the many jobs share one list."""
        key = corpus, part
        if key not in self._numbers:
            self._numbers[key] = self.run.part_shards(corpus, part)
        return self._numbers[key]

    def processes(self, wildcards: Wildcards) -> int:
        """Return the threads of a part's job: the cores divided among the parts."""
        if self.cores == 1:
            return 1
        return max(1, self.cores // len(self.run.parts(wildcards.corpus)))

    def uneven_processes(self, wildcards: Wildcards) -> int:
        """Return the threads of a part's job if some parts have far more work than others.

        That is twice a part's share, so that the last one does not run on a single core.
        """
        parts = len(self.run.parts(wildcards.corpus))
        return min(self.cores, max(1, 2 * self.cores // parts))

    def shard_numbers(self, wildcards: Wildcards) -> list[int]:
        """Return the shard numbers of a part."""
        return self.numbers_of_part(wildcards.corpus, wildcards.part)

    def by_part(self, folder: str, corpus: str) -> Paths:
        """Return a corpus's pointers in a folder, one per part, in order."""
        return [self.result(f"{folder}/{part}.json") for part in self.run.parts(corpus)]

    def by_part_of_each(self, folder: str, corpora: Iterable[str]) -> Paths:
        """Return the pointers in a folder with one subfolder for each of some corpora, in order."""
        return [path for name in corpora for path in self.by_part(f"{folder}/{name}", name)]

    def manifests_of(self, corpus: str, prunings: Iterable[str]) -> Paths:
        """Return the manifests of some prunings of a corpus, by part, in order."""
        return [
            path
            for pruning in prunings
            for path in self.by_part(f"manifests/{corpus}/{pruning}", corpus)
        ]

    def all_parts(self, folder: str) -> Chosen:
        """Return a function that gives a folder's pointers for all parts of a job's corpus.

        `folder` has wildcards as in rules, and ends in the corpus: `embeddings/{encoder}/{corpus}`.
        """
        return lambda wildcards: self.pointers_of(_filled(folder, wildcards))

    def pointers_of(self, folder: str) -> Paths:
        """Return the pointers of a folder whose name ends in its corpus, except for manifests."""
        names = folder.split("/")
        return self.by_part(folder, names[1 if names[0] == "manifests" else -1])

    def gathered(self, folder: str) -> Paths:
        """Return a folder's pointers, or a list if many, for rules whose every part reads all."""
        pointers = self.pointers_of(folder)
        if len(pointers) <= FEW_POINTERS:
            return pointers
        return [self.result(f"gathered/{folder}.list")]

    def gathered_parts(self, folder: str) -> Chosen:
        """Return a function like `all_parts`, but giving a list if there are many pointers."""
        return lambda wildcards: self.gathered(_filled(folder, wildcards))

    def of_source(self, folder: str) -> Chosen:
        """Return a function that gives the same part, in a folder, of a split's source corpus."""

        def chosen(wildcards: Wildcards) -> Paths:
            source = self.run.source(wildcards.corpus)
            return [self.result(paths.of_part(_filled(folder, wildcards), source, wildcards.part))]

        return chosen

    # --- users' files ---------------------------------------------------------------------------

    def _part_shards(self, wildcards: Wildcards) -> Paths:
        shards = self.run.shards(wildcards.corpus)
        return [shards[number] for number in self.shard_numbers(wildcards)]

    def _need_pictures(self, corpora: Sequence[str]) -> None:
        try:
            require_pictures(self.run, corpora)
        except ClipauditError as error:
            stop_with(error)

    def listed_files(self, wildcards: Wildcards) -> Paths:
        """Return the files that list the samples of a part without images."""
        return self.brought(*self._part_shards(wildcards))

    def listed_columns(self, wildcards: Wildcards) -> dict[str, object]:
        """Return what the columns of those files hold."""
        listed = self.run.corpora[wildcards.corpus].metadata
        assert listed is not None, "only corpora that are listed have columns"
        return listed.model_dump(exclude={"files"})

    def indexed_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tar files of a part for indexing; none for a remote part."""
        if self.run.is_remote(wildcards.corpus):
            return []
        return self.brought(*self._part_shards(wildcards))

    def indexed_urls(self, wildcards: Wildcards) -> list[str]:
        """Return the URLs of a remote part; all other rules read its index."""
        return self._part_shards(wildcards) if self.run.is_remote(wildcards.corpus) else []

    def part_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tar files of a part, or the list of its remote ones."""
        self._need_pictures([wildcards.corpus])
        if self.run.is_remote(wildcards.corpus):
            source = self.run.source(wildcards.corpus)
            return [self.result(paths.of_part("shards", source, wildcards.part))]
        return self.brought(*self._part_shards(wildcards))

    def part_truths(self, wildcards: Wildcards) -> Paths:
        """Return the truth tables of the shards of a part of a synthetic corpus."""
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
        """Return the labels that a job's corpus may have and its label map; None without labels."""
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
        by_class = settings.labels if settings.captions == "class" else None
        labels = self.run.label_sets[by_class] if by_class else None
        return {
            "source": settings.captions,
            "template": labels.caption_template if labels else None,
            "field": settings.caption_field,
            "may_lack": settings.may_lack_captions,
            "needs_label": settings.labels is not None,
        }

    # --- blurred corpora ------------------------------------------------------------------------
    # Their wildcard `shards` is a corpus and the number of a shard, or that without the last digit.

    def _blurring(self, wildcards: Wildcards) -> Blurred:
        return self.blurred[Path(wildcards.shards).parent.name]

    def unblurred_tars(self, wildcards: Wildcards) -> Paths:
        """Return the source shards of a job's blurred shards, in order."""
        shards, number = self.run.shards(self._blurring(wildcards).of), Path(wildcards.shards).name
        if wildcards.shards in self.last_blurred:
            return self.brought(shards[int(number)])
        return self.brought(*shards[10 * int(number) :][:10])

    def blurred_settings(self, wildcards: Wildcards) -> object:
        """Return how the faces of a job's shards are found and blurred."""
        return self._blurring(wildcards).model_dump(mode="json")

    def face_detector(self, wildcards: Wildcards) -> Paths:
        """Return the face detector's file; none if the shards state the faces."""
        return self.brought(self._blurring(wildcards).detector)

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
    """Return a folder with its wildcards filled in."""
    return re.sub(r"\{(\w+)\}", lambda named: getattr(wildcards, named[1]), folder)
