"""Shards -> samples -> manifests.

Needs: the shards and class names that `corpora` and `label_sets` name.
Makes: samples/, drops/index/, shards/ by part; manifests/<corpus>/all/ by part; sealed/<manifest>;
gathered/<folder>.list.
A corpus without pictures has files that list its samples where others have tars.
A split has the samples that its predicate chooses, and nothing else of its own.
"""


rule index:
    """The samples of a part, and why each of the other rows is none."""
    input:
        tars=indexed_tars,
        classes=lambda wildcards: classes_file(wildcards.corpus),
    output:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/index/{{corpus}}/{{part}}.json",
        shards=f"{RESULTS}/shards/{{corpus}}/{{part}}.json",
    log:
        "logs/index/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(INDEXED),
    conda:
        ENVIRONMENT
    params:
        code=code("index"),
        shards=shard_numbers,
        urls=indexed_urls,
        captioning=lambda wildcards: captioning(wildcards.corpus),
    script:
        "../workflow_scripts/index.py"


rule list_samples:
    """The samples of a part of a corpus without pictures, and why other rows are none."""
    input:
        files=listed_files,
        classes=lambda wildcards: classes_file(wildcards.corpus),
    output:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/index/{{corpus}}/{{part}}.json",
        shards=f"{RESULTS}/shards/{{corpus}}/{{part}}.json",
    log:
        "logs/list_samples/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(LISTED),
    conda:
        ENVIRONMENT
    params:
        code=code("list_samples"),
        shards=shard_numbers,
        columns=lambda wildcards: RUN.corpora[wildcards.corpus].metadata.model_dump(
            exclude={"files"}
        ),
        captioning=lambda wildcards: captioning(wildcards.corpus),
    script:
        "../workflow_scripts/list_samples.py"


rule split:
    """The samples of a split: those of another corpus that its predicate chooses."""
    input:
        samples=lambda wildcards: (
            f"{RESULTS}/samples/{RUN.source(wildcards.corpus)}/{wildcards.part}.json"
        ),
    output:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
    log:
        "logs/split/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(SPLITS),
    conda:
        ENVIRONMENT
    params:
        code=code("split"),
        name=lambda wildcards: wildcards.corpus,
        where=lambda wildcards: RUN.corpora[wildcards.corpus].where,
        label=lambda wildcards: RUN.corpora[wildcards.corpus].label,
    script:
        "../workflow_scripts/split.py"


rule keep_all:
    """The manifest that keeps every sample of a part."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/all/{{part}}.json",
    log:
        "logs/keep_all/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("keep_all"),
    script:
        "../workflow_scripts/keep_all.py"


rule seal:
    """A manifest over all its parts and corpora in the form that training and streams read."""
    input:
        manifests=manifest_parts,
        shards=manifest_shards,
        classes=manifest_classes,
    output:
        sealed=f"{RESULTS}/sealed/{{manifest}}.json",
    log:
        "logs/seal/{manifest}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("seal"),
        captionings=manifest_captionings,
    script:
        "../workflow_scripts/seal.py"


rule gather:
    """One list of the pointers of a folder's parts: jobs times inputs would be their square."""
    input:
        members=lambda wildcards: pointers_of(wildcards.folder),
    output:
        gathered=f"{RESULTS}/gathered/{{folder}}.list",
    log:
        "logs/gather/{folder}.log",
    localrule: True  # on a cluster it is not worth a place in the queue
    conda:
        ENVIRONMENT
    params:
        code=code("gather"),
    script:
        "../workflow_scripts/gather.py"
