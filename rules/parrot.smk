"""Text in images -> how models use it.

Inputs: spans and matches; `parrot.encoder`; for vocabularies and clusters the first of
`parrot.corpora`.
Outputs: caption_scores/<encoder>/<corpus>/, drops/caption_scores/<encoder>/<corpus>/ by part;
picture_clusters/<encoder>/<corpus>.json, placed/<encoder>/<corpus>/ by part;
grams/<corpus>/<vocabulary>/ by part, unless `probe.vocabulary` names a file;
vocabularies/<corpus>/<vocabulary>.json, probes/<encoder>/<corpus>/<vocabulary>.json.
"""


rule score_captions:
    """The similarity of captions and images of a part, raw and with text erased."""
    input:
        tars=CORPORA.part_tars,
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
        matches=f"{RESULTS}/matches/{{corpus}}/{{part}}.json",
        weights=MODELS.weights,
        vocabulary=MODELS.vocabulary,
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
        shards=CORPORA.shard_numbers,
        model=MODELS.encoder,
        states=MODELS.states(),
        erasing=PARROT.audit.erasing.model_dump(mode="json"),
        tokenization=PARROT.audit.tokenization,
    script:
        "../workflow_scripts/score_captions.py"


rule fit_clusters:
    """Clusters of the images of a corpus, learned from a random sample."""
    input:
        embeddings=CORPORA.all_parts("embeddings/{encoder}/{corpus}"),
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
        clusters=PARROT.audit.clusters.model_dump(mode="json"),
    script:
        "../workflow_scripts/fit_clusters.py"


rule place:
    """The cluster of every image of a part."""
    input:
        embeddings=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        clustering=f"{RESULTS}/picture_clusters/{{encoder}}/{PARROT.profiled}.json",
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


if PARROT.audit.probe.vocabulary is not None:

    rule read_grams:
        """The n-grams of a vocabulary that the user gives."""
        input:
            file=PARROT.given_vocabulary(),
        output:
            vocabulary=f"{RESULTS}/vocabularies/{{corpus}}/{{vocabulary}}.json",
        log:
            "logs/read_grams/{corpus}/{vocabulary}.log",
        conda:
            ENVIRONMENT
        params:
            code=code("read_grams"),
            states=CORPORA.states(PARROT.given_vocabulary()),
            length=PARROT.gram_length,
            most=PARROT.audit.probe.most,
        script:
            "../workflow_scripts/read_grams.py"

else:

    rule count_grams:
        """How often words, or pairs of them, occur in the captions or the images of a part."""
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
            source=PARROT.gram_source,
            length=PARROT.gram_length,
            tokenization=PARROT.audit.probe.words,
        script:
            "../workflow_scripts/count_grams.py"

    rule merge_grams:
        """The most frequent grams of a corpus."""
        input:
            grams=PARROT.part_grams,
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
            most=PARROT.audit.probe.most,
        script:
            "../workflow_scripts/merge_grams.py"


rule probe:
    """A model's similarity of texts and images that show only the text, by vocabulary."""
    input:
        grams=PARROT.grams(PARROT.vocabularies),
        font=PARROT.font(),
        weights=MODELS.weights,
        vocabulary=MODELS.vocabulary,
    output:
        **PARROT.probe_outputs(PARROT.vocabularies),
    log:
        "logs/probe/{encoder}.log",
    wildcard_constraints:
        encoder=one_of(PARROT.audit.all_probed),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("probe"),
        numeric=[*CLIP_LIBRARIES, "matplotlib"],
        model=MODELS.encoder,
        states=MODELS.states(PARROT.font()),
        side=PARROT.audit.probe.side,
        type_size=PARROT.audit.probe.type_size,
    script:
        "../workflow_scripts/probe.py"


if PARROT.audit.probe.word_vocabulary in PARROT.vocabularies:

    use rule probe as probe_trained with:
        input:
            grams=PARROT.grams([PARROT.audit.probe.word_vocabulary]),
            font=PARROT.font(),
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            **PARROT.probe_outputs([PARROT.audit.probe.word_vocabulary]),
        log:
            "logs/probe_trained/{encoder}.log",
        wildcard_constraints:
            encoder=one_of(PARROT.curated_models),
        params:
            code=code("probe"),
            numeric=[*CLIP_LIBRARIES, "matplotlib"],
            script="probe",
            model=MODELS.encoder,
            states=MODELS.states(PARROT.font()),
            side=PARROT.audit.probe.side,
            type_size=PARROT.audit.probe.type_size,


rule report_spotted:
    """Images with text: the text spotted in them, their captions and scores."""
    input:
        unpack(REPORTS.gallery_inputs),
        font=PARROT.font(),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_spotted/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.galleries("parrot")),
    conda:
        ENVIRONMENT
    params:
        code=code("report_spotted"),
        numeric=["matplotlib", "pillow", "opencv-python-headless"],
        states=CORPORA.states(PARROT.font()),
        options=REPORTS.gallery("options"),
        sources=REPORTS.gallery("sources"),
        name="{figure}",
        caption=REPORTS.caption,
    script:
        "../workflow_scripts/report_spotted.py"
