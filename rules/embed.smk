"""Samples -> embeddings.

Needs: `encoders`; a trained encoder needs its model; `embeddings` that others computed.
Makes: embeddings/<encoder>/<corpus>/, drops/embed/<encoder>/<corpus>/ by part.
"""


rule embed:
    """Unit float16 embeddings of the pictures of a part."""
    input:
        tars=part_tars,
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        weights=lambda wildcards: encoder_files(wildcards.encoder),
        vocabulary=lambda wildcards: vocabulary_file(
            encoder_architecture(wildcards.encoder)
        ),
    output:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/embed/{encoder}/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(INDEXED + LISTED + DRAWN),
        encoder=own_encoders(),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("embed"),
        numeric=CLIP_LIBRARIES,
        name=lambda wildcards: wildcards.encoder,
        shards=shard_numbers,
        model=lambda wildcards: encoder_settings(wildcards.encoder),
    script:
        "../workflow_scripts/embed.py"


rule take_embeddings:
    """The embeddings of a part that others computed, joined to its samples."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        arrays=lambda wildcards: given_files(
            wildcards, given_embeddings(wildcards).array_files
        ),
        metadata=lambda wildcards: given_files(
            wildcards, given_embeddings(wildcards).metadata_files
        ),
    output:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/take_embeddings/{encoder}/{corpus}/{part}.log",
    wildcard_constraints:
        encoder=given_encoders(),
    conda:
        ENVIRONMENT
    params:
        code=code("take_embeddings"),
        numeric=["numpy"],
        name=lambda wildcards: wildcards.encoder,
        shards=shard_numbers,
        join=lambda wildcards: given_embeddings(wildcards).model_dump(
            include={"array", "column", "join_on", "may_lack"}
        ),
    script:
        "../workflow_scripts/take_embeddings.py"


rule split_embeddings:
    """The embeddings of a split: those that its corpus has already."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        embeddings=lambda wildcards: of_source("embeddings", wildcards),
        drops=lambda wildcards: of_source("drops/embed", wildcards),
    output:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/split_embeddings/{encoder}/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(SPLITS),
    conda:
        ENVIRONMENT
    params:
        code=code("split_embeddings"),
    script:
        "../workflow_scripts/split_embeddings.py"
