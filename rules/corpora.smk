"""Shards -> samples -> manifests.

Inputs: the shards and class names that `corpora` and `label_sets` name.
Outputs: samples/, drops/index/, shards/ by part; manifests/<corpus>/all/ by part; sealed/<manifest>;
gathered/<folder>.list.
A corpus without images has files that list its samples instead of tars.
A split has only the samples that its predicate selects.
"""


rule index:
    """The samples of a part, and why every other row is dropped."""
    input:
        tars=CORPORA.indexed_tars,
        classes=CORPORA.classes,
        mapped=CORPORA.mapped_classes,
    output:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/index/{{corpus}}/{{part}}.json",
        shards=f"{RESULTS}/shards/{{corpus}}/{{part}}.json",
    log:
        "logs/index/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA.indexed),
    priority: 1  # a label that is none stops a run before it trains
    conda:
        ENVIRONMENT
    params:
        code=code("index"),
        shards=CORPORA.shard_numbers,
        urls=CORPORA.indexed_urls,
        states=CORPORA.states(
            CORPORA.indexed_tars, CORPORA.classes, CORPORA.mapped_classes
        ),
        captioning=CORPORA.captioning,
        labels=CORPORA.labels,
    script:
        "../workflow_scripts/index.py"


rule list_samples:
    """The samples of a part of a corpus without images, and why other rows are dropped."""
    input:
        files=CORPORA.listed_files,
        classes=CORPORA.classes,
        mapped=CORPORA.mapped_classes,
    output:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/index/{{corpus}}/{{part}}.json",
        shards=f"{RESULTS}/shards/{{corpus}}/{{part}}.json",
    log:
        "logs/list_samples/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA.listed),
    priority: 1  # a label that is none stops a run before it trains
    conda:
        ENVIRONMENT
    params:
        code=code("list_samples"),
        shards=CORPORA.shard_numbers,
        columns=CORPORA.listed_columns,
        states=CORPORA.states(
            CORPORA.listed_files, CORPORA.classes, CORPORA.mapped_classes
        ),
        captioning=CORPORA.captioning,
        labels=CORPORA.labels,
    script:
        "../workflow_scripts/list_samples.py"


rule split:
    """The samples of a split: samples of its source corpus that its predicate selects."""
    input:
        samples=CORPORA.of_source("samples"),
        classes=CORPORA.classes,
        mapped=CORPORA.mapped_classes,
    output:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
    log:
        "logs/split/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA.splits),
    priority: 1  # a label that is none stops a run before it trains
    conda:
        ENVIRONMENT
    params:
        code=code("split"),
        states=CORPORA.states(CORPORA.classes, CORPORA.mapped_classes),
        name="{corpus}",
        where=setting_of(RUN.corpora, "corpus", "where"),
        label=setting_of(RUN.corpora, "corpus", "label"),
        labels=CORPORA.labels,
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
    """A manifest over all its parts and corpora as one file for training and streams."""
    input:
        manifests=CORPORA.manifest_parts,
        shards=CORPORA.manifest_shards,
        classes=CORPORA.manifest_classes,
    output:
        sealed=f"{RESULTS}/sealed/{{manifest}}.json",
    log:
        "logs/seal/{manifest}.log",
    wildcard_constraints:
        manifest=one_of(RUN.manifests()),
    conda:
        ENVIRONMENT
    params:
        code=code("seal"),
        states=CORPORA.states(CORPORA.manifest_classes),
        captionings=CORPORA.manifest_captionings,
    script:
        "../workflow_scripts/seal.py"


rule gather:
    """One list of the pointers of a folder's parts, to avoid a quadratic number of inputs."""
    input:
        members=lambda wildcards: CORPORA.pointers_of(wildcards.folder),
    output:
        gathered=f"{RESULTS}/gathered/{{folder}}.list",
    log:
        "logs/gather/{folder}.log",
    localrule: True  # not worth a job in a cluster's queue
    conda:
        ENVIRONMENT
    params:
        code=code("gather"),
    script:
        "../workflow_scripts/gather.py"
