"""Which files and settings belong to a model: its weights, its vocabulary, what it is tested on."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from clipaudit.config.embeddings import GivenEmbeddings
from clipaudit.config.pictures import has_pictures
from clipaudit.steps import paths
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.plugins import (
    files_of_options,
    files_within,
    plugin_libraries,
    plugin_param,
)
from clipaudit.wiring.wildcards import Chosen, Paths, Wildcards, one_of

# what pictures go through on their way through a CLIP model: versions enter a step's key
PLUGIN_LIBRARIES = ["torch", "torchvision", "pillow"]  # and through a plug-in, beside its own
CLIP_LIBRARIES = ["torch", "torchvision", "open_clip_torch", "pillow"]


class ModelFiles:
    """The files of the models, test sets and given embeddings of some settings.

    Functions of wildcards are what rules name as inputs and params; "an encoder" there is that of
    the wildcard `encoder`, a training's names are `recipe` and `manifest`.
    """

    def __init__(self, corpora: CorpusFiles) -> None:
        """Keep the settings at hand."""
        self.corpora = corpora
        self.run = corpora.run
        self.given = self.run.given_embeddings()
        self._asked: dict[str, set[int]] = {}  # epochs, by `recipe/manifest`
        for encoder in self.run.encoders.values():
            if encoder.model is not None and encoder.epoch is not None:
                self._asked.setdefault(encoder.model, set()).add(encoder.epoch)
        self._plugin_param = cache(plugin_param)  # jobs ask some thousand times

    # --- encoders -------------------------------------------------------------------------------

    def weights(self, wildcards: Wildcards) -> Paths:
        """Return the files that an encoder's weights come from."""
        return self.weights_of(wildcards.encoder)

    def weights_of(self, name: str) -> Paths:
        """Return the files that an encoder's weights come from; a tag of open_clip's names none."""
        encoder = self.run.encoders[name]
        if encoder.model:
            return [self.trained(encoder.model, encoder.epoch)]
        if encoder.plugin:
            return [] if self.run.without_data else files_of_options(encoder.options)
        if encoder.directory:
            return [] if self.run.without_data else files_within(encoder.directory)
        given = encoder.pretrained
        return [given] if given and Path(given).is_file() else []

    def vocabulary(self, wildcards: Wildcards) -> Paths:
        """Return the BPE file of an encoder, if its architecture brings its own."""
        return self.vocabulary_of(self.architecture_of(wildcards.encoder))

    def vocabulary_of(self, architecture: str | None) -> Paths:
        """Return the BPE file of an architecture, if it brings its own; of none, nothing."""
        if architecture is None:
            return []
        return self.corpora.brought(self.run.architectures[architecture].vocabulary)

    def architecture_of(self, name: str) -> str | None:
        """Return the name of an encoder's architecture; None where its own folder says it."""
        encoder = self.run.encoders[name]
        if encoder.model:
            return self.run.recipes[encoder.model.partition("/")[0]].architecture
        return encoder.architecture

    def encoder(self, wildcards: Wildcards) -> dict[str, object]:
        """Return what decides what an encoder computes."""
        return self.settings_of(wildcards.encoder)

    def settings_of(self, name: str) -> dict[str, object]:
        """Return what decides what an encoder computes."""
        used, encoder = self.architecture_of(name), self.run.encoders[name]
        return {
            "encoder": encoder.model_dump(mode="json"),
            "architecture": self.definition(used) if used else None,
            **self._plugin_param("encoders", encoder.plugin),
        }

    def libraries(self, *others: str) -> Chosen:
        """Return what gives the libraries that an encoder's numbers depend on, and `others`."""

        def chosen(wildcards: Wildcards) -> list[str]:
            plugin = self.run.encoders[wildcards.encoder].plugin
            if plugin is None:
                return [*CLIP_LIBRARIES, *others]
            return plugin_libraries("encoders", plugin, *PLUGIN_LIBRARIES, *others)

        return chosen

    def definition(self, architecture: str) -> dict[str, object]:
        """Return the settings of an architecture."""
        return self.run.architectures[architecture].model_dump(mode="json")

    def batch_size(self, wildcards: Wildcards) -> int:
        """Return how many images go through an encoder at once."""
        return self.run.encoders[wildcards.encoder].batch_size

    # --- trainings ------------------------------------------------------------------------------

    def trained(self, model: str, epoch: int | None = None) -> str:
        """Return the pointer of a model trained here, `recipe/manifest`, at its end or earlier."""
        recipe, _, manifest = model.partition("/")
        if epoch is None or epoch == self.run.recipes[recipe].epochs:
            return self.corpora.result(paths.model(recipe, manifest))
        return self.corpora.result(paths.checkpoint(recipe, manifest, epoch))

    def kept_epochs(self, wildcards: Wildcards) -> list[int]:
        """Return after how many epochs of a training its checkpoint is kept, ascending.

        Those that an encoder names, but for the last: that is the model.
        """
        model = f"{wildcards.recipe}/{wildcards.manifest}"
        last = self.run.recipes[wildcards.recipe].epochs
        return sorted(self._asked.get(model, set()) - {last})

    def asked_epochs(self) -> list[str]:
        """Return after how many epochs some training's checkpoint is asked for."""
        return sorted({str(epoch) for asked in self._asked.values() for epoch in asked})

    def start(self, wildcards: Wildcards) -> Paths:
        """Return the model that a recipe starts from, if it does."""
        start = self.run.recipes[wildcards.recipe].start_from
        return [self.trained(f"{start.recipe}/{start.manifest}")] if start else []

    def recipe_architecture(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the architecture that a recipe trains."""
        return self.definition(self.run.recipes[wildcards.recipe].architecture)

    def recipe_vocabulary(self, wildcards: Wildcards) -> Paths:
        """Return the BPE file of the architecture that a recipe trains, if it brings its own."""
        return self.vocabulary_of(self.run.recipes[wildcards.recipe].architecture)

    # --- test sets ------------------------------------------------------------------------------

    def test_set_inputs(self, test_sets: Sequence[str]) -> dict[str, Paths]:
        """Return what evaluating on some test sets reads, besides the model."""
        classes = [self.run.label_sets[name].classes for name in self.label_sets(test_sets)]
        return {
            "tars": self.corpora.tars(test_sets),
            "samples": self.corpora.by_part_of_each("samples", test_sets),
            "classes": self.corpora.brought(*classes),
        }

    def label_sets(self, test_sets: Sequence[str]) -> list[str]:
        """Return the names of the label sets of some test sets, each once."""
        named = (self.run.corpora[test_set].labels for test_set in test_sets)
        return sorted({labels for labels in named if labels is not None})

    def zero_shot_tasks(self, test_sets: Sequence[str]) -> dict[str, dict[str, object]]:
        """Return the prompts and classes of some test sets."""
        return {test_set: self._zero_shot_task(test_set) for test_set in test_sets}

    def _zero_shot_task(self, test_set: str) -> dict[str, object]:
        corpus = self.run.corpora[test_set]
        assert corpus.labels is not None, "the settings' checks ask for labels"
        return {
            "shards": len(self.run.shards(test_set)),
            "label_set": corpus.labels,
            "templates": self.run.label_sets[corpus.labels].templates,
            "classes": corpus.classes,
        }

    # --- given embeddings -----------------------------------------------------------------------

    def given_encoders(self) -> str:
        """Return a constraint: encoders before a corpus whose embeddings by them are given."""
        pairs = [rf"{one_of([encoder])}(?=/{one_of([corpus])}/)" for encoder, corpus in self.given]
        return "|".join(pairs) or one_of([])

    def own_encoders(self) -> str:
        """Return a constraint: encoders before a corpus that we embed by them."""
        return rf"(?!{self.given_encoders()})(?:{one_of(self.run.encoders)})"

    def given_arrays(self, wildcards: Wildcards) -> Paths:
        """Return the arrays of given embeddings that a part reads."""
        return self._given_files(wildcards, lambda given: given.array_files)

    def given_metadata(self, wildcards: Wildcards) -> Paths:
        """Return the metadata of given embeddings that a part reads."""
        return self._given_files(wildcards, lambda given: given.metadata_files)

    def given_join(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how rows of given embeddings find their samples."""
        return self._given(wildcards).model_dump(include={"array", "column", "join_on", "may_lack"})

    def checked_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tars of a part whose given embeddings are checked; without images none."""
        return self.corpora.part_tars(wildcards) if self._is_checked(wildcards) else []

    def checked_weights(self, wildcards: Wildcards) -> Paths:
        """Return the weights that given embeddings are checked by, if they are files."""
        return self.weights(wildcards) if self._is_checked(wildcards) else []

    def checked_vocabulary(self, wildcards: Wildcards) -> Paths:
        """Return the BPE file that loading these weights reads, if there is one."""
        return self.vocabulary(wildcards) if self._is_checked(wildcards) else []

    def checking_encoder(self, wildcards: Wildcards) -> dict[str, object] | None:
        """Return what decides what the encoder computes; None where nothing can be checked."""
        return self.encoder(wildcards) if self._is_checked(wildcards) else None

    def _is_checked(self, wildcards: Wildcards) -> bool:
        return has_pictures(self.run, wildcards.corpus)

    def _given(self, wildcards: Wildcards) -> GivenEmbeddings:
        return self.given[wildcards.encoder, wildcards.corpus]

    def _given_files(
        self, wildcards: Wildcards, files: Callable[[GivenEmbeddings], list[str]]
    ) -> Paths:
        """Return those of some files that a part reads: all, unless rows tell."""
        given = self._given(wildcards)
        every = files(given)
        if given.join_on == "row":
            every = [every[number] for number in self.corpora.shard_numbers(wildcards)]
        return self.corpora.brought(*every)
