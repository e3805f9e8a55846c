"""Which files belong to the wildcards of the parrot-caption audit. Nothing here computes."""

from clipaudit.config.curated import (
    HELDOUT,
    curated_sets,
    curation_settings,
    model_encoder,
    trained_models,
)

from clipaudit.reports.parrot_curated import PROBED, suite_tasks, task_result_table

PROFILED = PARROT.corpora
CURATIONS = PARROT.curations
CURATED = [*HELDOUT, *curated_sets(CURATIONS)] if CURATIONS else []
CURATED_MODELS = [model_encoder(*model) for model in trained_models(PARROT)]
VOCABULARIES = [
    f"{source}-{length}"
    for source in ("captions", "co-embedded")
    for length in PARROT.probe.lengths
]
SUITE = suite_tasks(RUN)


wildcard_constraints:
    curated=one_of(CURATED),
    vocabulary=one_of(VOCABULARIES),


# --- probes ------------------------------------------------------------------------------------


def probe_outputs(vocabularies):
    """The similarities of the grams of some vocabularies, an output each."""
    folder = f"{RESULTS}/probes/{{encoder}}/{PROFILED[0]}"
    return {name: f"{folder}/{name}.json" for name in vocabularies}


# --- curation ----------------------------------------------------------------------------------


DEBIASED = "debiased"


def asked_set(wildcards):
    """The set that a job is about; candidates are those of the debiased subset."""
    return wildcards.get("curated", DEBIASED)


def curation(wildcards):
    """What decides who is in a set."""
    return curation_settings(PARROT, asked_set(wildcards))


def held_out(wildcards):
    """What decides who is in the sets that a set leaves out; those leave out none."""
    if asked_set(wildcards) in HELDOUT:
        return []
    return [curation_settings(PARROT, name) for name in HELDOUT]


def aesthetics_field(wildcards):
    """The field of the samples' JSON with the score that a set asks for, if it does."""
    asks = curation(wildcards)["aesthetics_above"] is not None
    return CURATIONS.debiased.aesthetics_field if asks else None


def duplicate_threshold(wildcards):
    """The similarity above which samples are one, where a set is rid of repetitions."""
    asks = asked_set(wildcards) == DEBIASED and PARROT.deduplication
    return PARROT.deduplication.threshold if asks else None


def heldout_cuts(wildcards):
    """Where the held-out sets are cut, for sets that leave them out."""
    folder = f"{RESULTS}/curation_cuts/{wildcards.corpus}"
    return [f"{folder}/{each['name']}.json" for each in held_out(wildcards)]


def curation_folders(wildcards):
    """The folders whose tables a set is chosen by."""
    corpus = wildcards.corpus
    folders = {"base": f"manifests/{corpus}/all", "matches": f"matches/{corpus}"}
    if curation(wildcards)["kind"] in ("rsa", "rsc", "debiased") or held_out(wildcards):
        folders["scores"] = f"caption_scores/{PARROT.encoder}/{corpus}"
    if aesthetics_field(wildcards):
        folders["samples"] = f"samples/{corpus}"
    return folders


def curation_part(wildcards):
    """The tables of a part that a set is chosen by, and where held-out sets are cut."""
    return {
        **{
            name: f"{RESULTS}/{folder}/{wildcards.part}.json"
            for name, folder in curation_folders(wildcards).items()
        },
        "heldout": heldout_cuts(wildcards),
    }


def candidate_duplicates(wildcards):
    """How similar the debiased subset's candidates are to each other; of other sets nothing."""
    if duplicate_threshold(wildcards) is None:
        return {}
    folder = f"{RESULTS}/candidate_duplicates/{PARROT.encoder}/{wildcards.corpus}"
    groups = PARROT.deduplication.groups()
    return {"duplicates": [f"{folder}/{group}.json" for group in groups]}


def candidate_inputs(wildcards):
    """What the candidates of a part are picked by."""
    return curation_part(wildcards)


def curation_cut_inputs(wildcards):
    """What decides where a set is cut: all parts, and where the held-out sets are."""
    folders = curation_folders(wildcards)
    return {
        **{name: gathered(folder) for name, folder in folders.items()},
        "heldout": heldout_cuts(wildcards),
        **candidate_duplicates(wildcards),
    }


def curate_inputs(wildcards):
    """What the manifest of a part of a set is made from."""
    return {
        **curation_part(wildcards),
        **candidate_duplicates(wildcards),
    }


# --- tasks -------------------------------------------------------------------------------------


def suite_files(wildcards):
    """The files of the folder of a task of the suite."""
    folder = Path(SUITE[wildcards.suite_task].folder)
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def task_table(wildcards):
    """What the numbers of a model's tasks are made from."""
    return task_result_table(RUN, wildcards.encoder)


def task_result_inputs(wildcards):
    """The pointers that the numbers of a model's tasks are made from, by view name."""
    return {
        view: [f"{RESULTS}/{path}" for path in paths]
        for view, paths in task_table(wildcards).inputs.items()
    }
