"""Settings, and the functions that rules share: which files belong to a wildcard.

Nothing here computes; every name below is a list of paths or a slice of the settings.
"""

from pathlib import Path

from snakemake.utils import update_config

from clipaudit.config.loading import check_files, parse_settings, read_settings
from clipaudit.config.training import Encoder
from clipaudit.errors import ClipauditError
from clipaudit.reports.similarity import similarity_tables
from clipaudit.workflow import code, stop_with

DEFAULT_SETTINGS = Path("config/demo.yaml")

try:
    if "corpora" not in config:  # no --configfile, or only single values by --config
        given = dict(config)
        config.update(read_settings(DEFAULT_SETTINGS))
        update_config(config, given)
    for path in workflow.configfiles:  # Snakemake's own reader lets a key stand twice
        read_settings(Path(path))
    RUN = parse_settings(config)
    check_files(RUN)
except ClipauditError as error:
    stop_with(error)

RESULTS = config["results"] = RUN.results
STORE = config["store"] = RUN.store
AUDIT = RUN.similarity


wildcard_constraints:
    corpus="[^/.]+",
    encoder="[^/.]+",
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


def by_part(folder, corpus):
    """The pointers of a folder of a corpus, one a part, in order."""
    return [f"{RESULTS}/{folder}/{part}.json" for part in RUN.parts(corpus)]


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


def trained(model):
    """The pointer of a model of this workflow, named `recipe/manifest`."""
    return f"{RESULTS}/models/{model}.json"


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
        return [trained(encoder.model)]
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


# --- nearest neighbours ----------------------------------------------------------------------


def gap_neighbors(wildcards):
    """The small set's neighbors: they are the gaps that the large set is tested against."""
    if wildcards.corpus != AUDIT.large:
        return []
    return f"{RESULTS}/neighbors/{wildcards.encoder}/{AUDIT.small}.json"


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


# --- report ----------------------------------------------------------------------------------

TABLES = similarity_tables(RUN)


def table_pointers():
    """The pointers of all tables of the enabled audits."""
    return [f"{RESULTS}/tables/{table}.json" for table in TABLES]


def table_inputs(wildcards):
    """The pointers that a table's SQL reads, by view name."""
    inputs = TABLES[wildcards.table].inputs
    return {
        view: [f"{RESULTS}/{path}" for path in paths] for view, paths in inputs.items()
    }


def table_files(wildcards):
    """The SQL of a table, and the published values beside it where the papers have some."""
    sql = f"clipaudit/reports/sql/{wildcards.table}.sql"
    published = f"clipaudit/reports/published/{wildcards.table}.csv"
    return [path for path in (sql, published) if Path(path).exists()]
