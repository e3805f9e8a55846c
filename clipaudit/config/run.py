"""The settings of one run, and the checks across its sections."""

from functools import cache, cached_property

from pydantic import Field, model_validator

from clipaudit.config.base import Name, Settings
from clipaudit.config.checks import (
    check_blurred,
    check_memorization,
    check_parrot,
    check_shards,
    differ_beyond_case,
    known,
)
from clipaudit.config.corpora import Corpus, LabelSet
from clipaudit.config.curated import curated_manifests, derived_model_encoders
from clipaudit.config.embeddings import GivenEmbeddings, check_embeddings
from clipaudit.config.limits import Limits
from clipaudit.config.memorization import Memorization
from clipaudit.config.memorized import (
    derived_corpora,
    derived_encoders,
    derived_recipes,
    set_manifests,
)
from clipaudit.config.parrot import Parrot
from clipaudit.config.pictures import check_pictures
from clipaudit.config.prunings import (
    ALL,
    Prunings,
    large_prunings,
    similarity_manifests,
    small_prunings,
)
from clipaudit.config.remote import Remote
from clipaudit.config.report import Report
from clipaudit.config.sharing import SharedStore
from clipaudit.config.similarity import Deduplication, Similarity
from clipaudit.config.software import Software
from clipaudit.config.supervised import Classifier, SupervisedRecipe
from clipaudit.config.training import Architecture, Encoder, Recipe
from clipaudit.config.worlds import World
from clipaudit.corpora.parts import expand_shards, part_name, parts
from clipaudit.remote.urls import is_url


class Run(Settings):
    """Everything that one YAML file says. Paths are relative to the folder snakemake runs in."""

    results: str = Field("results", description="folder of pointers, tables and figures")
    store: str = Field("store", description="folder of the content-addressed store")
    shared_store: SharedStore | None = Field(
        None, description="a group's store, to take results from; none when absent"
    )
    worlds: dict[Name, World] = Field({}, description="data that the project makes by itself")
    label_sets: dict[Name, LabelSet] = Field({}, description="classes and prompts of tasks")
    corpora: dict[Name, Corpus] = Field(min_length=1, description="lists of shards")
    remote: Remote = Field(Remote(), description="the cache of shards that are named by URL")
    architectures: dict[Name, Architecture] = Field({}, description="models to build")
    recipes: dict[Name, Recipe] = Field({}, description="how models are trained")
    encoders: dict[Name, Encoder] = Field({}, description="models that embed")
    embeddings: dict[Name, GivenEmbeddings] = Field(
        {}, description="embeddings that others computed, taken instead of embedding again"
    )
    supervised_recipes: dict[Name, SupervisedRecipe] = Field(
        {}, description="how classifiers are trained on labelled corpora"
    )
    classifiers: dict[Name, Classifier] = Field(
        {}, description="classifiers from elsewhere, to be evaluated"
    )
    similarity: Similarity | None = Field(None, description="the similarity audit; off when absent")
    memorization: Memorization | None = Field(
        None, description="the memorization audit; off when absent"
    )
    parrot: Parrot | None = Field(None, description="the parrot-caption audit; off when absent")
    report: Report = Field(Report(), description="the report that people open")
    software: Software = Field(
        Software(), description="what jobs run with, where Snakemake deploys it"
    )
    limits: Limits | None = Field(None, description="what a run may take; no limits when absent")
    without_data: bool = Field(
        False,
        description="plan only: no file that the user brings is asked for, and no step computes",
    )

    @model_validator(mode="after")
    def _references(self) -> "Run":
        if "blurred" in self.worlds:
            raise ValueError("worlds.blurred: data/blurred/ is for blurred corpora; rename it")
        for section in ("worlds", "corpora", "recipes", "supervised_recipes"):
            differ_beyond_case(getattr(self, section), section)
        differ_beyond_case([*self.encoders, *self.classifiers], "encoders and classifiers")
        for name, corpus in self.corpora.items():
            known(corpus.labels, self.label_sets, f"corpora.{name}.labels", "label_sets")
            known(corpus.world, self.worlds, f"corpora.{name}.world", "worlds")
            self._check_split(name, corpus)
            check_shards(self, name, corpus)
            check_blurred(self, name, corpus)
        check_embeddings(self)
        if self.similarity is not None:
            self._check_similarity(self.similarity)
        if self.memorization is not None:
            check_memorization(self, self.memorization)
        if self.parrot is not None:
            check_parrot(self, self.parrot)
        for name, recipe in self.recipes.items():
            where = f"recipes.{name}"
            self._check_architecture(recipe.architecture, where)
            if recipe.start_from is not None:
                known(recipe.start_from.recipe, self.recipes, f"{where}.start_from", "recipes")
                start = recipe.start_from.manifest
                known(start, self.manifests(), f"{where}.start_from", "the manifests of this run")
        for name, encoder in self.encoders.items():
            where = f"encoders.{name}"
            self._check_architecture(encoder.architecture, where)
            if encoder.model is not None:
                recipe_name, _, manifest = encoder.model.partition("/")
                known(recipe_name, self.recipes, f"{where}.model", "recipes")
                epochs = self.recipes[recipe_name].epochs
                if encoder.epoch is not None and encoder.epoch > epochs:
                    raise ValueError(
                        f"{where}.epoch: {encoder.epoch}, but recipes.{recipe_name} trains "
                        f"{epochs} epochs; name one of them"
                    )
                known(manifest, self.manifests(), f"{where}.model", "the manifests of this run")
        check_pictures(self)
        return self

    def _check_architecture(self, name: str | None, where: str) -> None:
        known(name, self.architectures, f"{where}.architecture", "architectures")

    def _check_split(self, name: str, corpus: Corpus) -> None:
        known(corpus.of, self.corpora, f"corpora.{name}.of", "corpora")
        if corpus.of is not None and self.corpora[corpus.of].is_split:
            raise ValueError(f"corpora.{name}.of: {corpus.of} is a split itself; name its corpus")

    def _check_similarity(self, audit: Similarity) -> None:
        named = {"large": [audit.large], "small": [audit.small]}
        named |= {f"pairs.{name}": [pair.small] for name, pair in audit.pairs.items()}
        for key, names in named.items():
            for name in names:
                known(name, self.corpora, f"similarity.{key}", "corpora")
        for key, name in {"large": audit.large, "small": audit.small}.items():
            if self.corpora[name].is_split:
                raise ValueError(f"similarity.{key}: {name} is a split, which has no manifests")
        self._check_models(audit)
        self._check_test_sets(audit)
        if audit.grid is not None:
            for manifest in audit.grid:
                known(manifest, self.manifests(), "similarity.grid", "the manifests of this run")

    def _check_models(self, audit: Similarity) -> None:
        known(audit.encoder, self.encoders, "similarity.encoder", "encoders")
        known(audit.second_encoder, self.encoders, "similarity.second_encoder", "encoders")
        known(audit.recipe, self.recipes, "similarity.recipe", "recipes")
        for name in audit.evidence.recipes if audit.evidence else []:
            known(name, self.recipes, "similarity.evidence.recipes", "recipes")
        for name in audit.pretrained:
            known(name, self.encoders, "similarity.pretrained", "encoders")
        for name in audit.classifiers:
            known(name, self.classifiers, "similarity.classifiers", "classifiers")
        if audit.supervised is not None:
            recipe = audit.supervised.recipe
            known(recipe, self.supervised_recipes, "similarity.supervised", "supervised_recipes")
            if recipe in self.recipes:
                raise ValueError(f"supervised_recipes.{recipe}: is the name of a recipe, too")
        if (audit.supervised or audit.classifiers) and self.corpora[audit.small].labels is None:
            raise ValueError(f"corpora.{audit.small}.labels: classifiers need labels")

    def _check_test_sets(self, audit: Similarity) -> None:
        named = {
            "test_sets": audit.test_sets,
            "control_sets": audit.control_sets,
            "pairs": [pair.test for pair in audit.pairs.values()],
        }
        for key, names in named.items():
            for name in names:
                known(name, self.corpora, f"similarity.{key}", "corpora")
                if self.corpora[name].labels is None:
                    raise ValueError(f"corpora.{name}.labels: a test set needs labels")
        chosen = {
            "evidence": [audit.evidence.pruning, audit.evidence.reference]
            if audit.evidence
            else [],
            "near_far.queries": audit.near_far.queries if audit.near_far else [],
            "robustness": self._robustness_sets(audit),
        }
        for key, names in chosen.items():
            for name in names:
                known(name, audit.test_sets, f"similarity.{key}", "similarity.test_sets")

    def _robustness_sets(self, audit: Similarity) -> list[str]:
        robustness = audit.robustness
        if robustness is None:
            return []
        return [robustness.reference, *(name for point in robustness.points for name in point)]

    def shards(self, corpus: str) -> list[str]:
        """Return the paths of a corpus's shards; a shard's number is its position.

        They are tars or, without pictures, the files that list samples. A split has those of the
        corpus that it takes samples of.
        """
        return _expanded(self.corpora[self.source(corpus)].shard_patterns)

    def is_remote(self, corpus: str) -> bool:
        """Return whether a corpus's shards are named by URL: all of them are, or none."""
        return is_url(self.shards(corpus)[0])

    def source(self, corpus: str) -> str:
        """Return the corpus that a split takes samples of; any other corpus itself."""
        return self.corpora[corpus].of or corpus

    def parts(self, corpus: str) -> list[str]:
        """Return the names of a corpus's parts, in order."""
        return [part_name(number) for number in range(len(self._part_shards(corpus)))]

    def part_shards(self, corpus: str, part: str) -> list[int]:
        """Return the shard numbers of a part."""
        return list(self._part_shards(corpus)[int(part)])

    def _part_shards(self, corpus: str) -> list[range]:
        source = self.source(corpus)
        return parts(len(self.shards(source)), self.corpora[source].shards_per_part)

    def given_embeddings(self) -> dict[tuple[str, str], GivenEmbeddings]:
        """Return the embeddings that others computed, by encoder and corpus."""
        return {(given.encoder, given.corpus): given for given in self.embeddings.values()}

    def title(self, corpus: str) -> str:
        """Return what tables call a corpus."""
        return self.corpora[corpus].title or corpus

    def manifests(self) -> dict[str, dict[str, str]]:
        """Return every manifest of the run: the corpora of its rows and how each is pruned."""
        return dict(self.members_of_manifests)  # rules ask some hundred times

    @cached_property
    def members_of_manifests(self) -> dict[str, dict[str, str]]:
        """What `manifests` returns."""
        whole = {name: {name: ALL} for name, each in self.corpora.items() if not each.is_split}
        if self.similarity is not None:
            whole |= similarity_manifests(self.similarity)
        if self.memorization is not None:
            audit = self.memorization
            whole |= set_manifests(audit, self.recipes[audit.recipe])
        if self.parrot is not None:
            whole |= curated_manifests(self.parrot)
        return whole

    def deduplications(self) -> dict[str, tuple[Deduplication, str]]:
        """Return how each deduplicated corpus is deduplicated, and by which encoder."""
        found = {}
        if self.similarity is not None and self.similarity.deduplication is not None:
            audit = self.similarity
            found[audit.large] = (self.similarity.deduplication, audit.encoder)
        memory = self.memorization
        if memory is not None and memory.deduplication is not None and memory.encoder is not None:
            for name, source in memory.sources.items():
                if source.duplicates == "semantic":
                    found[name] = (memory.deduplication, memory.encoder)
        parrot = self.parrot
        if parrot is not None and parrot.deduplication is not None and parrot.curations is not None:
            found[parrot.curations.corpus] = (parrot.deduplication, parrot.encoder)
        return found

    def settings_of_results(self) -> str:
        """Return as JSON the settings that results depend on: not who makes them where."""
        return self.model_dump_json(exclude={"shared_store", "remote", "software", "limits"})

    def with_derived(self) -> "Run":
        """Return these settings with the corpora, recipes and encoders that audits derive.

        Their names hold a dot, which names in a settings file cannot.
        """
        corpora, recipes, encoders = self.corpora, self.recipes, self.encoders
        if self.memorization is not None:
            audit = self.memorization
            corpora = corpora | derived_corpora(audit, self.corpora)
            recipes = recipes | derived_recipes(audit, self.recipes)
            encoders = encoders | derived_encoders(audit, self.recipes)
        if self.parrot is not None:
            encoders = encoders | derived_model_encoders(self.parrot)
        return self.model_copy(
            update={"corpora": corpora, "recipes": recipes, "encoders": encoders}
        )

    def prunings(self, corpus: str) -> Prunings:
        """Return the prunings of a corpus."""
        audit = self.similarity
        if audit is None:
            return Prunings()
        made = {audit.large: large_prunings, audit.small: small_prunings}
        return made[corpus](audit) if corpus in made else Prunings()


@cache
def _expanded(patterns: tuple[str, ...]) -> list[str]:
    """Expand once: rules ask again for each of their files."""
    return expand_shards(patterns)
