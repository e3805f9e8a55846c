"""Gives the jobs of the similarity audit their files and settings."""

from collections.abc import Iterable, Sequence

from clipaudit.config.corpora import LabelMap
from clipaudit.config.training import Encoder
from clipaudit.similarity.checks import classified, evaluated
from clipaudit.similarity.prunings import Cut, Prunings, kept_searches, prunings
from clipaudit.similarity.settings import Similarity
from clipaudit.steps import paths
from clipaudit.wiring.deduplication import DeduplicationFiles
from clipaudit.wiring.models import ModelFiles
from clipaudit.wiring.wildcards import Paths, Wildcards


class SimilarityFiles:
    """The files of the similarity audit of some settings, by the wildcards of its rules."""

    def __init__(
        self, audit: Similarity, models: ModelFiles, deduplication: DeduplicationFiles
    ) -> None:
        """Find the test sets that are searched and evaluated."""
        self.audit, self.models, self.corpora = audit, models, models.corpora
        self.run = self.corpora.run
        self._deduplication = deduplication
        self.searches = kept_searches(audit)
        self.pruned = [name for name in (audit.large, audit.small) if name is not None]
        pair_tests = evaluated(self.run, [pair.test for pair in audit.pairs.values()])
        tests = evaluated(self.run, [*audit.test_sets, *audit.control_sets])
        self.evaluated = tests or pair_tests
        self.pair_test_sets = [
            name for name in dict.fromkeys(pair_tests) if name not in self.evaluated
        ]
        self.classified = classified(self.run, audit)

    # --- nearest neighbours -----------------------------------------------------------------------

    def test_embeddings(self, wildcards: Wildcards) -> Paths:
        """Return the embeddings of all test sets."""
        return self._embeddings(wildcards, self.audit.test_sets)

    def searched_embeddings(self, wildcards: Wildcards) -> Paths:
        """Return the embeddings of the test sets of a search among kept samples."""
        return self._embeddings(wildcards, self.searched_test_sets(wildcards))

    def _embeddings(self, wildcards: Wildcards, test_sets: Iterable[str]) -> Paths:
        return self.corpora.by_part_of_each(f"embeddings/{wildcards.encoder}", test_sets)

    def searched_test_sets(self, wildcards: Wildcards) -> list[str]:
        """Return the test sets of a search among kept samples."""
        return list(self.searches[wildcards.search].test_sets)

    def searched_manifest(self, wildcards: Wildcards) -> Paths:
        """Return the manifest of the part that such a search uses; a split has none."""
        corpus = wildcards.corpus
        if corpus in self.corpora.splits:
            return []
        pruning = self.searches[wildcards.search].corpora[corpus]
        return [self.corpora.result(paths.manifest(corpus, pruning, wildcards.part))]

    def gap_neighbors(self, wildcards: Wildcards) -> Paths:
        """Return the small set's neighbours: the gaps that the large set is tested against."""
        if wildcards.corpus != self.audit.large or self.audit.small is None:
            return []
        return [self.corpora.result(paths.neighbors(wildcards.encoder, self.audit.small))]

    def searched_margin(self, wildcards: Wildcards) -> float:
        """Return the lowest margin that any pruning adds to the gaps, 0 if none is lower."""
        audit = self.audit
        if wildcards.encoder != audit.encoder or audit.dose_response is None:
            return 0.0
        return min(0.0, *audit.dose_response.margins)

    # --- prunings ---------------------------------------------------------------------------------

    def gap_test_sets(self, wildcards: Wildcards) -> list[str]:
        """Return the test sets whose gaps a pruning uses."""
        pruning, made = f"{wildcards.base}.{wildcards.pruning}-pruned", self._made(wildcards)
        if pruning in made.shifted:
            return [made.shifted[pruning][0]]
        return list(made.gaps[pruning])

    def gap_margin(self, wildcards: Wildcards) -> float:
        """Return the margin that a pruning adds to these gaps."""
        pruning, made = f"{wildcards.base}.{wildcards.pruning}-pruned", self._made(wildcards)
        return made.shifted[pruning][1] if pruning in made.shifted else 0.0

    def cut_order(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the order that a cut divides."""
        cut = self._cut(wildcards)
        return {"kind": cut.order, "test_sets": list(cut.test_sets), "seed": cut.seed}

    def cut_size(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how many samples a cut removes or keeps."""
        cut = self._cut(wildcards)
        return {"removed": cut.removed, "kept": cut.kept}

    def cut_shards(self, wildcards: Wildcards) -> list[list[int]]:
        """Return the shard numbers of every part of a corpus."""
        corpus = wildcards.corpus
        return [self.run.part_shards(corpus, part) for part in self.run.parts(corpus)]

    def cut_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs that decide a cut: all parts, and the set whose size it matches."""
        corpus, like = wildcards.corpus, self._cut(wildcards).like
        return {
            "base": self.corpora.by_part(f"manifests/{corpus}/{wildcards.base}", corpus),
            "like": self.corpora.by_part(f"manifests/{corpus}/{like}", corpus) if like else [],
            **self._ordered_by(wildcards, self.run.parts(corpus)),
        }

    def pruned_at_cut_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the tables of a part that decide its order."""
        return self._ordered_by(wildcards, [wildcards.part])

    def untrained_cuts(self) -> Paths:
        """Return the manifests of cuts, such as near-pruned ones, that no model is trained on."""
        if self.audit.recipe is not None:
            return []
        large = self.audit.large
        cuts = prunings(self.audit, large).cuts
        return self.corpora.manifests_of(large, cuts)

    def _cut(self, wildcards: Wildcards) -> Cut:
        pruning = f"{wildcards.base}.{wildcards.pruning}"
        return self._made(wildcards).cuts[pruning]

    def _made(self, wildcards: Wildcards) -> Prunings:
        return prunings(self.audit, wildcards.corpus)

    def _ordered_by(self, wildcards: Wildcards, parts: Sequence[str]) -> dict[str, Paths]:
        if self._cut(wildcards).order == "semdedup":
            return {"duplicates": self._deduplication.duplicates(wildcards)}
        named = (paths.similarities(self.audit.encoder, wildcards.corpus, each) for each in parts)
        return {"similarities": [self.corpora.result(path) for path in named]}

    # --- evaluation -------------------------------------------------------------------------------

    def evaluated_weights(self, wildcards: Wildcards) -> Paths:
        """Return the files that an evaluated model's weights come from."""
        if wildcards.recipe == paths.PRETRAINED:
            return self.models.weights_of(wildcards.manifest)
        return [self.models.trained(f"{wildcards.recipe}/{wildcards.manifest}")]

    def evaluated_vocabulary(self, wildcards: Wildcards) -> Paths:
        """Return the BPE file of an evaluated model, if its architecture brings its own."""
        if wildcards.recipe == paths.PRETRAINED:
            return self.models.vocabulary_of(self.models.architecture_of(wildcards.manifest))
        return self.models.recipe_vocabulary(wildcards)

    def evaluated_model(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the settings of an evaluated model."""
        if wildcards.recipe == paths.PRETRAINED:
            return self.models.settings_of(wildcards.manifest)
        return {"encoder": None, "architecture": self.models.recipe_architecture(wildcards)}

    def evaluated_batch_size(self, wildcards: Wildcards) -> int:
        """Return how many images go through a model at once: its setting, or the default."""
        if wildcards.recipe == paths.PRETRAINED:
            return self.run.encoders[wildcards.manifest].batch_size
        default: int = Encoder.model_fields["batch_size"].default
        return default

    def predictions(self, test_sets: Iterable[str]) -> dict[str, str]:
        """Return the predictions of any model on some test sets, one output each."""
        return {
            name: self.corpora.result(paths.predictions("{recipe}", "{manifest}", name))
            for name in test_sets
        }

    def label_maps(self) -> dict[str, list[int | str] | bool]:
        """Return the label maps for testing classifiers; True for one in a file."""
        return {name: each.lines for name, each in self._label_maps().items()}

    def classes_of_classifiers(self) -> dict[str, Paths]:
        """Return the names of the classes that classifiers learned, and files of label maps."""
        assert self.audit.small is not None, "classifiers learn from the small set"
        labels = self.run.corpora[self.audit.small].labels
        assert labels is not None, "the settings' checks require labels"
        maps = [each.classes for each in self._label_maps().values()]
        return {
            "learned": self.corpora.brought(self.run.label_sets[labels].classes),
            "label_maps": self.corpora.brought(*(each for each in maps if isinstance(each, str))),
        }

    def _label_maps(self) -> dict[str, LabelMap]:
        assert self.audit.small is not None, "classifiers learn from the small set"
        learned = self.run.corpora[self.audit.small].labels
        tests = {name: self.run.corpora[name] for name in self.classified}
        return {
            name: test.label_map
            for name, test in tests.items()
            if test.label_map is not None and test.labels != learned
        }

    def classifier_weights(self, wildcards: Wildcards) -> Paths:
        """Return the file of a classifier's weights; a timm name has none."""
        if wildcards.recipe != paths.CLASSIFIER:
            return [self.models.trained(f"{wildcards.recipe}/{wildcards.manifest}")]
        return self.corpora.brought(self.run.classifiers[wildcards.manifest].checkpoint)

    def classified_model(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the settings of an evaluated classifier, trained here or elsewhere."""
        if wildcards.recipe == paths.CLASSIFIER:
            classifier = self.run.classifiers[wildcards.manifest]
            return {"classifier": classifier.model_dump(mode="json"), "recipe": None}
        recipe = self.run.supervised_recipes[wildcards.recipe]
        return {"classifier": None, "recipe": recipe.model_dump(mode="json")}

    def classified_batch_size(self, wildcards: Wildcards) -> int:
        """Return how many images go through a classifier at once."""
        if wildcards.recipe == paths.CLASSIFIER:
            return self.run.classifiers[wildcards.manifest].batch_size
        return self.run.supervised_recipes[wildcards.recipe].batch_size
