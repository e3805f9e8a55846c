"""Settings, and the functions that rules share: which files belong to a wildcard.

Nothing here computes; every name below is a list of paths or a slice of the settings.
"""

import re
from pathlib import Path

from clipaudit.config.loading import (
    check_files,
    extended,
    parse_settings,
    read_settings,
)
from clipaudit.config.pictures import left_out, pictured, require_pictures
from clipaudit.config.training import Encoder
from clipaudit.errors import ClipauditError
from clipaudit.steps.allowance import name_run
from clipaudit.runs.start import refuse_excess_of
from clipaudit.steps.workflow import code, stop_with

DEFAULT_SETTINGS = Path("config/demo.yaml")

try:
    if "corpora" not in config:  # no --configfile, or only single values by --config
        config.setdefault("extends", str(DEFAULT_SETTINGS))
    whole = extended(config)
    config.clear()
    config.update(whole)
    for path in workflow.configfiles:  # Snakemake's own reader lets a key stand twice
        read_settings(Path(path))
    RUN = parse_settings(config)
    check_files(RUN)
except ClipauditError as error:
    stop_with(error)

RESULTS = config["results"] = RUN.results
STORE = config["store"] = RUN.store
config["remote"] = RUN.remote.model_dump(mode="json")
config["shared_store"] = RUN.shared_store and RUN.shared_store.model_dump()
config["limits"] = RUN.limits and RUN.limits.model_dump()
name_run()
AUDIT = RUN.similarity
MEMORY = RUN.memorization
PARROT = RUN.parrot
SPLITS = [name for name, corpus in RUN.corpora.items() if corpus.where is not None]
DRAWN = [name for name, corpus in RUN.corpora.items() if corpus.sets is not None]
LISTED = [name for name, corpus in RUN.corpora.items() if corpus.metadata is not None]
INDEXED = [name for name in RUN.corpora if name not in SPLITS + DRAWN + LISTED]
BLURRED = {
    name: corpus.blurred for name, corpus in RUN.corpora.items() if corpus.blurred
}


DEDUPLICATIONS = RUN.deduplications()
GIVEN = RUN.given_embeddings()
ENVIRONMENT = f"../envs/{RUN.software.environment}.yaml"
MADE = (*(f"data/{world}/" for world in RUN.worlds), "data/blurred/")

# what pictures go through on their way through a CLIP model: versions enter a step's key
CLIP_LIBRARIES = ["torch", "torchvision", "open_clip_torch", "pillow"]


def brought(*paths):
    """Files that the user brings; only those that are made here where data is absent."""
    named = [path for path in paths if path]
    return (
        [path for path in named if path.startswith(MADE)] if RUN.without_data else named
    )


def one_of(names):
    """A wildcard constraint: exactly one of these names; of none, nothing matches."""
    return "|".join(re.escape(name) for name in names) or r"(?!)"


def given_encoders():
    """A wildcard constraint: encoders before a corpus whose embeddings by them others computed."""
    pairs = [
        rf"{re.escape(encoder)}(?=/{re.escape(corpus)}/)" for encoder, corpus in GIVEN
    ]
    return "|".join(pairs) or one_of([])


def own_encoders():
    """A wildcard constraint: encoders before a corpus that we embed by them."""
    return rf"(?!{given_encoders()})(?:{one_of(RUN.encoders)})"


if RUN.software.container is not None:

    container: RUN.software.container


wildcard_constraints:
    corpus=one_of(RUN.corpora),
    base="all|deduplicated",
    search="[^/.]+",
    group=r"\d{5}",
    figure=r"[A-Za-z0-9_-]+",
    encoder=one_of(RUN.encoders),
    recipe="[^/]+",
    manifest="[^/]+",
    pruning="[^/.]+",
    part=r"\d{5}",
    shard=r"\d+",
    table=r"[a-z0-9_]+",


# --- what jobs ask for -------------------------------------------------------------------------


def memory(gigabytes):
    """The `mem_mb` of a rule, for clusters: as much again at each further attempt.

    Amounts are for the papers' scale; other rules ask for what the profile says.
    """

    def megabytes(wildcards, attempt):
        return 1000 * gigabytes * attempt

    return megabytes


# --- models ------------------------------------------------------------------------------------


def trained(model, epoch=None):
    """The pointer of a model of this workflow, named `recipe/manifest`, at its end or earlier."""
    if epoch is None or epoch == RUN.recipes[model.partition("/")[0]].epochs:
        return f"{RESULTS}/models/{model}.json"
    return f"{RESULTS}/checkpoints/{model}/{epoch}.json"


def architecture(name):
    """The settings of an architecture."""
    return RUN.architectures[name].model_dump(mode="json")


def vocabulary_file(name):
    """The BPE file of an architecture, if it brings its own."""
    return brought(RUN.architectures[name].vocabulary) if name else []


def encoder_architecture(name):
    """The name of the architecture of an encoder; None where its own folder says it."""
    encoder = RUN.encoders[name]
    if encoder.model:
        return RUN.recipes[encoder.model.partition("/")[0]].architecture
    return encoder.architecture


def encoder_files(name):
    """The files that an encoder's weights come from; a tag of open_clip's names none."""
    encoder = RUN.encoders[name]
    if encoder.model:
        return [trained(encoder.model, encoder.epoch)]
    if encoder.directory and RUN.without_data:
        return []
    if encoder.directory:
        return sorted(
            str(path) for path in Path(encoder.directory).iterdir() if path.is_file()
        )
    return [encoder.pretrained] if Path(encoder.pretrained).is_file() else []


def encoder_settings(name):
    """The slice of the settings that decides what an encoder computes."""
    used = encoder_architecture(name)
    return {
        "encoder": RUN.encoders[name].model_dump(mode="json"),
        "architecture": architecture(used) if used else None,
    }


def given_embeddings(wildcards):
    """The embeddings that others computed of a corpus by an encoder."""
    return GIVEN[wildcards.encoder, wildcards.corpus]


def given_files(wildcards, files):
    """Those of some files of given embeddings that a part reads: all, unless rows tell."""
    if given_embeddings(wildcards).join_on == "row":
        files = [files[number] for number in shard_numbers(wildcards)]
    return brought(*files)


# --- test sets ---------------------------------------------------------------------------------


def zero_shot_task(test_set):
    """Prompts and classes of a test set."""
    corpus = RUN.corpora[test_set]
    return {
        "shards": len(RUN.shards(test_set)),
        "label_set": corpus.labels,
        "templates": RUN.label_sets[corpus.labels].templates,
        "classes": corpus.classes,
    }


def label_sets(test_sets):
    """The names of the label sets of some test sets, each once."""
    return sorted({RUN.corpora[test_set].labels for test_set in test_sets})


def test_set_inputs(test_sets):
    """What evaluating on some test sets reads, besides the model."""
    return {
        "tars": corpora_tars(test_sets),
        "samples": [
            path
            for test_set in test_sets
            for path in by_part(f"samples/{test_set}", test_set)
        ],
        "classes": brought(
            *(RUN.label_sets[name].classes for name in label_sets(test_sets))
        ),
    }


def zero_shot_tasks(test_sets):
    """Prompts and classes of some test sets."""
    return {test_set: zero_shot_task(test_set) for test_set in test_sets}


# --- manifests -------------------------------------------------------------------------------


def manifest_parts(wildcards):
    """The parts of a manifest, over all corpora that its rows come from."""
    members = RUN.manifests()[wildcards.manifest]
    need_pictures(list(members))
    return [
        path
        for corpus, pruning in members.items()
        for path in by_part(f"manifests/{corpus}/{pruning}", corpus)
    ]


def manifest_shards(wildcards):
    """The shard lists of the corpora of a manifest, in the order of its parts."""
    return [
        path
        for corpus in RUN.manifests()[wildcards.manifest]
        for path in gathered(f"shards/{corpus}")
    ]


def manifest_captionings(wildcards):
    """How the captions of each corpus of a manifest are read."""
    return {
        corpus: captioning(corpus) for corpus in RUN.manifests()[wildcards.manifest]
    }


def manifest_classes(wildcards):
    """The class names of the corpora of a manifest that have labels."""
    return [
        path
        for corpus in RUN.manifests()[wildcards.manifest]
        for path in classes_file(corpus)
    ]


# --- deduplication ---------------------------------------------------------------------------


def deduplication(wildcards):
    """The settings by which a corpus is deduplicated."""
    return DEDUPLICATIONS[wildcards.corpus][0]


def group_clusters(wildcards):
    """The clusters of a group: the first, and the one after the last."""
    clusters = deduplication(wildcards).group_clusters(wildcards.group)
    return [clusters.start, clusters.stop]


def duplicate_groups(corpus):
    """The pointers of the duplicates of a corpus, by group of clusters."""
    settings, encoder = DEDUPLICATIONS[corpus]
    folder = f"{RESULTS}/duplicates/{encoder}/{corpus}"
    return [f"{folder}/{group}.json" for group in settings.groups()]


# --- training --------------------------------------------------------------------------------


def start_weights(wildcards):
    """The model that a recipe starts from, if it does."""
    start = RUN.recipes[wildcards.recipe].start_from
    return trained(f"{start.recipe}/{start.manifest}") if start else []
