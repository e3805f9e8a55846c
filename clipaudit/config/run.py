"""The settings of one run, and the checks across its sections."""

from collections.abc import Iterable
from functools import cache

from pydantic import Field, model_validator

from clipaudit.config.base import Name, Settings
from clipaudit.config.corpora import Corpus, LabelSet
from clipaudit.config.similarity import Similarity, pruned, randomly
from clipaudit.config.training import Architecture, Encoder, Recipe
from clipaudit.corpora.parts import expand_shards, part_name, parts
from clipaudit.demo.settings import World
from clipaudit.errors import ConfigError


class Run(Settings):
    """Everything that one YAML file says. Paths are relative to the folder snakemake runs in."""

    results: str = Field("results", description="folder of pointers, tables and figures")
    store: str = Field("store", description="folder of the content-addressed store")
    worlds: dict[Name, World] = Field({}, description="data that the project makes by itself")
    label_sets: dict[Name, LabelSet] = Field({}, description="classes and prompts of tasks")
    corpora: dict[Name, Corpus] = Field(min_length=1, description="lists of shards")
    architectures: dict[Name, Architecture] = Field({}, description="models to build")
    recipes: dict[Name, Recipe] = Field({}, description="how models are trained")
    encoders: dict[Name, Encoder] = Field({}, description="models that embed")
    similarity: Similarity | None = Field(None, description="the similarity audit; off when absent")

    @model_validator(mode="after")
    def _references(self) -> "Run":
        for name, corpus in self.corpora.items():
            _known(corpus.labels, self.label_sets, f"corpora.{name}.labels", "label_sets")
            _known(corpus.world, self.worlds, f"corpora.{name}.world", "worlds")
            self._check_shards(name, corpus)
        for name, recipe in self.recipes.items():
            where = f"recipes.{name}"
            self._check_architecture(recipe.architecture, where)
            if recipe.start_from is not None:
                _known(recipe.start_from.recipe, self.recipes, f"{where}.start_from", "recipes")
                start = recipe.start_from.manifest
                _known(start, self.manifests(), f"{where}.start_from", "the manifests of this run")
        for name, encoder in self.encoders.items():
            where = f"encoders.{name}"
            self._check_architecture(encoder.architecture, where)
            if encoder.model is not None:
                recipe_name, _, manifest = encoder.model.partition("/")
                _known(recipe_name, self.recipes, f"{where}.model", "recipes")
                _known(manifest, self.manifests(), f"{where}.model", "the manifests of this run")
        if self.similarity is not None:
            self._check_similarity(self.similarity)
        return self

    def _check_architecture(self, name: str | None, where: str) -> None:
        _known(name, self.architectures, f"{where}.architecture", "architectures")

    def _check_shards(self, name: str, corpus: Corpus) -> None:
        try:
            paths = self.shards(name)
        except ConfigError as error:
            raise ValueError(f"corpora.{name}.shards: {error}") from error
        if corpus.world is None:
            return
        folder = f"data/{corpus.world}/{name}/"
        for path in paths:
            if not (path.startswith(folder) and path.endswith(".tar")):
                raise ValueError(
                    f"corpora.{name}.shards: {path} is not {folder}<number>.tar, where the world "
                    f"`{corpus.world}` puts the shards of this corpus"
                )

    def _check_similarity(self, audit: Similarity) -> None:
        for key, value in {"large": audit.large, "small": audit.small}.items():
            _known(value, self.corpora, f"similarity.{key}", "corpora")
        _known(audit.encoder, self.encoders, "similarity.encoder", "encoders")
        _known(audit.recipe, self.recipes, "similarity.recipe", "recipes")
        if audit.evidence is not None:
            for name in audit.evidence.recipes:
                _known(name, self.recipes, "similarity.evidence.recipes", "recipes")
            for name in (audit.evidence.pruning, audit.evidence.reference):
                _known(name, audit.test_sets, "similarity.evidence", "similarity.test_sets")
        for name in audit.pretrained:
            _known(name, self.encoders, "similarity.pretrained", "encoders")
        for name in audit.test_sets:
            _known(name, self.corpora, "similarity.test_sets", "corpora")
            if self.corpora[name].labels is None:
                raise ValueError(f"corpora.{name}.labels: a test set needs labels")

    def shards(self, corpus: str) -> list[str]:
        """Return the paths of a corpus's shards; a shard's number is its position."""
        patterns = self.corpora[corpus].shards
        return _expanded((patterns,) if isinstance(patterns, str) else tuple(patterns))

    def parts(self, corpus: str) -> list[str]:
        """Return the names of a corpus's parts, in order."""
        return [part_name(number) for number in range(len(self._part_shards(corpus)))]

    def part_shards(self, corpus: str, part: str) -> list[int]:
        """Return the shard numbers of a part."""
        return list(self._part_shards(corpus)[int(part)])

    def _part_shards(self, corpus: str) -> list[range]:
        return parts(len(self.shards(corpus)), self.corpora[corpus].shards_per_part)

    def manifests(self) -> dict[str, dict[str, str]]:
        """Return every manifest of the run: the corpora of its rows and how each is pruned."""
        found = {name: {name: "all"} for name in self.corpora}
        audit = self.similarity
        if audit is None:
            return found
        for base in audit.bases():
            added = {audit.small: "all"} if base != audit.large else {}
            found[base] = {audit.large: "all", **added}
            for pruning in audit.prunings():
                found[pruned(base, pruning)] = {audit.large: f"{pruning}-pruned", **added}
            if audit.evidence is not None:
                drawn = f"random-as-{audit.evidence.pruning}"
                found[randomly(base, audit.evidence.pruning)] = {audit.large: drawn, **added}
        return found


@cache
def _expanded(patterns: tuple[str, ...]) -> list[str]:
    """Expand once: rules ask again for each of their files."""
    return expand_shards(patterns)


def _known(name: str | None, names: Iterable[str], where: str, room: str) -> None:
    """Refuse a reference to something that the section `room` does not have."""
    if name is not None and name not in set(names):
        listed = ", ".join(sorted(names)) or "nothing"
        raise ValueError(f"{where}: {name!r} is not among {room} ({listed})")
