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
from clipaudit.config.prunings import ALL, kept_searches
from clipaudit.config.training import Encoder
from clipaudit.errors import ClipauditError
from clipaudit.workflow import code, stop_with

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
AUDIT = RUN.similarity
MEMORY = RUN.memorization
PARROT = RUN.parrot
SPLITS = [name for name, corpus in RUN.corpora.items() if corpus.where is not None]
DRAWN = [name for name, corpus in RUN.corpora.items() if corpus.sets is not None]
INDEXED = [name for name in RUN.corpora if name not in SPLITS + DRAWN]
BLURRED = {
    name: corpus.blurred for name, corpus in RUN.corpora.items() if corpus.blurred
}


DEDUPLICATIONS = RUN.deduplications()
SEARCHES = kept_searches(AUDIT) if AUDIT else {}


def one_of(names):
    """A wildcard constraint: exactly one of these names; of none, nothing matches."""
    return "|".join(re.escape(name) for name in names) or r"(?!)"


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


# --- corpora -----------------------------------------------------------------------------------


def shard_numbers(wildcards):
    """The numbers of the shards of a part."""
    return RUN.part_shards(wildcards.corpus, wildcards.part)


def part_tars(wildcards):
    """The tar files of a part."""
    shards = RUN.shards(wildcards.corpus)
    return [shards[number] for number in shard_numbers(wildcards)]


def part_truths(wildcards):
    """The truth tables of the shards of a part of a made corpus."""
    return [
        str(Path(tar).with_suffix(".truth.parquet")) for tar in part_tars(wildcards)
    ]


def unblurred_tar(wildcards):
    """The shard that a shard of a blurred corpus is made of."""
    return RUN.shards(BLURRED[wildcards.corpus].of)[int(wildcards.shard)]


def face_detector(wildcards):
    """The file of the detector that finds faces to blur; shards that state them need none."""
    path = BLURRED[wildcards.corpus].detector
    return [path] if path else []


def by_part(folder, corpus):
    """The pointers of a folder of a corpus, one a part, in order."""
    return [f"{RESULTS}/{folder}/{part}.json" for part in RUN.parts(corpus)]


def of_source(folder, wildcards):
    """The pointer of the same part of the corpus that a split takes samples of."""
    source = RUN.source(wildcards.corpus)
    return f"{RESULTS}/{folder}/{wildcards.encoder}/{source}/{wildcards.part}.json"


def classes_file(corpus):
    """The file of class names that the labels of a corpus point into, if it has labels."""
    labels = RUN.corpora[corpus].labels
    return [RUN.label_sets[labels].classes] if labels else []


def captioning(corpus):
    """The settings that say how captions and labels of a corpus are read."""
    settings = RUN.corpora[corpus]
    labels = RUN.label_sets.get(settings.labels)
    return {
        "source": settings.captions,
        "template": labels.caption_template if labels else None,
        "needs_label": settings.labels is not None,
    }


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
    vocabulary = RUN.architectures[name].vocabulary if name else None
    return [vocabulary] if vocabulary else []


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


# --- manifests -------------------------------------------------------------------------------


def manifest_parts(wildcards):
    """The parts of a manifest, over all corpora that its rows come from."""
    return [
        path
        for corpus, pruning in RUN.manifests()[wildcards.manifest].items()
        for path in by_part(f"manifests/{corpus}/{pruning}", corpus)
    ]


def manifest_shards(wildcards):
    """The shard lists of the corpora of a manifest, in the order of its parts."""
    return [
        path
        for corpus in RUN.manifests()[wildcards.manifest]
        for path in by_part(f"shards/{corpus}", corpus)
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


# --- prunings --------------------------------------------------------------------------------


def pruning_base(wildcards):
    """The manifest of a part that a pruning starts from."""
    return (
        f"{RESULTS}/manifests/{wildcards.corpus}/{wildcards.base}/{wildcards.part}.json"
    )


def gap_test_sets(wildcards):
    """The test sets to whose gaps a pruning prunes."""
    pruning = f"{wildcards.base}.{wildcards.pruning}-pruned"
    return list(RUN.prunings(wildcards.corpus).gaps[pruning])


def order_cut(wildcards):
    """The settings of a cut through an order of samples."""
    return RUN.prunings(wildcards.corpus).cuts[f"{wildcards.base}.{wildcards.pruning}"]


def deduplication(wildcards):
    """The settings by which a corpus is deduplicated."""
    return DEDUPLICATIONS[wildcards.corpus][0]


def group_clusters(wildcards):
    """The clusters of a group: the first, and the one after the last."""
    clusters = deduplication(wildcards).group_clusters(wildcards.group)
    return [clusters.start, clusters.stop]


def cut_order(wildcards):
    """The order that a cut goes through."""
    cut = order_cut(wildcards)
    return {"kind": cut.order, "test_sets": list(cut.test_sets), "seed": cut.seed}


def cut_size(wildcards):
    """How many samples a cut removes or keeps."""
    cut = order_cut(wildcards)
    return {"removed": cut.removed, "kept": cut.kept}


def ordered_by(wildcards, parts):
    """The tables of some parts that an order is read off."""
    if order_cut(wildcards).order == "semdedup":
        return {"duplicates": duplicate_groups(wildcards.corpus)}
    folder = f"{RESULTS}/similarities/{AUDIT.encoder}/{wildcards.corpus}"
    return {"similarities": [f"{folder}/{part}.json" for part in parts]}


def cut_inputs(wildcards):
    """What decides where an order is cut: all parts, and those of the set to be as large as."""
    corpus, cut = wildcards.corpus, order_cut(wildcards)
    like = by_part(f"manifests/{corpus}/{cut.like}", corpus) if cut.like else []
    return {
        "base": by_part(f"manifests/{corpus}/{wildcards.base}", corpus),
        "like": like,
        **ordered_by(wildcards, RUN.parts(corpus)),
    }


def pruned_at_cut_inputs(wildcards):
    """The tables of a part that its order is read off."""
    return ordered_by(wildcards, [wildcards.part])


def duplicate_groups(corpus):
    """The pointers of the duplicates of a corpus, by group of clusters."""
    settings, encoder = DEDUPLICATIONS[corpus]
    folder = f"{RESULTS}/duplicates/{encoder}/{corpus}"
    return [f"{folder}/{group}.json" for group in settings.groups()]


# --- nearest neighbours ----------------------------------------------------------------------


def gap_neighbors(wildcards):
    """The small set's neighbors: they are the gaps that the large set is tested against."""
    if wildcards.corpus != AUDIT.large:
        return []
    return f"{RESULTS}/neighbors/{wildcards.encoder}/{AUDIT.small}.json"


def searched_manifest(wildcards):
    """The manifest of the part that a search among kept samples goes by; a split has none."""
    pruning = SEARCHES[wildcards.search].corpora[wildcards.corpus]
    if wildcards.corpus in SPLITS:
        return []
    return f"{RESULTS}/manifests/{wildcards.corpus}/{pruning}/{wildcards.part}.json"


# --- training --------------------------------------------------------------------------------


def start_weights(wildcards):
    """The model that a recipe starts from, if it does."""
    start = RUN.recipes[wildcards.recipe].start_from
    return trained(f"{start.recipe}/{start.manifest}") if start else []


# --- evaluation ------------------------------------------------------------------------------


def evaluated_architecture(recipe, manifest):
    """The name of the architecture of an evaluated model."""
    return (
        encoder_architecture(manifest)
        if recipe == "pretrained"
        else RUN.recipes[recipe].architecture
    )


def evaluated_weights(wildcards):
    """The files that an evaluated model's weights come from."""
    if wildcards.recipe == "pretrained":
        return encoder_files(wildcards.manifest)
    return trained(f"{wildcards.recipe}/{wildcards.manifest}")


def evaluated_model(wildcards):
    """The settings of an evaluated model."""
    if wildcards.recipe == "pretrained":
        return encoder_settings(wildcards.manifest)
    used = RUN.recipes[wildcards.recipe].architecture
    return {"encoder": None, "architecture": architecture(used)}


def evaluated_batch_size(wildcards):
    """How many images go through the model at once: the encoder's setting, or its default."""
    if wildcards.recipe == "pretrained":
        return RUN.encoders[wildcards.manifest].batch_size
    return Encoder.model_fields["batch_size"].default


def test_set_inputs(test_sets):
    """What evaluating on some test sets reads, besides the model."""
    return {
        "tars": [path for test_set in test_sets for path in RUN.shards(test_set)],
        "samples": [
            path
            for test_set in test_sets
            for path in by_part(f"samples/{test_set}", test_set)
        ],
        "classes": [RUN.label_sets[name].classes for name in label_sets(test_sets)],
    }


def prediction_outputs(test_sets):
    """The predictions on some test sets, an output each."""
    folder = f"{RESULTS}/predictions/{{recipe}}/{{manifest}}"
    return {test_set: f"{folder}/{test_set}.json" for test_set in test_sets}


def zero_shot_tasks(test_sets):
    """Prompts and classes of some test sets."""
    return {test_set: zero_shot_task(test_set) for test_set in test_sets}


def pair_test_sets():
    """The test sets of the further pairs that are not evaluated anyway."""
    tests = [pair.test for pair in AUDIT.pairs.values()]
    return [name for name in dict.fromkeys(tests) if name not in EVALUATED]


def classified():
    """The test sets with the classes of the small set: those that classifiers know."""
    labels = RUN.corpora[AUDIT.small].labels
    return [name for name in AUDIT.test_sets if RUN.corpora[name].labels == labels]


def classified_model(wildcards):
    """The settings of an evaluated classifier, trained here or brought along."""
    if wildcards.recipe == "classifier":
        classifier = RUN.classifiers[wildcards.manifest]
        return {"classifier": classifier.model_dump(mode="json"), "recipe": None}
    recipe = RUN.supervised_recipes[wildcards.recipe]
    return {"classifier": None, "recipe": recipe.model_dump(mode="json")}


def classifier_weights(wildcards):
    """The file that a classifier's weights come from; a name of timm's has none."""
    if wildcards.recipe != "classifier":
        return trained(f"{wildcards.recipe}/{wildcards.manifest}")
    path = RUN.classifiers[wildcards.manifest].checkpoint
    return [path] if path else []


def classified_batch_size(wildcards):
    """How many images go through a classifier at once."""
    if wildcards.recipe == "classifier":
        return RUN.classifiers[wildcards.manifest].batch_size
    return RUN.supervised_recipes[wildcards.recipe].batch_size


EVALUATED = [*AUDIT.test_sets, *AUDIT.control_sets] if AUDIT else []
