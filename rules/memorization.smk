"""Models of A and B -> what they recall of their records' pictures, and the metrics of it.

Needs: the sets; `memorization.recipe` and its grid; `objects`; labelled corpora for utility.
Makes: objects/<corpus>/, vocabulary/<corpus>/ by part; caption_embeddings/<model>/<corpus>/;
public_order/<public>.json; retrieved/ and recalls/<model>/<public>/<source>/ by part;
gaps/, survival/, sample_gaps/<public>/<point>.json; examples/<public>.json;
utility/<model>/<test set>.json; selections/<model>/<corpus>.json.
"""

if MEMORIZATION.audit.objects.annotator == "dataset":

    rule annotate:
        """The objects of the pictures of a part, as the samples' JSON states them."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            names=MEMORIZATION.names_files(),
        output:
            objects=f"{RESULTS}/objects/{{corpus}}/{{part}}.json",
            vocabulary=f"{RESULTS}/vocabulary/{{corpus}}/{{part}}.json",
        log:
            "logs/annotate/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        params:
            code=code("annotate"),
            names=MEMORIZATION.audit.objects.names,
        script:
            "../workflow_scripts/annotate.py"

elif MEMORIZATION.audit.objects.annotator == "given":

    rule take_objects:
        """The objects of the pictures of a part that others found, joined to its samples."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            files=MEMORIZATION.given_objects,
            names=MEMORIZATION.names_files(),
        output:
            objects=f"{RESULTS}/objects/{{corpus}}/{{part}}.json",
            vocabulary=f"{RESULTS}/vocabulary/{{corpus}}/{{part}}.json",
        log:
            "logs/take_objects/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        params:
            code=code("take_objects"),
            join=MEMORIZATION.given_join,
            threshold=MEMORIZATION.audit.objects.threshold,
            names=MEMORIZATION.audit.objects.names,
        script:
            "../workflow_scripts/take_objects.py"

else:

    rule detect:
        """The objects that a detector finds in the pictures of a part."""
        input:
            tars=CORPORA.part_tars,
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            weights=MEMORIZATION.detector_files(),
        output:
            objects=f"{RESULTS}/objects/{{corpus}}/{{part}}.json",
            vocabulary=f"{RESULTS}/vocabulary/{{corpus}}/{{part}}.json",
            drops=f"{RESULTS}/drops/annotate/{{corpus}}/{{part}}.json",
        log:
            "logs/detect/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            **MEMORIZATION.annotator(),
            code=code("detect"),
            numeric=MEMORIZATION.detector_libraries(),
            shards=CORPORA.shard_numbers,
            detector=MEMORIZATION.audit.objects.model_dump(mode="json"),
        script:
            "../workflow_scripts/detect.py"


rule embed_captions:
    """Unit float16 embeddings of the captions of a part."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        weights=MODELS.weights,
        vocabulary=MODELS.vocabulary,
    output:
        embeddings=f"{RESULTS}/caption_embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        drops=f"{RESULTS}/drops/embed_captions/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/embed_captions/{encoder}/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("embed_captions"),
        numeric=["torch", "open_clip_torch"],
        name="{encoder}",
        model=MODELS.encoder,
    script:
        "../workflow_scripts/embed_captions.py"


rule order_public:
    """The place of every public image by uid, which decides between equally similar ones."""
    input:
        samples=CORPORA.all_parts("samples/{public}.public"),
    output:
        order=f"{RESULTS}/public_order/{{public}}.json",
    log:
        "logs/order_public/{public}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("order_public"),
    script:
        "../workflow_scripts/order_public.py"


rule retrieve:
    """The public images nearest to the captions of a part."""
    input:
        captions=f"{RESULTS}/caption_embeddings/{{encoder}}/{{source}}.records/{{part}}.json",
        public=CORPORA.gathered_parts("embeddings/{encoder}/{public}.public"),
        order=f"{RESULTS}/public_order/{{public}}.json",
    output:
        retrieved=f"{RESULTS}/retrieved/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
    log:
        "logs/retrieve/{encoder}/{public}/{source}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("retrieve"),
        neighbors=max(MEMORIZATION.audit.neighbors),
    script:
        "../workflow_scripts/retrieve.py"


rule recall:
    """How many objects of each record's picture the public images nearest to its caption show."""
    input:
        retrieved=f"{RESULTS}/retrieved/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
        records=f"{RESULTS}/samples/{{source}}.records/{{part}}.json",
        truths=f"{RESULTS}/objects/{{source}}.drawn/{{part}}.json",
        public=CORPORA.gathered_parts("objects/{public}.drawn"),
    output:
        recalls=f"{RESULTS}/recalls/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
    log:
        "logs/recall/{encoder}/{public}/{source}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("recall"),
        neighbors=MEMORIZATION.audit.neighbors,
        top=MEMORIZATION.audit.top,
    script:
        "../workflow_scripts/recall.py"


rule measure:
    """The metrics of a point: of the population, and of its most exposed records."""
    input:
        unpack(MEMORIZATION.point_inputs),
    output:
        gaps=f"{RESULTS}/gaps/{{public}}/{{point}}.json",
        survival=f"{RESULTS}/survival/{{public}}/{{point}}.json",
        sample_gaps=f"{RESULTS}/sample_gaps/{{public}}/{{point}}.json",
    log:
        "logs/measure/{public}/{point}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("measure"),
        numeric=["numpy", "scipy"],
        neighbors=MEMORIZATION.audit.neighbors,
        seed=MEMORIZATION.audit.seed,
        shards=MEMORIZATION.shards_of_sources,
    script:
        "../workflow_scripts/measure.py"


if MEMORIZATION.audit.utility:

    rule evaluate_utility:
        """What a model predicts for every image of the test sets that measure its use."""
        input:
            **MODELS.test_set_inputs(MEMORIZATION.audit.utility),
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            **{
                test_set: f"{RESULTS}/utility/{{encoder}}/{test_set}.json"
                for test_set in MEMORIZATION.audit.utility
            },
        log:
            "logs/evaluate_utility/{encoder}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("evaluate"),
            numeric=CLIP_LIBRARIES,
            script="evaluate",
            model=MODELS.encoder,
            batch_size=MODELS.batch_size,
            tasks=MODELS.zero_shot_tasks(MEMORIZATION.audit.utility),
            class_files=MODELS.label_sets(MEMORIZATION.audit.utility),
        script:
            "../workflow_scripts/evaluate.py"


if MEMORIZATION.audit.selections:

    rule select:
        """Which of its candidate captions a model finds nearest to every picture."""
        input:
            tars=CORPORA.tars(MEMORIZATION.selected),
            samples=CORPORA.by_part_of_each("samples", MEMORIZATION.selected),
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            **{
                name: f"{RESULTS}/selections/{{encoder}}/{name}.json"
                for name in MEMORIZATION.audit.selections
            },
        log:
            "logs/select/{encoder}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("select"),
            numeric=CLIP_LIBRARIES,
            model=MODELS.encoder,
            batch_size=MODELS.batch_size,
            sets=MEMORIZATION.selection_sets(),
        script:
            "../workflow_scripts/select.py"


rule examples:
    """The most memorized records, with their captions, labels and neighbours."""
    input:
        unpack(MEMORIZATION.example_inputs),
    output:
        labels=f"{RESULTS}/examples/{{public}}.json",
        neighbors=f"{RESULTS}/example_neighbors/{{public}}.json",
        boxes=f"{RESULTS}/example_boxes/{{public}}.json",
    log:
        "logs/examples/{public}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("examples"),
        neighbors=MEMORIZATION.audit.neighbors[0],
        examples=MEMORIZATION.audit.examples,
        shards=MEMORIZATION.shards_of_sources,
    script:
        "../workflow_scripts/examples.py"


rule report_memorized:
    """The most memorized samples: their pictures, and what both models find by their captions."""
    input:
        unpack(REPORTS.gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_memorized/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.galleries("memorization")),
    conda:
        ENVIRONMENT
    params:
        code=code("report_memorized"),
        numeric=["matplotlib", "pillow"],
        options=REPORTS.gallery("options"),
        sources=REPORTS.gallery("sources"),
        name="{figure}",
        caption=REPORTS.gallery("caption"),
    script:
        "../workflow_scripts/report_memorized.py"
