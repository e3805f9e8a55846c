"""Embeddings -> clusters -> duplicates -> the deduplicated manifest.

Inputs: `similarity.deduplication` or `memorization.deduplication`; embeddings of the corpus.
Outputs: centroids/<encoder>/<corpus>.json; clustered/<encoder>/<corpus>/ by part;
duplicates/<encoder>/<corpus>/ by group of clusters; manifests/<corpus>/deduplicated/ by part.
"""


rule centroids:
    """The centroids of the spherical k-means, learned from a random sample."""
    input:
        embeddings=CORPORA.all_parts("embeddings/{encoder}/{corpus}"),
    output:
        centroids=f"{RESULTS}/centroids/{{encoder}}/{{corpus}}.json",
    log:
        "logs/centroids/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    threads: CORPORA.cores  # a single job that all deduplication waits for
    resources:
        mem_mb=memory(96),
    params:
        code=code("centroids"),
        clusters=DEDUPLICATION.clusters,
        follow=DEDUPLICATION.follow,
        iterations=DEDUPLICATION.setting("iterations"),
        samples_per_cluster=DEDUPLICATION.setting("samples_per_cluster"),
        seed=DEDUPLICATION.setting("seed"),
    script:
        "../workflow_scripts/centroids.py"


rule assign:
    """The cluster of every sample of a part, with its embedding, by cluster."""
    input:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        centroids=f"{RESULTS}/centroids/{{encoder}}/{{corpus}}.json",
    output:
        clustered=f"{RESULTS}/clustered/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/assign/{encoder}/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("assign"),
    script:
        "../workflow_scripts/assign.py"


rule duplicates:
    """The similarity of each sample in a group of clusters to its earlier duplicate."""
    input:
        clustered=CORPORA.all_parts("clustered/{encoder}/{corpus}"),
        centroids=f"{RESULTS}/centroids/{{encoder}}/{{corpus}}.json",
    output:
        duplicates=f"{RESULTS}/duplicates/{{encoder}}/{{corpus}}/{{group}}.json",
    log:
        "logs/duplicates/{encoder}/{corpus}/{group}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("duplicates"),
        group=DEDUPLICATION.group,
        removal_rule=DEDUPLICATION.setting("rule"),
        floor=DEDUPLICATION.floor,
    script:
        "../workflow_scripts/duplicates.py"


rule deduplicate:
    """The manifest of a part without the duplicates of other samples."""
    input:
        base=f"{RESULTS}/manifests/{{corpus}}/all/{{part}}.json",
        duplicates=DEDUPLICATION.duplicates,
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/deduplicated/{{part}}.json",
    log:
        "logs/deduplicate/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("deduplicate"),
        shards=CORPORA.shard_numbers,
        threshold=DEDUPLICATION.setting("threshold"),
    script:
        "../workflow_scripts/deduplicate.py"
