"""Gives the jobs of the copies audit their files and settings."""

from pathlib import Path

from clipaudit.copies.manifests import copies_prunings, planted_sets, searched_sets
from clipaudit.copies.settings import Copies
from clipaudit.steps import paths
from clipaudit.wiring.models import ModelFiles
from clipaudit.wiring.wildcards import Paths, Wildcards

HASH_THRESHOLDS = "hash_calibration/thresholds.json"


class CopiesFiles:
    """The files of the copies audit of some settings, by the wildcards of its rules."""

    def __init__(self, audit: Copies, models: ModelFiles) -> None:
        """Find the test sets that are searched for."""
        self.audit, self.models, self.corpora = audit, models, models.corpora
        self.run = self.corpora.run
        self.test_sets = searched_sets(self.run, audit)
        self.planted_sets = planted_sets(self.run, audit)
        self.prunings = copies_prunings(self.run, audit)
        self.originals = self.test_sets or [audit.train]

    @property
    def hashed(self) -> list[str]:
        """Return the corpora whose images are hashed."""
        return list(dict.fromkeys([self.audit.train, *self.test_sets]))

    def manifests(self) -> Paths:
        """Return the manifests that the audit makes."""
        return self.corpora.manifests_of(self.audit.train, self.prunings)

    # --- hashes ----------------------------------------------------------------------------------

    def train_samples(self) -> Paths:
        """Return the samples of the training corpus."""
        return self.corpora.by_part(f"samples/{self.audit.train}", self.audit.train)

    def sample(self, wildcards: Wildcards) -> Paths:
        """Return the sample of training images that are searched, if not all are."""
        if self.audit.sample is None or wildcards.corpus != self.audit.train:
            return []
        return [self.corpora.result(f"searched/{self.audit.train}.json")]

    def sample_seed(self, wildcards: Wildcards) -> int | None:
        """Return the seed of that sample; where all images are searched, no seed enters a key."""
        return self.audit.seed if self.sample(wildcards) else None

    def views(self, wildcards: Wildcards) -> str:
        """Return which views of the images of a corpus are hashed."""
        return "test" if wildcards.corpus in self.test_sets else "train"

    # --- calibration -----------------------------------------------------------------------------

    def original_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of the images that copies are made of."""
        return {
            "tars": self.corpora.tars(self.originals),
            "samples": self.corpora.by_part_of_each("samples", self.originals),
        }

    def original_shards(self) -> dict[str, int]:
        """Return how many tars each corpus of originals has, in the order of the tars."""
        return {name: len(self.run.shards(name)) for name in self.originals}

    def calibrated_similarity(self, wildcards: Wildcards) -> float | None:
        """Return the similarity that the settings name for an encoder; None if it is chosen."""
        return self.audit.similarity.get(wildcards.encoder)

    def given_distance(self) -> int | None:
        """Return the distance that the settings name; None if it is chosen."""
        return None if isinstance(self.audit.distance, str) else self.audit.distance

    # --- candidates ------------------------------------------------------------------------------

    def candidate_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of the search for candidates between a part and a test set."""
        return self._candidates(wildcards, wildcards.testset, None)

    def repeat_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of the search for candidates between a part and all parts up to it."""
        return self._candidates(wildcards, wildcards.corpus, int(wildcards.part) + 1)

    def _candidates(self, wildcards: Wildcards, other: str, parts: int | None) -> dict[str, Paths]:
        corpus, part = wildcards.corpus, wildcards.part
        encoders = self.audit.encoders
        result = self.corpora.result
        return {
            "images": [result(paths.of_part("images", corpus, part))],
            "hashes": [result(paths.of_part("hashes", corpus, part))],
            "other_images": self.corpora.by_part(f"images/{other}", other)[:parts],
            "other_hashes": self.corpora.by_part(f"hashes/{other}", other)[:parts],
            "thresholds": self._hash_thresholds(),
            "embeddings": [result(paths.embeddings(name, corpus, part)) for name in encoders],
            "other_embeddings": [
                path
                for name in encoders
                for path in self.corpora.by_part(f"embeddings/{name}/{other}", other)[:parts]
            ],
            "encoder_thresholds": [
                result(paths.calibration_thresholds(name))
                for name in self.audit.calibrated_encoders
            ],
        }

    def _hash_thresholds(self) -> Paths:
        if self.given_distance() is not None:
            return []
        return [self.corpora.result(HASH_THRESHOLDS)]

    def part_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tars of a part of the training corpus."""
        return self.corpora.part_tars(wildcards)

    def test_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tars of a test set."""
        return self.corpora.tars([wildcards.testset])

    def train_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tars of a part of the training corpus, and of all parts before it."""
        corpus, part = wildcards.corpus, wildcards.part
        tars = self.corpora.tars([corpus])
        is_remote = self.run.is_remote(corpus)  # then there is a list of them for each part
        return tars[: 1 + (int(part) if is_remote else self.run.part_shards(corpus, part)[-1])]

    # --- synthetic worlds ------------------------------------------------------------------------

    def truths(self, wildcards: Wildcards) -> Paths:
        """Return the truth tables of the training corpus of a synthetic world."""
        tars = self.corpora.tars([wildcards.corpus])
        return [str(Path(tar).with_suffix(".truth.parquet")) for tar in tars]

    def every_copy(self, wildcards: Wildcards) -> Paths:
        """Return the copies in all parts of the test sets whose planted copies are known."""
        train = wildcards.corpus
        return [
            path
            for name in self.planted_sets
            for path in self.corpora.by_part(f"copies/{name}/{train}", train)
        ]

    def every_repeat(self, wildcards: Wildcards) -> Paths:
        """Return the repeats of all parts, if they are searched for."""
        train = wildcards.corpus
        return self.corpora.by_part(f"repeats/{train}", train) if self.audit.repeats else []

    # --- manifests -------------------------------------------------------------------------------

    def part_copies(self, wildcards: Wildcards) -> Paths:
        """Return the copies of all test sets in a part."""
        return [
            self.corpora.result(f"copies/{name}/{wildcards.corpus}/{wildcards.part}.json")
            for name in self.test_sets
        ]
