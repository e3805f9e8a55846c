"""The files and settings of the jobs of the memorization audit."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from clipaudit.memorization.fixed import COCO, RECORD_SETS
from clipaudit.memorization.points import (
    DEFAULT,
    TRAINED,
    PairTest,
    Point,
    default_one_model_tests,
    default_pair_tests,
    holdout_manifest,
    one_model_tests,
    pair_tests,
    records_corpus,
    seed_points,
    set_sizes,
    smaller_sizes,
    start,
)
from clipaudit.memorization.settings import GivenObjects, Memorization
from clipaudit.steps import paths
from clipaudit.wiring.models import ModelFiles
from clipaudit.wiring.plugins import (
    files_of_options,
    files_within,
    plugin_libraries,
    plugin_param,
)
from clipaudit.wiring.wildcards import Chosen, Paths, Wildcards


class MemorizationFiles:
    """The files of the memorization audit of some settings, by the wildcards of its rules."""

    def __init__(self, audit: Memorization, models: ModelFiles) -> None:
        """Derive the points, the sets and the sources."""
        self.audit, self.corpora = audit, models.corpora
        self.run = self.corpora.run
        self.seeds = seed_points(audit, self.run.recipes)
        self.points = {point.name: point for points in self.seeds for point in points}
        self._sizes = {
            point.encoder(trained): point.size
            for point in self.points.values()
            for trained in TRAINED
        }
        self._default_tests = default_pair_tests(audit, self.run.recipes)
        self.pair_tests = {
            (test.target, test.source, test.holdout): test
            for test in [*pair_tests(audit, self.run.recipes), *chain(*self._default_tests)]
        }
        known = audit, self.run.recipes, self.run.corpora, self.run.encoders
        self._default_one_model_tests = default_one_model_tests(*known)
        self.one_model_tests = {
            (test.of.target, test.of.source, test.of.holdout): test
            for test in [*one_model_tests(*known), *chain(*self._default_one_model_tests)]
        }
        self.sets = {source: set_sizes(audit, source) for source in audit.sources}
        self.shards_of_sources = {source: len(self.run.shards(source)) for source in audit.sources}
        self.with_records = [
            source for source in audit.sources if f"{source}.records" in self.run.corpora
        ]
        self.selected = [each.corpus for each in audit.selections.values()]

    # --- sets -------------------------------------------------------------------------------------

    def base(self, wildcards: Wildcards) -> Paths:
        """Return the manifest of a part that the sets of a source are drawn from."""
        source = _source(wildcards)
        found = paths.manifest(source, start(self.audit, source), wildcards.part)
        return [self.corpora.result(found)]

    def shard_numbers(self, wildcards: Wildcards) -> list[int]:
        """Return the numbers of the shards of a part of a source."""
        return self.corpora.numbers_of_part(wildcards.source, wildcards.part)

    def of_sources(self, folder: str, sources: Iterable[str], suffix: str = "") -> Paths:
        """Return the pointers of a folder, of several sources, in order."""
        found = (self.corpora.by_part(f"{folder}/{name}{suffix}", name) for name in sources)
        return [path for pointers in found for path in pointers]

    def gathered_of_sources(self, folder: str, suffix: str = "") -> Paths:
        """Return the pointers of a folder of all sources, in order, or lists of them if many."""
        folders = [f"{folder}/{source}{suffix}" for source in self.audit.sources]
        return [path for each in folders for path in self.corpora.gathered(each)]

    def drawn_embeddings(self) -> Paths:
        """Return the embeddings of all drawn samples, if near duplicates are searched for."""
        if self.audit.encoder is None:
            return []
        return self.gathered_of_sources(f"embeddings/{self.audit.encoder}", ".drawn")

    def group(self, wildcards: Wildcards) -> str:
        """Return the key that groups samples of a source: caption or uid."""
        duplicates = self.audit.sources[_source(wildcards)].duplicates
        return "caption" if duplicates == "caption" else "uid"

    def sizes(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the size of each set of a source."""
        return dict(self.audit.drawn(_source(wildcards)))

    def set_and_size(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the set that a manifest of a source holds, and its size."""
        return dict(self.sets[wildcards.corpus][wildcards.set]._asdict())

    def cut_of_set(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the further cut of a manifest of a source, if it is not of the first cut."""
        _, size, cut = self.sets[wildcards.corpus][wildcards.set]
        records = records_corpus(self.audit, wildcards.corpus, size)
        return {"cut": [self.corpora.result(paths.cut(records, cut))]} if cut else {}

    def records_corpora(self) -> list[str]:
        """Return the corpora of records of all sources, at all sizes."""
        return [
            records_corpus(self.audit, source, size)
            for source in self.with_records
            for size in [None, *self.audit.sources[source].sizes]
        ]

    def sets_to_cut(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the manifests of A, B and hold-out of a corpus of records, in the first cut."""
        source = wildcards.records.partition(".records")[0]
        found: dict[str, Paths] = {}
        for name, each in self.sets[source].items():
            own = records_corpus(self.audit, source, each.size) == wildcards.records
            if each.cut == 0 and each.set in RECORD_SETS and (own or each.set == "holdout"):
                found[f"kept_{each.set}"] = self.corpora.by_part(
                    f"manifests/{source}/{name}", source
                )
        return found

    def set_manifests(self) -> Paths:
        """Return the manifests of all sets of all sources, at their default sizes."""
        return [
            path
            for source, sets in self.sets.items()
            for name in sets
            if name == f"set-{sets[name].set}"
            for path in self.corpora.by_part(f"manifests/{source}/{name}", source)
        ]

    def smaller_sizes(self) -> list[str]:
        """Return the labels of the sizes of A and B except the largest, of all sources."""
        return [label for name in self.audit.sources for label in smaller_sizes(self.audit, name)]

    def manifests_of_size(self, wildcards: Wildcards) -> Paths:
        """Return a part's manifests of a source's A and B at a size, and of its hold-out."""
        size = smaller_sizes(self.audit, wildcards.source)[wildcards.size]
        sets = self.sets[wildcards.source].items()
        names = [name for name, found in sets if found in {("a", size, 0), ("b", size, 0)}]
        names += [name for name, _ in sets if name == "set-holdout"]
        found = [paths.manifest(wildcards.source, name, wildcards.part) for name in names]
        return [self.corpora.result(path) for path in found]

    def drawn_objects(self, wildcards: Wildcards) -> Paths:
        """Return the objects of all that is drawn from a source, by part."""
        return self.of_sources("objects", [wildcards.source], ".drawn")

    def object_counts(self) -> Paths:
        """Return the object counts of all sources, which are checked before any training.

        Without a public set no objects are needed.
        """
        if not self.audit.publics:
            return []
        return [self.corpora.result(f"object_counts/{source}.json") for source in self.sets]

    # --- models -----------------------------------------------------------------------------------

    def records(self, folder: str) -> Chosen:
        """Return a function that gives a part, in a folder, of the records of a job's encoder.

        The records are those of the size that it was trained at.
        """

        def chosen(wildcards: Wildcards) -> Paths:
            size = self._sizes.get(wildcards.encoder)  # a target has the default point's
            corpus = records_corpus(self.audit, wildcards.source, size)
            filled = folder.format(encoder=wildcards.encoder)
            return [self.corpora.result(paths.of_part(filled, corpus, wildcards.part))]

        return chosen

    def _samples_of(self, point: Point) -> Paths:
        """Return the samples of all records of a point, by source and part."""
        folders = {name: records_corpus(self.audit, name, point.size) for name in self.with_records}
        found = (self.corpora.by_part(f"samples/{name}", of) for of, name in folders.items())
        return [path for pointers in found for path in pointers]

    def point_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of a point's metrics."""
        point = self.points[wildcards.point]
        return {
            **self._recalls(point, wildcards.public),
            **{f"kept_{name}": found for name, found in self._attacked(point).items()},
            "samples": self._samples_of(point),
        }

    def ensemble_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the recalls of a point's models under all seeds, and the sets of each cut."""
        seeds = self._seeds_of(wildcards.point)
        asked = dict.fromkeys(point for pair in seeds for point in pair if point is not None)
        return {
            "recalls": [
                path
                for point in asked
                for found in self._recalls(point, wildcards.public).values()
                for path in found
            ],
            "kept": [
                path
                for point, _ in seeds
                for found in self._attacked(point).values()
                for path in found
            ],
        }

    def ensemble_models(self, wildcards: Wildcards) -> list[dict[str, object]]:
        """Return each seed's encoders, those to compare with last, and its sets by source."""
        found: list[dict[str, object]] = []
        for point, default in self._seeds_of(wildcards.point):
            pairs = [point] if default is None else [point, default]
            encoders = [pair.encoder(trained) for pair in pairs for trained in TRAINED]
            found.append({"encoders": encoders, "sets": self._sets_of(point)})
        return found

    def _seeds_of(self, name: str) -> list[tuple[Point, Point | None]]:
        """Return a point under each seed, with the default one to compare it with.

        None for the default itself, and for one with other records.
        """
        place = [point.name for point in self.seeds[0]].index(name)
        return [
            (points[place], None if place == 0 or points[place].size is not None else points[0])
            for points in self.seeds
        ]

    def example_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of the list of the most memorized records."""
        point, public = self.points[DEFAULT], wildcards.public
        return {
            **self._recalls(point, public),
            **{
                f"retrieved_{trained}": self.of_sources(
                    f"retrieved/{point.encoder(trained)}/{public}", self.with_records
                )
                for trained in TRAINED
            },
            **{f"kept_{name}": self._attacked(point)[name] for name in ("a", "holdout")},
            "samples": self._samples_of(point),
            "truths": self.of_sources("objects", self.with_records, ".drawn"),
            "public": self.corpora.by_part(f"objects/{public}.drawn", public),
            "vocabulary": self.of_sources("vocabulary", self.audit.sources, ".drawn"),
        }

    def _recalls(self, point: Point, public: str) -> dict[str, Paths]:
        """Return the recalls of both models over all records, by source and part."""
        return {
            f"recalls_{trained}": self.of_sources(
                f"recalls/{point.encoder(trained)}/{public}", self.with_records
            )
            for trained in TRAINED
        }

    def _attacked(self, point: Point) -> dict[str, Paths]:
        """Return the manifests of the records attacked at a point: A's, B's, the hold-out's."""
        return {
            name: [
                path
                for source, sets in self._sets_of(point).items()
                if name in sets
                for path in self.corpora.by_part(f"manifests/{source}/{sets[name]}", source)
            ]
            for name in RECORD_SETS
        }

    def _sets_of(self, point: Point) -> dict[str, dict[str, str]]:
        """Return the manifests of A, B and hold-out at a point, as far as there are any."""
        manifests = self.run.manifests()
        found: dict[str, dict[str, str]] = {}
        for source in self.with_records:
            named = {name: manifests[point.manifest(name)].get(source) for name in TRAINED}
            holdout = holdout_manifest(self.audit, source, point)
            named["holdout"] = holdout if holdout in self.sets[source] else None
            found[source] = {name: manifest for name, manifest in named.items() if manifest}
        return found

    # --- pairs ------------------------------------------------------------------------------------

    def pair_test_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of a model's pair test on a source and its hold-out."""
        key = wildcards.encoder, wildcards.source, wildcards.holdout
        test = self.pair_tests[key]
        models = {"target": test.target}
        models |= {} if test.reference is None else {"reference": test.reference}
        compared = list(dict.fromkeys([test.source, test.holdout]))
        found = {
            f"scores_{name}": self.of_sources(f"pair_scores/{encoder}", compared)
            for name, encoder in models.items()
        }
        if len(models) > 1:
            found |= {
                f"recalls_{name}": self.of_sources(f"recalls/{encoder}/{public}", compared)
                for name, encoder in models.items()
                for public in self.audit.publics[:1]
            }
        if self.audit.augmented:
            found["scores_augmented"] = self.of_sources(f"augmented_scores/{test.target}", compared)
        if self.audit.augmented_pictures:
            found["scores_augmented_pictures"] = self.of_sources(
                f"augmented_picture_scores/{test.target}", compared
            )
        return found | self._compared(test)

    def default_tests(self, wildcards: Wildcards) -> Paths:
        """Return the pair tests of the default models under all seeds, on a source."""
        source, holdout = wildcards.source, wildcards.holdout
        models = chain(*self.default_models(wildcards))
        found = (paths.pair_test(encoder, source, holdout) for encoder in models)
        return [self.corpora.result(path) for path in found]

    def default_models(self, wildcards: Wildcards) -> list[list[str]]:
        """Return the default models of each seed that are tested on a source."""
        asked = wildcards.source, wildcards.holdout
        return [
            [test.target for test in tests if (test.source, test.holdout) == asked]
            for tests in self._default_tests
        ]

    def one_model_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of the one-model test on a source and its hold-out."""
        test = self.one_model_tests[wildcards.encoder, wildcards.source, wildcards.holdout]
        pair, public = test.of, test.public
        folders = {
            "target": f"recalls/{pair.target}/{public}",
            "words": f"word_recalls/{pair.target}/{public}",
            "captions": f"caption_recalls/{test.captions}/{public}",
        }
        if pair.reference is not None:
            folders["model"] = f"recalls/{pair.reference}/{public}"
        compared = list(dict.fromkeys([pair.source, pair.holdout]))
        recalls = {name: self.of_sources(folder, compared) for name, folder in folders.items()}
        return recalls | self._compared(pair)

    def default_one_models(self, wildcards: Wildcards) -> Paths:
        """Return the one-model tests of the default model of A under all seeds, on a source."""
        asked = wildcards.source, wildcards.holdout
        return [
            self.corpora.result(paths.one_model(test.of.target, *asked))
            for tests in self._default_one_model_tests
            for test in tests
            if (test.of.source, test.of.holdout) == asked
        ]

    def _compared(self, test: PairTest) -> dict[str, Paths]:
        """Return the manifests of a test's members and of its hold-out."""
        held = "set-holdout"
        if test.point is not None:
            held = holdout_manifest(self.audit, test.holdout, test.point)
        return {
            "members": self.corpora.by_part(
                f"manifests/{test.source}/{self._part_of(test)}", test.source
            ),
            "holdout": self.corpora.by_part(f"manifests/{test.holdout}/{held}", test.holdout),
        }

    def _part_of(self, test: PairTest) -> str:
        """Return the manifest of a source's part of the records that a model trained on."""
        return self.run.manifests()[test.members][test.source]

    # --- objects and selections -------------------------------------------------------------------

    def names_files(self) -> Paths:
        """Return the file of the objects' names from the settings, if any."""
        names = self.audit.objects.names
        return self.corpora.brought(names if names != COCO else None)

    def given_objects(self, wildcards: Wildcards) -> Paths:
        """Return the given files with the objects of a source."""
        return self.corpora.brought(*self._given(wildcards).paths)

    def given_join(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how rows of these files find their samples."""
        return self._given(wildcards).model_dump(exclude={"files"})

    def _given(self, wildcards: Wildcards) -> GivenObjects:
        return self.audit.objects.given[wildcards.corpus.removesuffix(".drawn")]

    def detector_files(self) -> Paths:
        """Return the files of a detector that is a folder, or of a plug-in's options."""
        if self.audit.objects.plugin is not None:
            return self.corpora.brought(*files_of_options(self.audit.objects.options))
        checkpoint = self.audit.objects.checkpoint
        return files_within(checkpoint) if Path(checkpoint).is_dir() else []

    def annotator(self) -> dict[str, dict[str, str]]:
        """Return the param `plugin` of an annotator that is a plug-in."""
        return plugin_param("annotators", self.audit.objects.plugin)

    def detector_libraries(self) -> list[str]:
        """Return the libraries that a detector's results depend on."""
        plugin = self.audit.objects.plugin
        if plugin is None:
            return ["torch", "torchvision", "transformers", "pillow"]
        return plugin_libraries("annotators", plugin, "torch", "pillow")

    def selection_sets(self) -> list[dict[str, object]]:
        """Return the sets of images with candidate captions that models select from."""
        return [
            {"name": name, "corpus": each.corpus, "shards": len(self.run.shards(each.corpus))}
            for name, each in self.audit.selections.items()
        ]


def _source(wildcards: Wildcards) -> str:
    """Return the source of a job; in rules that make manifests it is the corpus."""
    source: str = getattr(wildcards, "source", "")
    return source or wildcards.corpus
