"""The files and settings of the jobs of the parrot-caption audit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from clipaudit.parrot.curated import (
    HELDOUT,
    HELDOUT_SAMPLES,
    Repacking,
    curated_sets,
    curation_settings,
    model_encoder,
    repacked,
    trained_models,
)
from clipaudit.parrot.filters import FILTERED
from clipaudit.parrot.kinds import TOP
from clipaudit.parrot.reports.tasks import suite_tasks, task_result_table
from clipaudit.parrot.settings import GivenSpans, Parrot
from clipaudit.reports.specification import Relation
from clipaudit.reports.wiring import ReportFiles
from clipaudit.steps import paths
from clipaudit.wiring.models import ModelFiles
from clipaudit.wiring.plugins import files_of_options, plugin_libraries, plugin_param
from clipaudit.wiring.wildcards import Paths, Wildcards

DEBIASED = "debiased"
RAPIDOCR_SCORE = 0.8  # least score that counts: docs/evidence.md has its cost
_SCORED = ("rsa", "rsc", "debiased", *TOP)  # kinds of sets chosen by caption scores


class ParrotFiles:
    """The files of the parrot-caption audit of some settings, by the wildcards of its rules."""

    def __init__(self, audit: Parrot, models: ModelFiles, reports: ReportFiles) -> None:
        """Find the sets, the models and the vocabularies."""
        self.audit, self.corpora, self.reports = audit, models.corpora, reports
        self.run = self.corpora.run
        asked = audit.curations
        self.suite = suite_tasks(self.run)
        # the files with scores for a filter, if the settings name some
        self.given_scores = asked.filter_scores if asked and "stated" in asked.filters else None
        sets = curated_sets(asked) if asked else {}
        members = dict.fromkeys(each.members for each in sets.values())
        self.curated = [*HELDOUT, *members] if asked else []
        trained = [sets[name].members for _, name in trained_models(audit)]
        # the sets that one job curates per part, and those with a job each
        self.together = [
            name
            for name in dict.fromkeys(trained)
            if name != DEBIASED and not self._asks_samples(name) and not self._brought(name)
        ]
        self.apart = [n for n in self.curated if n not in (*self.together, *HELDOUT)]
        shards = len(self.run.shards(asked.corpus)) if asked else 0
        self.repacked = repacked(audit, shards=shards)
        self.curated_models = [model_encoder(*model) for model in trained_models(audit)]
        self.vocabularies = [
            f"{source}-{length}" for source in audit.probe.sources for length in audit.probe.lengths
        ]
        self.profiled = audit.corpora[0]  # its images are clustered and its words probed
        self.made = [name for name in audit.corpora if self.run.corpora[name].world]

    # --- spotting ---------------------------------------------------------------------------------

    def spotter(self) -> dict[str, dict[str, str]]:
        """Return the param `plugin` of a spotter that is a plug-in."""
        return plugin_param("spotters", self.audit.spotting.plugin)

    def spotter_files(self) -> Paths:
        """Return the files that a plug-in's options name."""
        return self.corpora.brought(*files_of_options(self.audit.spotting.options))

    def spotter_libraries(self, _: Wildcards, resources: Mapping[str, object]) -> list[str]:
        """Return the libraries that a spotter's results depend on, torch's only on a GPU."""
        plugin = self.audit.spotting.plugin
        if plugin is None:
            network = "torch" if resources.get("gpu") else "onnxruntime"
            return ["rapidocr", network, "opencv-python-headless", "pillow"]
        return plugin_libraries("spotters", plugin, "pillow")

    def given_spans(self, wildcards: Wildcards) -> Paths:
        """Return the given files with the spotted text of a corpus."""
        return self.corpora.brought(*self._given(wildcards).paths)

    def given_join(self, wildcards: Wildcards) -> dict[str, object]:
        """Return how rows of these files find their samples."""
        return self._given(wildcards).model_dump(include={"column", "join_on"})

    def given_absence(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the meaning of an image without a row in these files."""
        return self._given(wildcards).model_dump(include={"absent", "may_lack"})

    def _given(self, wildcards: Wildcards) -> GivenSpans:
        return self.audit.spotting.given[wildcards.corpus]

    def caption_scripts(self, wildcards: Wildcards) -> Paths:
        """Return the scripts of a corpus's captions, if these decide which letters count."""
        if self.audit.text.scripts is not None:
            return []
        return [self.corpora.result(f"caption_scripts/{wildcards.corpus}.json")]

    def counted_text(self) -> dict[str, object]:
        """Return what counts as text, as fields of `clipaudit.parrot.counted_text.Counted`."""
        asked, by_rapidocr = self.audit.text, self.audit.spotting.spotter == "rapidocr"
        score = asked.score if asked.score is not None else RAPIDOCR_SCORE * by_rapidocr
        scripts = asked.scripts or []
        return {**asked.model_dump(mode="json"), "score": score, "scripts": scripts}

    def checked_file(self, wildcards: Wildcards) -> Paths:
        """Return the file that says which images of a corpus show text."""
        return self.corpora.brought(self.audit.checked[wildcards.corpus])

    # --- probes -----------------------------------------------------------------------------------

    def grams(self, vocabularies: Iterable[str]) -> Paths:
        """Return some vocabularies of the corpus that is profiled."""
        found = (paths.vocabulary(self.profiled, name) for name in vocabularies)
        return [self.corpora.result(path) for path in found]

    def part_grams(self, wildcards: Wildcards) -> Paths:
        """Return the grams of a vocabulary, counted by part."""
        corpus = wildcards.corpus
        return self.corpora.by_part(f"grams/{corpus}/{wildcards.vocabulary}", corpus)

    def probe_outputs(self, vocabularies: Iterable[str]) -> dict[str, str]:
        """Return the similarities of the grams of some vocabularies, one output each."""
        return {
            name: self.corpora.result(paths.probe("{encoder}", self.profiled, name))
            for name in vocabularies
        }

    def gram_source(self, wildcards: Wildcards) -> str:
        """Return the source in which the grams of a vocabulary are counted."""
        return wildcards.vocabulary.rpartition("-")[0]

    def gram_length(self, wildcards: Wildcards) -> int:
        """Return the number of words in a gram of a vocabulary."""
        return int(wildcards.vocabulary.rpartition("-")[2])

    def given_vocabulary(self) -> Paths:
        """Return the file of grams named in the settings, if any."""
        return self.corpora.brought(self.audit.probe.vocabulary)

    def font(self) -> Paths:
        """Return the font for rendering texts named in the settings, if any."""
        return self.corpora.brought(self.audit.probe.font)

    # --- curation: of the set `curated`, or of the candidates of the debiased subset --------------

    def curation(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the criterion of a set."""
        return curation_settings(self.audit, _curated(wildcards))

    def one_curation(self, wildcards: Wildcards) -> dict[str, object]:
        """Return the criterion of a set by the output that is its manifest."""
        return {"manifest": self.curation(wildcards)}

    def curations_of(self, sets: Iterable[str]) -> dict[str, object]:
        """Return the criteria of some sets."""
        return {name: curation_settings(self.audit, name) for name in sets}

    def manifests_of(self, sets: Iterable[str]) -> dict[str, str]:
        """Return the manifests of some sets of a part, one output each."""
        found = ((name, paths.manifest("{corpus}", name, "{part}")) for name in sets)
        return {name: self.corpora.result(path) for name, path in found}

    def held_out(self, wildcards: Wildcards) -> list[dict[str, object]]:
        """Return the criteria of the held-out sets; a held-out set itself leaves out none."""
        return [] if _curated(wildcards) in HELDOUT else self.all_held_out()

    def all_held_out(self) -> list[dict[str, object]]:
        """Return the criteria of the held-out sets."""
        return [curation_settings(self.audit, name) for name in HELDOUT]

    def aesthetics_field(self, wildcards: Wildcards) -> str | None:
        """Return the field of the samples' JSON with the number that a set needs, if any."""
        return self._aesthetics_field(_curated(wildcards))

    def _aesthetics_field(self, curated: str) -> str | None:
        asked, settings = self.audit.curations, curation_settings(self.audit, curated)
        if asked is not None and settings["kind"] == "top-stated":
            return asked.filter_field  # None: files have the scores
        if settings["aesthetics_above"] is None:
            return None
        return asked.debiased.aesthetics_field if asked and asked.debiased else None

    def _asks_samples(self, curated: str) -> bool:
        kind = curation_settings(self.audit, curated)["kind"]
        return kind in FILTERED or self._aesthetics_field(curated) is not None

    def duplicate_threshold(self, wildcards: Wildcards) -> float | None:
        """Return the similarity above which samples are duplicates, if a set removes these."""
        if wildcards.curated != DEBIASED or self.audit.deduplication is None:
            return None
        return self.audit.deduplication.threshold

    def cut_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of a set's cut: all parts, and the cuts of held-out sets."""
        curated, corpus = wildcards.curated, wildcards.corpus
        folders = self._folders(curated, corpus)
        return {
            **{name: self.corpora.gathered(folder) for name, folder in folders.items()},
            "heldout": self._heldout_cuts(curated, corpus),
            **self._candidate_duplicates(curated, corpus),
            **self._brought(curated),
        }

    def curate_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of the manifest of a part of a set."""
        duplicates = self._candidate_duplicates(wildcards.curated, wildcards.corpus)
        return {**self.candidate_inputs(wildcards), **duplicates}

    def inputs_of(self, sets: Sequence[str]) -> Callable[[Wildcards], dict[str, Paths]]:
        """Return a function that gives the inputs of the manifests of some sets of a part.

        The last set must need every table that the others need.
        """

        def inputs(wildcards: Wildcards) -> dict[str, Paths]:
            corpus = wildcards.corpus
            cuts = ((f"{name}_cut", paths.curation_cut(corpus, name)) for name in sets)
            return {
                **self._picked_by(sets[-1], corpus, wildcards.part),
                **{name: [self.corpora.result(path)] for name, path in cuts},
            }

        return inputs

    def candidate_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs that a part of a set is picked by, without duplicates."""
        return self._picked_by(_curated(wildcards), wildcards.corpus, wildcards.part)

    def _picked_by(self, curated: str, corpus: str, part: str) -> dict[str, Paths]:
        return {
            **{
                name: [self.corpora.result(f"{folder}/{part}.json")]
                for name, folder in self._folders(curated, corpus).items()
            },
            "heldout": self._heldout_cuts(curated, corpus),
            **self._brought(curated),
        }

    def _brought(self, curated: str) -> dict[str, Paths]:
        """Return the user's inputs for a set: words, or scores once they are sorted."""
        asked, kind = self.audit.curations, curation_settings(self.audit, curated)["kind"]
        if asked is not None and kind == "text":
            return {"words": self.corpora.brought(asked.filter_words)}
        if asked is not None and kind == "top-stated" and self.given_scores is not None:
            return {"given_scores": [self.corpora.result(f"given_scores/{asked.corpus}.json")]}
        return {}

    def _folders(self, curated: str, corpus: str) -> dict[str, str]:
        """Return the folders of the tables that a set is chosen by."""
        folders = {"base": f"manifests/{corpus}/all", "matches": f"matches/{corpus}"}
        kind = curation_settings(self.audit, curated)["kind"]
        if kind in _SCORED or curated not in HELDOUT:
            folders["scores"] = f"caption_scores/{self.audit.scorer}/{corpus}"
        if self._asks_samples(curated):
            folders["samples"] = f"samples/{corpus}"
        return folders

    def _heldout_cuts(self, curated: str, corpus: str) -> Paths:
        """Return the cuts of the held-out sets, for sets that leave them out."""
        if curated in HELDOUT:
            return []
        return [self.corpora.result(paths.curation_cut(corpus, name)) for name in HELDOUT]

    def _candidate_duplicates(self, curated: str, corpus: str) -> dict[str, Paths]:
        """Return the similarities of the debiased subset's candidates; none for other sets."""
        if curated != DEBIASED or self.audit.deduplication is None:
            return {}
        folder = f"candidate_duplicates/{self.audit.scorer}/{corpus}"
        groups = self.audit.duplicate_groups(len(self.run.parts(corpus)))
        return {"duplicates": [self.corpora.result(f"{folder}/{each}.json") for each in groups]}

    def duplicate_group(self, wildcards: Wildcards) -> list[int]:
        """Return the number of a group of clusters, and the number of groups."""
        groups = self.audit.duplicate_groups(len(self.run.parts(wildcards.corpus)))
        return [int(wildcards.group), len(groups)]

    # --- repacked sets ----------------------------------------------------------------------------

    def collected_manifests(self, wildcards: Wildcards) -> Paths:
        """Return the manifests of a part of all repacked sets."""
        sets = dict.fromkeys(name for each in self.repacked.values() for name in each.members)
        found = (paths.manifest(wildcards.corpus, name, wildcards.part) for name in sets)
        return [self.corpora.result(path) for path in found]

    def repack_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of repacking a set: all parts, with its manifests."""
        corpus, members = self._curated_corpus(), self.repacking(wildcards).members
        manifests = (self.corpora.gathered(f"manifests/{corpus}/{name}") for name in members)
        folders = ("collected", "collected_places", "collected_spans")
        return {
            **{name: self.corpora.gathered(f"{name}/{corpus}") for name in folders},
            "manifests": list(chain.from_iterable(manifests)),
            "classes": self.corpora.classes_of(corpus),
        }

    def repacking(self, wildcards: Wildcards) -> Repacking:
        """Return the contents of a repacked manifest."""
        return self.repacked[wildcards.manifest]

    def repacked_members(self, wildcards: Wildcards) -> list[str]:
        """Return the sets whose samples a repacked manifest has."""
        return list(self.repacking(wildcards).members)

    def repacked_control(self, wildcards: Wildcards) -> str | None:
        """Return the change made to the samples of a repacked manifest."""
        return self.repacking(wildcards).control

    def repack_libraries(self, wildcards: Wildcards) -> list[str]:
        """Return the libraries that decide the bytes of a repacked manifest."""
        erased = self.repacking(wildcards).control == "erased"
        return ["opencv-python-headless", "pillow"] if erased else []

    def repacked_erasing(self, wildcards: Wildcards) -> dict[str, object] | None:
        """Return the parameters of erasing text, if text is erased."""
        if self.repacking(wildcards).control != "erased":
            return None
        return self.audit.erasing.model_dump(mode="json", exclude={"seed"})

    def repacked_captioning(self) -> dict[str, object]:
        """Return the source of the captions of the corpus of all sets."""
        return self.corpora.captioning_of(self._curated_corpus())

    def heldout_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the tables of the samples held out of the sets of a corpus."""
        folders = {"samples": "heldout", "spans": "heldout_spans", "matches": "heldout_matches"}
        found = {
            name: self.corpora.gathered(f"{folder}/{wildcards.corpus}")
            for name, folder in folders.items()
        }
        sealed = self.corpora.result(f"sealed/{HELDOUT_SAMPLES}.json")
        sources = self.corpora.result(paths.repacked(HELDOUT_SAMPLES))
        return {**found, "sealed": [sealed], "sources": [sources]}

    def _curated_corpus(self) -> str:
        assert self.audit.curations is not None, "sets are of a corpus"
        return self.audit.curations.corpus

    # --- typographic attack -----------------------------------------------------------------------

    def attacked(self) -> dict[str, str]:
        """Return a model's predictions on each attacked test set, one output each."""
        assert self.audit.attack is not None, "the rule is there with the setting"
        names = self.audit.attack.all_test_sets
        return {name: self.corpora.result(paths.attacked("{encoder}", name)) for name in names}

    # --- retrieval --------------------------------------------------------------------------------

    def several_captions(self, wildcards: Wildcards) -> bool:
        """Return whether the images of a corpus have several captions each."""
        return self.run.corpora[self.run.source(wildcards.corpus)].captions == "texts"

    # --- tasks of models --------------------------------------------------------------------------

    def suite_task(self, wildcards: Wildcards) -> str:
        """Return DataComp's name of a task of the suite."""
        return self.suite[wildcards.suite_task].task

    def suite_folder(self, wildcards: Wildcards) -> str:
        """Return the folder of a task of the suite."""
        return self.suite[wildcards.suite_task].folder

    def suite_files(self, wildcards: Wildcards) -> Paths:
        """Return the files in the folder of a task of the suite and below."""
        below = Path(self.suite_folder(wildcards)).rglob("*")
        return sorted(str(path) for path in below if path.is_file())

    def task_result_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the inputs of a model's task results, by view name."""
        return self.reports.pointers(task_result_table(self.run, wildcards.encoder).inputs)

    def task_result_relations(self, wildcards: Wildcards) -> Mapping[str, Relation]:
        """Return the tasks of a model's results."""
        return task_result_table(self.run, wildcards.encoder).relations


def _curated(wildcards: Wildcards) -> str:
    """Return the set of a job; for rules that name none, the debiased subset."""
    curated: str = getattr(wildcards, "curated", DEBIASED)
    return curated
