"""Give rules the files and settings of a model: its weights, vocabulary and test sets."""

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
from clipaudit.wiring.wildcards import Chosen, Paths, Setting, Wildcards, one_of

# libraries that process images for a CLIP model: their versions enter a step's key
PLUGIN_LIBRARIES = [
    "torch",
    "torchvision",
    "pillow",
]  # the same for a plug-in, besides its own libraries
CLIP_LIBRARIES = ["torch", "torchvision", "open_clip_torch", "pillow"]


class ModelFiles:
    """The files of the models, test sets and given embeddings of some settings.

    Rules use the functions of wildcards as inputs and params; in these "an encoder" is the one of
    the wildcard `encoder`, and `recipe` and `manifest` name a training run.
    """

    def __init__(self, corpora: CorpusFiles) -> None:
        """Take the settings from the corpora."""
        self.corpora = corpora
        self.run = corpora.run
        self.given = self.run.given_embeddings()
        self._asked: dict[str, set[int]] = {}  # epochs, by `recipe/manifest`
        for encoder in self.run.encoders.values():
            if encoder.model is not None and encoder.epoch is not None:
                self._asked.setdefault(encoder.model, set()).add(encoder.epoch)
        self._plugin_param = cache(plugin_param)  # jobs call it some thousand times

    # --- encoders -------------------------------------------------------------------------------

    def weights(self, wildcards: Wildcards) -> Paths:
        """Return the files that an encoder's weights come from."""
        return self.weights_of(wildcards.encoder)

    def weights_of(self, name: str) -> Paths:
        """Return the files that an encoder's weights come from; none for an open_clip tag."""
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
        """Return the BPE file of an encoder, if its architecture has its own."""
        return self.vocabulary_of(self.architecture_of(wildcards.encoder))

    def states(self, *further: Chosen | Paths | dict[str, Paths]) -> Setting:
        """Return a function that gives the states of an encoder's files, and of others."""
        return self.corpora.states(self.weights, self.vocabulary, *further)

    def vocabulary_of(self, architecture: str | None) -> Paths:
        """Return the BPE file of an architecture, if it has its own; nothing for None."""
        if architecture is None:
            return []
        return self.corpora.brought(self.run.architectures[architecture].vocabulary)

    def architecture_of(self, name: str) -> str | None:
        """Return the name of an encoder's architecture; None if its own folder has it."""
        encoder = self.run.encoders[name]
        if encoder.model:
            return self.run.recipes[encoder.model.partition("/")[0]].architecture
        return encoder.architecture

    def encoder(self, wildcards: Wildcards) -> dict[str, object]:
        """Return what determines an encoder's results."""
        return self.settings_of(wildcards.encoder)

    def settings_of(self, name: str) -> dict[str, object]:
        """Return what determines an encoder's results."""
        used, encoder = self.architecture_of(name), self.run.encoders[name]
        return {
            "encoder": encoder.model_dump(mode="json", exclude={"title"}),
            "architecture": self.definition(used) if used else None,
            **self._plugin_param("encoders", encoder.plugin),
        }

    def libraries(self, *others: str) -> Chosen:
        """Return a function that gives the libraries that affect an encoder, and `others`."""

        @cache
        def of_plugin(plugin: str) -> list[str]:
            return plugin_libraries("encoders", plugin, *PLUGIN_LIBRARIES, *others)

        def chosen(wildcards: Wildcards) -> list[str]:
            plugin = self.run.encoders[wildcards.encoder].plugin
            if plugin is None:
                return [*CLIP_LIBRARIES, *others]
            return of_plugin(plugin)

        return chosen

    def definition(self, architecture: str) -> dict[str, object]:
        """Return the settings of an architecture."""
        return self.run.architectures[architecture].model_dump(mode="json")

    def batch_size(self, wildcards: Wildcards) -> int:
        """Return the number of images in an encoder's batch."""
        return self.run.encoders[wildcards.encoder].batch_size

    # --- trainings ------------------------------------------------------------------------------

    def trained(self, model: str, epoch: int | None = None) -> str:
        """Return the pointer of a model trained here, `recipe/manifest`, at its end or earlier."""
        recipe, _, manifest = model.partition("/")
        if epoch is None or epoch == self.run.recipes[recipe].epochs:
            return self.corpora.result(paths.model(recipe, manifest))
        return self.corpora.result(paths.checkpoint(recipe, manifest, epoch))

    def kept_epochs(self, wildcards: Wildcards) -> list[int]:
        """Return the epochs after which a training run's checkpoint is kept, ascending.

        These are the epochs that encoders name, except the last one, which is the model.
        """
        model = f"{wildcards.recipe}/{wildcards.manifest}"
        last = self.run.recipes[wildcards.recipe].epochs
        return sorted(self._asked.get(model, set()) - {last})

    def asked_epochs(self) -> list[str]:
        """Return the epochs after which any training run's checkpoint is needed."""
        return sorted({str(epoch) for asked in self._asked.values() for epoch in asked})

    def start(self, wildcards: Wildcards) -> Paths:
        """Return the model that a recipe starts from, if it does."""
        start = self.run.recipes[wildcards.recipe].start_from
        return [self.trained(f"{start.recipe}/{start.manifest}")] if start else []

    def recipe_architecture(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the architecture that a recipe trains."""
        return self.definition(self.run.recipes[wildcards.recipe].architecture)

    def recipe_vocabulary(self, wildcards: Wildcards) -> Paths:
        """Return the BPE file of the architecture that a recipe trains, if it has its own."""
        return self.vocabulary_of(self.run.recipes[wildcards.recipe].architecture)

    # --- test sets ------------------------------------------------------------------------------

    def test_set_inputs(self, test_sets: Sequence[str]) -> dict[str, Paths]:
        """Return the inputs for evaluating on some test sets, besides the model."""
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
        """Return the wildcard constraint for encoders whose embeddings of the corpus are given."""
        pairs = [rf"{one_of([encoder])}(?=/{one_of([corpus])}/)" for encoder, corpus in self.given]
        return "|".join(pairs) or one_of([])

    def own_encoders(self) -> str:
        """Return the wildcard constraint for encoders that embed the corpus here."""
        return rf"(?!{self.given_encoders()})(?:{one_of(self.run.encoders)})"

    def given_arrays(self, wildcards: Wildcards) -> Paths:
        """Return the arrays of given embeddings that a part reads."""
        return self._given_files(wildcards, lambda given: given.array_files)

    def given_metadata(self, wildcards: Wildcards) -> Paths:
        """Return the metadata of given embeddings that a part reads."""
        return self._given_files(wildcards, lambda given: given.metadata_files)

    def given_join(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how rows of given embeddings are matched to samples."""
        return self._given(wildcards).model_dump(include={"array", "column", "join_on", "may_lack"})

    def checked_tars(self, wildcards: Wildcards) -> Paths:
        """Return the tars for checking a part's given embeddings; none without images."""
        return self.corpora.part_tars(wildcards) if self._is_checked(wildcards) else []

    def checked_weights(self, wildcards: Wildcards) -> Paths:
        """Return the weights for checking given embeddings, if they are files."""
        return self.weights(wildcards) if self._is_checked(wildcards) else []

    def checked_vocabulary(self, wildcards: Wildcards) -> Paths:
        """Return the BPE file that loading these weights reads, if there is one."""
        return self.vocabulary(wildcards) if self._is_checked(wildcards) else []

    def checking_encoder(self, wildcards: Wildcards) -> dict[str, object] | None:
        """Return what determines the encoder's results; None if nothing can be checked."""
        return self.encoder(wildcards) if self._is_checked(wildcards) else None

    def _is_checked(self, wildcards: Wildcards) -> bool:
        return has_pictures(self.run, wildcards.corpus)

    def _given(self, wildcards: Wildcards) -> GivenEmbeddings:
        return self.given[wildcards.encoder, wildcards.corpus]

    def _given_files(
        self, wildcards: Wildcards, files: Callable[[GivenEmbeddings], list[str]]
    ) -> Paths:
        """Return the files that a part reads: all, unless rows are joined by number."""
        given = self._given(wildcards)
        every = files(given)
        if given.join_on == "row":
            every = [every[number] for number in self.corpora.shard_numbers(wildcards)]
        return self.corpora.brought(*every)
