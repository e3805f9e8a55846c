"""The settings of one run, and the checks across its sections."""

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from os.path import expanduser
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model, model_validator

from clipaudit.config.audits import Audit, S, audits, plugged_audits
from clipaudit.config.base import Name, Section
from clipaudit.config.checks import (
    check_blurred,
    check_folders,
    check_maps,
    check_plugin,
    check_shards,
    check_starts,
    differ_beyond_case,
    known,
)
from clipaudit.config.corpora import Corpus, LabelSet
from clipaudit.config.deduplication import Deduplication
from clipaudit.config.embeddings import GivenEmbeddings, check_embeddings
from clipaudit.config.manifests import ALL
from clipaudit.config.pictures import check_pictures
from clipaudit.config.plugins import distribution_of, plugin_entry
from clipaudit.config.running import Limits, Remote, Report, SharedStore, Software
from clipaudit.config.supervised import Classifier, SupervisedRecipe
from clipaudit.config.training import Architecture, Encoder, Recipe
from clipaudit.config.worlds import World
from clipaudit.corpora.parts import expand_shards, part_name, parts
from clipaudit.errors import ConfigError
from clipaudit.remote.urls import is_url

_Folder = Annotated[str, AfterValidator(expanduser)]


class Settings(Section):
    """The content of one YAML file. Paths are relative to the folder snakemake runs in."""

    results: _Folder = Field(
        "results",
        min_length=1,
        description="folder of pointers, tables and figures; `~` is expanded",
    )
    store: _Folder = Field(
        "store",
        min_length=1,
        description="folder of the content-addressed store; `~` is expanded",
    )
    shared_store: SharedStore | None = Field(
        None, description="a group's store to take results from; none when absent"
    )
    worlds: dict[Name, World] = Field({}, description="synthetic data that the project makes")
    label_sets: dict[Name, LabelSet] = Field({}, description="classes and prompts of tasks")
    corpora: dict[Name, Corpus] = Field(min_length=1, description="lists of shards")
    remote: Remote = Field(Remote(), description="the cache of shards named by URL")
    architectures: dict[Name, Architecture] = Field({}, description="models to build")
    recipes: dict[Name, Recipe] = Field({}, description="how models are trained")
    encoders: dict[Name, Encoder] = Field({}, description="models that embed")
    embeddings: dict[Name, GivenEmbeddings] = Field(
        {}, description="precomputed embeddings, used instead of embedding again"
    )
    supervised_recipes: dict[Name, SupervisedRecipe] = Field(
        {}, description="how classifiers are trained on labelled corpora"
    )
    classifiers: dict[Name, Classifier] = Field(
        {}, description="classifiers from elsewhere, to evaluate"
    )
    report: Report = Field(Report(), description="the HTML report")
    software: Software = Field(
        Software(), description="the jobs' environment, if Snakemake deploys it"
    )
    limits: Limits | None = Field(None, description="limits of a run; no limits when absent")
    without_data: bool = Field(
        False,
        description="only plan: the user's files need not exist, and no step computes",
    )

    @model_validator(mode="after")
    def _references(self) -> "Settings":
        check_folders(self.results, self.store)
        if "blurred" in self.worlds:
            raise ValueError("worlds.blurred: data/blurred/ is for blurred corpora; rename it")
        for section in ("worlds", "corpora", "recipes", "supervised_recipes"):
            differ_beyond_case(getattr(self, section), section)
        differ_beyond_case([*self.encoders, *self.classifiers], "encoders and classifiers")
        for name, corpus in self.corpora.items():
            known(corpus.labels, self.label_sets, f"corpora.{name}.labels", "label_sets")
            if corpus.label_map is not None:
                where = f"corpora.{name}.label_map.to"
                known(corpus.label_map.to, self.label_sets, where, "label_sets")
            known(corpus.world, self.worlds, f"corpora.{name}.world", "worlds")
            self._check_split(name, corpus)
            check_shards(self, name, corpus)
            check_blurred(self, name, corpus)
        check_embeddings(self)
        check_maps(self)
        for audit, section in self.audits():
            audit.check(self, section)
        self.deduplications()
        for name, recipe in self.recipes.items():
            where = f"recipes.{name}"
            self._check_architecture(recipe.architecture, where)
            if recipe.start_from is not None:
                known(recipe.start_from.recipe, self.recipes, f"{where}.start_from", "recipes")
                start = recipe.start_from.manifest
                known(start, self.manifests(), f"{where}.start_from", "the manifests of this run")
        check_starts(self)
        for name, encoder in self.encoders.items():
            where = f"encoders.{name}"
            self._check_architecture(encoder.architecture, where)
            check_plugin("encoders", encoder.plugin, f"{where}.plugin")
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

    def shards(self, corpus: str) -> list[str]:
        """Return the paths of a corpus's shards; a shard's number is its position.

        They are tars or, without images, the files that list samples. A split has the shards of its
        source corpus.
        """
        return expand_shards(self.corpora[self.source(corpus)].shard_patterns)

    def is_remote(self, corpus: str) -> bool:
        """Return whether a corpus's shards, all or none, are named by URL."""
        return is_url(self.shards(corpus)[0])

    def source(self, corpus: str) -> str:
        """Return the source corpus of a split; for any other corpus, the corpus itself."""
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

    def trainings(self, encoder: str) -> list[tuple[str, str]]:
        """Return the recipes and manifests of an encoder's model and of those it starts from.

        The model's own come first. An encoder from elsewhere has none.
        """
        recipe, _, manifest = (self.encoders[encoder].model or "").partition("/")
        found: list[tuple[str, str]] = []
        while manifest and (recipe, manifest) not in found:  # `check_starts` rejects a circle
            found.append((recipe, manifest))
            start = self.recipes[recipe].start_from if recipe in self.recipes else None
            recipe, manifest = (start.recipe, start.manifest) if start else ("", "")
        return found

    def given_embeddings(self) -> dict[tuple[str, str], GivenEmbeddings]:
        """Return the precomputed embeddings, by encoder and corpus."""
        return {(given.encoder, given.corpus): given for given in self.embeddings.values()}

    def title(self, corpus: str) -> str:
        """Return a corpus's name in tables."""
        return self.corpora[corpus].title or corpus

    def manifests(self) -> dict[str, dict[str, str]]:
        """Return every manifest of the run: the corpora of its rows and how each is pruned."""
        return dict(self.members_of_manifests)  # rules call this some hundred times

    @cached_property
    def members_of_manifests(self) -> dict[str, dict[str, str]]:
        """The cached result of `manifests`."""
        whole = {name: {name: ALL} for name, each in self.corpora.items() if not each.is_split}
        for audit, section in self.audits():
            for name, members in audit.manifests(self, section).items():
                if whole.setdefault(name, members) != members:
                    taken = "corpora" if name in self.corpora else "another audit"
                    raise ValueError(
                        f"{audit.name}: it makes a manifest named {name}, a name that {taken} has "
                        "already; rename the corpus"
                    )
        return whole

    def is_drawn(self, manifest: str) -> bool:
        """Return whether a manifest is a set that an audit draws, not a pruning of a corpus."""
        return any(
            manifest in audit.manifests(self, section)
            for audit, section in self.audits()
            if audit.draws_sets
        )

    def deduplications(self) -> dict[str, tuple[Deduplication, str]]:
        """Return how each deduplicated corpus is deduplicated, and with which encoder.

        Raise ValueError if two audits need different ways: a corpus has one such manifest.
        """
        found: dict[str, tuple[Deduplication, str]] = {}
        asked: dict[str, str] = {}
        for audit, section in self.audits():
            for corpus, how in audit.deduplications(section).items():
                if found.setdefault(corpus, how) != how:
                    raise ValueError(
                        f"{corpus}: the audits {audit.name} and {asked[corpus]} both deduplicate "
                        "it; give them the same encoder and the same section `deduplication`"
                    )
                asked.setdefault(corpus, audit.name)
        return found

    def settings_of_results(self) -> str:
        """Return as JSON the settings that results depend on, without where results are made."""
        return self.model_dump_json(exclude={"shared_store", "remote", "software", "limits"})

    def with_derived(self) -> "Settings":
        """Return these settings with the corpora, recipes and encoders that audits derive.

        Their names hold a dot, which names in a settings file cannot.
        """
        corpora, recipes, encoders = dict(self.corpora), dict(self.recipes), dict(self.encoders)
        for audit, section in self.audits():
            corpora |= audit.derived_corpora(self, section)
            recipes |= audit.derived_recipes(self, section)
            encoders |= audit.derived_encoders(self, section)
        return self.model_copy(
            update={"corpora": corpora, "recipes": recipes, "encoders": encoders}
        )

    def audits(self) -> Iterator[tuple[Audit[Any], Any]]:
        """Yield the audits that are on, each with its section."""
        for audit in self.known_audits():
            section = getattr(self, audit.name, None)
            if section is not None:
                yield audit, section

    @classmethod
    def known_audits(cls) -> tuple[Audit[Any], ...]:
        """Return the audits that may have a section in these settings, on or off."""
        return audits(cls.model_fields.keys() - Settings.model_fields.keys())

    def section(self, kind: type[S]) -> S | None:
        """Return the section of an audit by the class of its settings; None if it is off."""
        return next((each for _, each in self.audits() if isinstance(each, kind)), None)


@cache
def _with_sections(plugged: frozenset[str]) -> type[Settings]:
    sections: dict[str, Any] = {
        audit.name: (
            audit.section | None,
            Field(None, description=f"{audit.title}; off when absent"),
        )
        for audit in audits(plugged)
    }
    return create_model("WholeSettings", __base__=Settings, __doc__=Settings.__doc__, **sections)


WholeSettings = _with_sections(frozenset())


def whole_settings(names: Iterable[str]) -> type[Settings]:
    """Return the model of all sections: ours, and those of the audit plug-ins among `names`.

    Raise ConfigError for a plug-in with the name of one of our settings, and as `audits` does.
    """
    plugged = frozenset(plugged_audits()).intersection(names)
    for name in sorted(plugged):
        if name in WholeSettings.model_fields or hasattr(Settings, name):
            entry = plugin_entry("audits", name)
            raise ConfigError(
                f"{entry.value} of {distribution_of(entry)}: an audit named {name!r}, which is one "
                "of clipaudit's own settings. Uninstall that distribution, or ask its authors for "
                "another name."
            )
    return _with_sections(plugged)
