"""Which files belong to the wildcards of the memorization audit. Nothing here computes."""

from clipaudit.config.memorized import DEFAULT, TRAINED, seed_points, set_sizes, start

POINTS = {
    point.name: point
    for asked in seed_points(MEMORY, RUN.recipes).values()
    for point in asked
}
SETS = {source: set_sizes(MEMORY, source) for source in MEMORY.sources}
SHARDS_OF_SOURCES = {source: len(RUN.shards(source)) for source in MEMORY.sources}
WITH_RECORDS = [
    source for source in MEMORY.sources if f"{source}.records" in RUN.corpora
]


wildcard_constraints:
    source=one_of(MEMORY.sources),
    set=r"set-[^/]+",
    public=one_of(MEMORY.publics),
    point=one_of(POINTS),


# --- sets --------------------------------------------------------------------------------------


def source_of(wildcards):
    """The source of a job; a manifest's is called its corpus, as every manifest's is."""
    return wildcards.get("source", wildcards.get("corpus"))


def source_base(wildcards):
    """The manifest of a part that the sets are drawn from."""
    source = source_of(wildcards)
    base = start(MEMORY, source)
    return f"{RESULTS}/manifests/{source}/{base}/{wildcards.part}.json"


def source_part(folder):
    """The function that gives a pointer of a folder, for the source and part of a job."""
    return (
        lambda wildcards: f"{RESULTS}/{folder}/{wildcards.source}/{wildcards.part}.json"
    )


def of_sources(folder, sources, suffix=""):
    """The pointers of a folder, of several sources, in order."""
    return [
        path
        for source in sources
        for path in by_part(f"{folder}/{source}{suffix}", source)
    ]


def gathered_of_sources(folder, suffix=""):
    """The pointers of a folder of all sources, in order, or the lists of many."""
    folders = [f"{folder}/{source}{suffix}" for source in MEMORY.sources]
    return [path for each in folders for path in gathered(each)]


def drawn_embeddings(wildcards):
    """Embeddings of all that is drawn, if near duplicates are to be found."""
    if MEMORY.encoder is None:
        return []
    return gathered_of_sources(f"embeddings/{MEMORY.encoder}", ".drawn")


def group_of(wildcards):
    """What makes samples of a source one: their caption, or nothing but equality."""
    by_caption = MEMORY.sources[source_of(wildcards)].duplicates == "caption"
    return "caption" if by_caption else "uid"


def part_of_source(wildcards):
    """The numbers of the shards of a part."""
    return numbers_of_part(wildcards.source, wildcards.part)


def set_and_size(wildcards):
    """Which set a manifest of a source holds, and how much of it."""
    name, size = SETS[wildcards.corpus][wildcards.set]
    return {"set": name, "size": size}


def set_manifests():
    """The manifests of all sets of all sources, at their default sizes."""
    return [
        path
        for source, sets in SETS.items()
        for name in sets
        if name == f"set-{sets[name][0]}"
        for path in by_part(f"manifests/{source}/{name}", source)
    ]


# --- models ------------------------------------------------------------------------------------


def recalls(point, trained, public):
    """The recalls of a model over all records, by source and part."""
    folder = f"recalls/{point.encoder(trained)}/{public}"
    return of_sources(folder, WITH_RECORDS)


def attacked(point):
    """The manifests of the records that are attacked at a point: A's, B's, the hold-out's."""
    manifests = RUN.manifests()
    return {
        **{
            trained: [
                path
                for source, name in manifests[point.manifest(trained)].items()
                for path in by_part(f"manifests/{source}/{name}", source)
            ]
            for trained in TRAINED
        },
        "holdout": [
            path
            for source in MEMORY.sources
            if "set-holdout" in SETS[source]
            for path in by_part(f"manifests/{source}/set-holdout", source)
        ],
    }


def point_inputs(wildcards):
    """What the metrics of a point are made from."""
    point = POINTS[wildcards.point]
    return {
        **{
            f"recalls_{trained}": recalls(point, trained, wildcards.public)
            for trained in TRAINED
        },
        **{f"kept_{name}": paths for name, paths in attacked(point).items()},
        "samples": of_sources("samples", WITH_RECORDS, ".records"),
    }


def example_inputs(wildcards):
    """What the list of the most memorized records is made from."""
    point, public = POINTS[DEFAULT], wildcards.public
    return {
        **{
            f"recalls_{trained}": recalls(point, trained, public) for trained in TRAINED
        },
        **{
            f"retrieved_{trained}": of_sources(
                f"retrieved/{point.encoder(trained)}/{public}", WITH_RECORDS
            )
            for trained in TRAINED
        },
        "kept_a": attacked(point)["a"],
        "samples": of_sources("samples", WITH_RECORDS, ".records"),
        "truths": of_sources("objects", WITH_RECORDS, ".drawn"),
        "public": by_part(f"objects/{public}.drawn", public),
        "vocabulary": of_sources("vocabulary", MEMORY.sources, ".drawn"),
    }


# --- objects -----------------------------------------------------------------------------------

COCO = "coco"
NAMES_FILES = brought(MEMORY.objects.names if MEMORY.objects.names != COCO else None)


def detector_files():
    """The files of a detector that is a folder; one of the hub cache names none."""
    folder = Path(MEMORY.objects.checkpoint)
    if not folder.is_dir():
        return []
    return sorted(str(path) for path in folder.iterdir() if path.is_file())


# --- selections --------------------------------------------------------------------------------

SELECTED = [each.corpus for each in MEMORY.selections.values()]
