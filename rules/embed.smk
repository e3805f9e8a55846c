"""Samples -> embeddings, and whether these distinguish images.

Inputs: `encoders`; the model of a trained encoder; precomputed `embeddings`.
Outputs: embeddings/<encoder>/<corpus>/, drops/embed/<encoder>/<corpus>/ by part;
encoder_checks/<encoder>/<corpus>.json, if an audit needs it.
"""


rule embed:
    """Unit float16 embeddings of the images of a part."""
    input:
        tars=CORPORA.part_tars,
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        weights=MODELS.weights,
        vocabulary=MODELS.vocabulary,
    output:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/embed/{encoder}/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA.indexed + CORPORA.listed + CORPORA.drawn),
        encoder=MODELS.own_encoders(),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("embed"),
        numeric=MODELS.libraries(),
        name="{encoder}",
        shards=CORPORA.shard_numbers,
        model=MODELS.encoder,
        states=MODELS.states(),
    script:
        "../workflow_scripts/embed.py"


rule take_embeddings:
    """Precomputed embeddings of a part, joined to its samples and checked."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        arrays=MODELS.given_arrays,
        metadata=MODELS.given_metadata,
        tars=MODELS.checked_tars,
        weights=MODELS.checked_weights,
        vocabulary=MODELS.checked_vocabulary,
    output:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/take_embeddings/{encoder}/{corpus}/{part}.log",
    wildcard_constraints:
        encoder=MODELS.given_encoders(),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("take_embeddings"),
        numeric=["numpy"],
        name="{encoder}",
        corpus="{corpus}",
        shards=CORPORA.shard_numbers,
        join=MODELS.given_join,
        model=MODELS.checking_encoder,
        states=CORPORA.states(
            MODELS.given_arrays,
            MODELS.given_metadata,
            MODELS.checked_weights,
            MODELS.checked_vocabulary,
        ),
    script:
        "../workflow_scripts/take_embeddings.py"


rule split_embeddings:
    """The embeddings of a split, taken from its source corpus."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        embeddings=CORPORA.of_source("embeddings/{encoder}"),
        drops=CORPORA.of_source("drops/embed/{encoder}"),
    output:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/split_embeddings/{encoder}/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA.splits),
    conda:
        ENVIRONMENT
    params:
        code=code("split_embeddings"),
    script:
        "../workflow_scripts/split_embeddings.py"


rule check_encoder:
    """Whether an encoder distinguishes a corpus's images, from a random sample of them."""
    input:
        embeddings=CORPORA.all_parts("embeddings/{encoder}/{corpus}"),
        samples=CORPORA.all_parts("samples/{corpus}"),
    output:
        check=f"{RESULTS}/encoder_checks/{{encoder}}/{{corpus}}.json",
    log:
        "logs/check_encoder/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("check_encoder"),
        numeric=["numpy"],
    script:
        "../workflow_scripts/check_encoder.py"
