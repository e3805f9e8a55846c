"""Which files and settings belong to the jobs of the memorization audit."""

from collections.abc import Iterable
from pathlib import Path

from clipaudit.corpora.parts import expand_shards
from clipaudit.memorization.points import (
    DEFAULT,
    TRAINED,
    Point,
    seed_points,
    set_sizes,
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
from clipaudit.wiring.wildcards import Paths, Wildcards

COCO = "coco"  # names that come with us, in no file


class MemorizationFiles:
    """The files of the memorization audit of some settings, by the wildcards of its rules."""

    def __init__(self, audit: Memorization, models: ModelFiles) -> None:
        """Sort out the points, the sets and the sources."""
        self.audit, self.corpora = audit, models.corpora
        self.run = self.corpora.run
        asked = seed_points(audit, self.run.recipes).values()
        self.points = {point.name: point for points in asked for point in points}
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
        """Return the pointers of a folder of all sources, in order, or the lists of many."""
        folders = [f"{folder}/{source}{suffix}" for source in self.audit.sources]
        return [path for each in folders for path in self.corpora.gathered(each)]

    def drawn_embeddings(self) -> Paths:
        """Return the embeddings of all that is drawn, if near duplicates are to be found."""
        if self.audit.encoder is None:
            return []
        return self.gathered_of_sources(f"embeddings/{self.audit.encoder}", ".drawn")

    def group(self, wildcards: Wildcards) -> str:
        """Return what makes samples of a source one: their caption, or nothing but equality."""
        duplicates = self.audit.sources[_source(wildcards)].duplicates
        return "caption" if duplicates == "caption" else "uid"

    def sizes(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how much of a source each of its sets takes."""
        return dict(self.audit.sources[_source(wildcards)].drawn())

    def set_and_size(self, wildcards: Wildcards) -> dict[str, object]:
        """Return which set a manifest of a source holds, and how much of it."""
        name, size = self.sets[wildcards.corpus][wildcards.set]
        return {"set": name, "size": size}

    def set_manifests(self) -> Paths:
        """Return the manifests of all sets of all sources, at their default sizes."""
        return [
            path
            for source, sets in self.sets.items()
            for name in sets
            if name == f"set-{sets[name][0]}"
            for path in self.corpora.by_part(f"manifests/{source}/{name}", source)
        ]

    def drawn_objects(self, wildcards: Wildcards) -> Paths:
        """Return the objects of all that is drawn from a source, by part."""
        return self.of_sources("objects", [wildcards.source], ".drawn")

    def object_counts(self) -> Paths:
        """Return the counts of objects of all sources: no set is trained on before they hold."""
        return [self.corpora.result(f"object_counts/{source}.json") for source in self.sets]

    # --- models -----------------------------------------------------------------------------------

    def point_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return what the metrics of a point are made from."""
        point = self.points[wildcards.point]
        return {
            **self._recalls(point, wildcards.public),
            **{f"kept_{name}": found for name, found in self._attacked(point).items()},
            "samples": self.of_sources("samples", self.with_records, ".records"),
        }

    def example_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return what the list of the most memorized records is made from."""
        point, public = self.points[DEFAULT], wildcards.public
        return {
            **self._recalls(point, public),
            **{
                f"retrieved_{trained}": self.of_sources(
                    f"retrieved/{point.encoder(trained)}/{public}", self.with_records
                )
                for trained in TRAINED
            },
            "kept_a": self._attacked(point)["a"],
            "samples": self.of_sources("samples", self.with_records, ".records"),
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
        manifests = self.run.manifests()
        found = {
            trained: [
                path
                for source, name in manifests[point.manifest(trained)].items()
                for path in self.corpora.by_part(f"manifests/{source}/{name}", source)
            ]
            for trained in TRAINED
        }
        found["holdout"] = [
            path
            for source in self.audit.sources
            if "set-holdout" in self.sets[source]
            for path in self.corpora.by_part(f"manifests/{source}/set-holdout", source)
        ]
        return found

    # --- objects and selections -------------------------------------------------------------------

    def names_files(self) -> Paths:
        """Return the file of the names of the objects, if the settings bring one."""
        names = self.audit.objects.names
        return self.corpora.brought(names if names != COCO else None)

    def given_objects(self, wildcards: Wildcards) -> Paths:
        """Return the files with the objects of a source that others found."""
        return self.corpora.brought(*expand_shards(self._given(wildcards).files))

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
        """Return the param `plugin` of an annotator that is one."""
        return plugin_param("annotators", self.audit.objects.plugin)

    def detector_libraries(self) -> list[str]:
        """Return the libraries that decide what a detector finds."""
        plugin = self.audit.objects.plugin
        if plugin is None:
            return ["torch", "torchvision", "transformers", "pillow"]
        return plugin_libraries("annotators", plugin, "torch", "pillow")

    def selection_sets(self) -> list[dict[str, object]]:
        """Return the sets of pictures with candidate captions that models select from."""
        return [
            {"name": name, "corpus": each.corpus, "shards": len(self.run.shards(each.corpus))}
            for name, each in self.audit.selections.items()
        ]


def _source(wildcards: Wildcards) -> str:
    """Return the source of a job; rules that make manifests call it their corpus, as all do."""
    source: str = getattr(wildcards, "source", "")
    return source or wildcards.corpus
