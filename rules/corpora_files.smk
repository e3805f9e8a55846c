"""Which files belong to a corpus: tars, URLs, lists of samples, pointers by part; no computing."""

from functools import cache

FEW_POINTERS = 32  # a list of them is a job of its own, which is worth it for more


@cache
def numbers_of_part(corpus, part):
    """The numbers of the shards of a part: one list for all jobs, which are tens of thousands."""
    return RUN.part_shards(corpus, part)


def shard_numbers(wildcards):
    """The numbers of the shards of a part."""
    return numbers_of_part(wildcards.corpus, wildcards.part)


def part_shards(wildcards):
    """The shards of a part: files or URLs."""
    shards = RUN.shards(wildcards.corpus)
    return [shards[number] for number in shard_numbers(wildcards)]


def need_pictures(corpora):
    """Stop the run where one of these corpora has no pictures."""
    try:
        require_pictures(RUN, corpora)
    except ClipauditError as error:
        stop_with(error)


def listed_files(wildcards):
    """The files that list the samples of a part without pictures."""
    return brought(*part_shards(wildcards))


def indexed_tars(wildcards):
    """The tar files of a part that is indexed; of a remote one none."""
    remote = RUN.is_remote(wildcards.corpus)
    return [] if remote else brought(*part_shards(wildcards))


def indexed_urls(wildcards):
    """The URLs of a remote part that is indexed; all other rules read what its index lists."""
    return part_shards(wildcards) if RUN.is_remote(wildcards.corpus) else []


def part_tars(wildcards):
    """The tar files of a part, or the list of its remote ones."""
    need_pictures([wildcards.corpus])
    if RUN.is_remote(wildcards.corpus):
        return [
            f"{RESULTS}/shards/{RUN.source(wildcards.corpus)}/{wildcards.part}.json"
        ]
    return brought(*part_shards(wildcards))


def corpus_tars(corpus):
    """The tar files of a corpus, or the lists of its remote ones."""
    need_pictures([corpus])
    if RUN.is_remote(corpus):
        return by_part(f"shards/{RUN.source(corpus)}", corpus)
    return brought(*RUN.shards(corpus))


def corpora_tars(corpora):
    """The tar files of some corpora."""
    return [path for corpus in corpora for path in corpus_tars(corpus)]


def part_truths(wildcards):
    """The truth tables of the shards of a part of a made corpus."""
    return [
        str(Path(tar).with_suffix(".truth.parquet")) for tar in part_tars(wildcards)
    ]


def unblurred_tar(wildcards):
    """The shard that a shard of a blurred corpus is made of."""
    return brought(RUN.shards(BLURRED[wildcards.corpus].of)[int(wildcards.shard)])


def face_detector(wildcards):
    """The file of the detector that finds faces to blur; shards that state them need none."""
    return brought(BLURRED[wildcards.corpus].detector)


def by_part(folder, corpus):
    """The pointers of a folder of a corpus, one a part, in order."""
    return [f"{RESULTS}/{folder}/{part}.json" for part in RUN.parts(corpus)]


def pointers_of(folder):
    """The pointers of a folder, in order: its name ends in its corpus, but for manifests."""
    names = folder.split("/")
    return by_part(folder, names[1 if names[0] == "manifests" else -1])


def gathered(folder):
    """What rules of which each part reads a whole folder name: its pointers, or the list of many."""
    pointers = pointers_of(folder)
    if len(pointers) <= FEW_POINTERS:
        return pointers
    return [f"{RESULTS}/gathered/{folder}.list"]


def of_source(folder, wildcards):
    """The pointer of the same part of the corpus that a split takes samples of."""
    source = RUN.source(wildcards.corpus)
    return f"{RESULTS}/{folder}/{wildcards.encoder}/{source}/{wildcards.part}.json"


def classes_file(corpus):
    """The file of class names that the labels of a corpus point into, if it has labels."""
    labels = RUN.corpora[corpus].labels
    return brought(RUN.label_sets[labels].classes) if labels else []


def captioning(corpus):
    """The settings that say how captions and labels of a corpus are read."""
    settings = RUN.corpora[corpus]
    labels = RUN.label_sets.get(settings.labels)
    return {
        "source": settings.captions,
        "template": labels.caption_template if labels else None,
        "needs_label": settings.labels is not None,
    }
