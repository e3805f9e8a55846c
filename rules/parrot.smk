"""Text in pictures -> what models make of it.

Needs: spans and matches; `parrot.encoder`; for vocabularies and clusters the first of
`parrot.corpora`.
Makes: caption_scores/<encoder>/<corpus>/, drops/caption_scores/<encoder>/<corpus>/ by part;
picture_clusters/<encoder>/<corpus>.json, placed/<encoder>/<corpus>/ by part;
grams/<corpus>/<vocabulary>/ by part, vocabularies/<corpus>/<vocabulary>.json,
probes/<encoder>/<corpus>/<vocabulary>.json.
"""


rule score_captions:
    """How similar captions are to the pictures of a part, raw and with text erased."""
    input:
        tars=part_tars,
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
        matches=f"{RESULTS}/matches/{{corpus}}/{{part}}.json",
        weights=lambda wildcards: encoder_files(wildcards.encoder),
        vocabulary=lambda wildcards: vocabulary_file(
            encoder_architecture(wildcards.encoder)
        ),
    output:
        scores=f"{RESULTS}/caption_scores/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/caption_scores/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/score_captions/{encoder}/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("score_captions"),
        numeric=[*CLIP_LIBRARIES, "opencv-python-headless"],
        shards=shard_numbers,
        model=lambda wildcards: encoder_settings(wildcards.encoder),
        erasing=PARROT.erasing.model_dump(mode="json"),
        tokenization=PARROT.tokenization,
    script:
        "../workflow_scripts/score_captions.py"


rule fit_clusters:
    """Clusters of the pictures of a corpus, learned from a random sample."""
    input:
        embeddings=lambda wildcards: by_part(
            f"embeddings/{wildcards.encoder}/{wildcards.corpus}", wildcards.corpus
        ),
    output:
        clustering=f"{RESULTS}/picture_clusters/{{encoder}}/{{corpus}}.json",
    log:
        "logs/fit_clusters/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("fit_clusters"),
        numeric=["faiss", "numpy", "scikit-learn"],
        clusters=PARROT.clusters.model_dump(mode="json"),
    script:
        "../workflow_scripts/fit_clusters.py"


rule place:
    """The cluster of every picture of a part."""
    input:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        clustering=f"{RESULTS}/picture_clusters/{{encoder}}/{PROFILED[0]}.json",
    output:
        placed=f"{RESULTS}/placed/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/place/{encoder}/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("place"),
    script:
        "../workflow_scripts/place.py"


rule count_grams:
    """How often words, or pairs of them, occur in the captions or the pictures of a part."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
        matches=f"{RESULTS}/matches/{{corpus}}/{{part}}.json",
    output:
        grams=f"{RESULTS}/grams/{{corpus}}/{{vocabulary}}/{{part}}.json",
    log:
        "logs/count_grams/{corpus}/{vocabulary}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("count_grams"),
        source=lambda wildcards: wildcards.vocabulary.rpartition("-")[0],
        length=lambda wildcards: int(wildcards.vocabulary.rpartition("-")[2]),
        tokenization=PARROT.probe.words,
    script:
        "../workflow_scripts/count_grams.py"


rule merge_grams:
    """The most frequent grams of a corpus."""
    input:
        grams=lambda wildcards: by_part(
            f"grams/{wildcards.corpus}/{wildcards.vocabulary}", wildcards.corpus
        ),
    output:
        vocabulary=f"{RESULTS}/vocabularies/{{corpus}}/{{vocabulary}}.json",
    log:
        "logs/merge_grams/{corpus}/{vocabulary}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("merge_grams"),
        most=PARROT.probe.most,
    script:
        "../workflow_scripts/merge_grams.py"


rule probe:
    """How similar a model finds pictures of nothing but a text to that text, by vocabulary."""
    input:
        grams=[
            f"{RESULTS}/vocabularies/{PROFILED[0]}/{name}.json"
            for name in VOCABULARIES
        ],
        font=brought(PARROT.probe.font),
        weights=lambda wildcards: encoder_files(wildcards.encoder),
        vocabulary=lambda wildcards: vocabulary_file(
            encoder_architecture(wildcards.encoder)
        ),
    output:
        **probe_outputs(VOCABULARIES),
    log:
        "logs/probe/{encoder}.log",
    wildcard_constraints:
        encoder=one_of(PARROT.inspected),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("probe"),
        numeric=[*CLIP_LIBRARIES, "matplotlib"],
        model=lambda wildcards: encoder_settings(wildcards.encoder),
        side=PARROT.probe.side,
        type_size=PARROT.probe.type_size,
    script:
        "../workflow_scripts/probe.py"


if PROBED in VOCABULARIES:

    use rule probe as probe_trained with:
        input:
            grams=[f"{RESULTS}/vocabularies/{PROFILED[0]}/{PROBED}.json"],
            font=brought(PARROT.probe.font),
            weights=lambda wildcards: encoder_files(wildcards.encoder),
            vocabulary=lambda wildcards: vocabulary_file(
                encoder_architecture(wildcards.encoder)
            ),
        output:
            **probe_outputs([PROBED]),
        log:
            "logs/probe_trained/{encoder}.log",
        wildcard_constraints:
            encoder=one_of(CURATED_MODELS),
        params:
            code=code("probe"),
            numeric=[*CLIP_LIBRARIES, "matplotlib"],
            script="probe",
            model=lambda wildcards: encoder_settings(wildcards.encoder),
            side=PARROT.probe.side,
            type_size=PARROT.probe.type_size,
