"""Models of A and B -> what they recall of their records' images, and its metrics.

Inputs: the sets; `memorization.recipe` and its grid; `objects`; labelled corpora for utility.
Outputs:
- objects/, vocabulary/, caption_embeddings/<model>/<corpus>/ by part; sorted_objects/<corpus>.json,
  if given;
- public_order/<public>.json; retrieved/, recalls/<model>/<public>/<source>/ by part;
- gaps/, survival/, sample_gaps/<public>/<point>.json; with several random seeds ensemble_gaps/,
  ensemble_records/<public>/<point>.json;
- pair_scores/<model>/<source>/ by part; if asked for, augmented_embeddings/,
  augmented_picture_embeddings/<model>/<corpus>/ and augmented_scores/,
  augmented_picture_scores/<model>/<source>/ by part;
- pair_tests/, one_model/<model>/<source>/<hold-out's source>.json; with several random seeds
  pair_tests_over_seeds/, one_model_over_seeds/<source>/<hold-out's source>.json;
- word_recalls/, caption_recalls/, retrieved_captions/ as recalls/ and retrieved/;
- examples/, example_neighbors/, example_boxes/<public>.json; figures/<figure>.json;
- utility/<model>/<test set>.json; selections/<model>/<set>.json.
"""

if MEMORIZATION.audit.objects.annotator == "dataset":

    rule annotate:
        """The objects in the images of a part, as the samples' JSON states them."""
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
            states=CORPORA.states(MEMORIZATION.names_files()),
            names=MEMORIZATION.audit.objects.names,
        script:
            "../workflow_scripts/annotate.py"

elif MEMORIZATION.audit.objects.annotator == "given":

    rule sort_objects:
        """Precomputed objects in a corpus's images, in the order of its samples."""
        input:
            samples=CORPORA.gathered_parts("samples/{corpus}"),
            files=MEMORIZATION.given_objects,
        output:
            objects=f"{RESULTS}/sorted_objects/{{corpus}}.json",
        log:
            "logs/sort_objects/{corpus}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("sort_objects"),
            states=CORPORA.states(MEMORIZATION.given_objects),
            join=MEMORIZATION.given_join,
        script:
            "../workflow_scripts/sort_objects.py"

    rule take_objects:
        """Precomputed objects in the images of a part, joined to its samples."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            given=f"{RESULTS}/sorted_objects/{{corpus}}.json",
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
            states=CORPORA.states(MEMORIZATION.names_files()),
            shards=CORPORA.shard_numbers,
            threshold=MEMORIZATION.audit.objects.threshold,
            names=MEMORIZATION.audit.objects.names,
        script:
            "../workflow_scripts/take_objects.py"

else:

    rule detect:
        """The objects that a detector finds in the images of a part."""
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
            states=CORPORA.states(MEMORIZATION.detector_files()),
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
        states=MODELS.states(),
    script:
        "../workflow_scripts/embed_captions.py"


rule order_public:
    """The rank of every public image by uid, which breaks ties in similarity."""
    input:
        samples=CORPORA.all_parts("samples/{public}.public"),
    output:
        order=f"{RESULTS}/public_order/{{public}}.json",
    log:
        "logs/order_public/{public}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("order_public"),
    script:
        "../workflow_scripts/order_public.py"


rule retrieve:
    """The public images nearest to the captions of a part."""
    input:
        captions=MEMORIZATION.records("caption_embeddings/{encoder}"),
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
    """How many objects of each record's image the public images nearest to its caption show."""
    input:
        retrieved=f"{RESULTS}/retrieved/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
        records=MEMORIZATION.records("samples"),
        truths=f"{RESULTS}/objects/{{source}}.drawn/{{part}}.json",
        public=CORPORA.gathered_parts("objects/{public}.drawn"),
    output:
        recalls=f"{RESULTS}/recalls/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
    log:
        "logs/recall/{encoder}/{public}/{source}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("recall"),
        neighbors=MEMORIZATION.audit.neighbors,
        top=MEMORIZATION.audit.top,
    script:
        "../workflow_scripts/recall.py"


rule measure:
    """The metrics of a point: for the population, and for its most exposed records."""
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
    resources:
        mem_mb=memory(16),
    params:
        code=code("measure"),
        numeric=["numpy", "scipy"],
        neighbors=MEMORIZATION.audit.neighbors,
        seed=MEMORIZATION.audit.seed,
        shards=MEMORIZATION.shards_of_sources,
    script:
        "../workflow_scripts/measure.py"


if MEMORIZATION.audit.seeds > 1:

    rule ensemble:
        """Results of a point's models over all random seeds: gaps, and memorized records."""
        input:
            unpack(MEMORIZATION.ensemble_inputs),
        output:
            gaps=f"{RESULTS}/ensemble_gaps/{{public}}/{{point}}.json",
            records=f"{RESULTS}/ensemble_records/{{public}}/{{point}}.json",
        log:
            "logs/ensemble/{public}/{point}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(8),
        params:
            code=code("ensemble"),
            numeric=["numpy", "scipy"],
            models=MEMORIZATION.ensemble_models,
            sources=MEMORIZATION.with_records,
            neighbors=MEMORIZATION.audit.neighbors,
        script:
            "../workflow_scripts/ensemble.py"


rule score_pairs:
    """The similarity of the captions and images of a part's records."""
    input:
        captions=MEMORIZATION.records("caption_embeddings/{encoder}"),
        pictures=MEMORIZATION.records("embeddings/{encoder}"),
    output:
        scores=f"{RESULTS}/pair_scores/{{encoder}}/{{source}}/{{part}}.json",
    log:
        "logs/score_pairs/{encoder}/{source}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("score_pairs"),
    script:
        "../workflow_scripts/score_pairs.py"


rule score_augmented:
    """The similarity of a part's images to their captions with one word removed."""
    input:
        versions=MEMORIZATION.records("augmented_embeddings/{encoder}"),
        others=MEMORIZATION.records("embeddings/{encoder}"),
    output:
        scores=f"{RESULTS}/augmented_scores/{{encoder}}/{{source}}/{{part}}.json",
    log:
        "logs/score_augmented/{encoder}/{source}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("score_augmented"),
    script:
        "../workflow_scripts/score_augmented.py"


use rule score_augmented as score_augmented_pictures with:
    input:
        versions=MEMORIZATION.records("augmented_picture_embeddings/{encoder}"),
        others=MEMORIZATION.records("caption_embeddings/{encoder}"),
    output:
        scores=f"{RESULTS}/augmented_picture_scores/{{encoder}}/{{source}}/{{part}}.json",
    log:
        "logs/score_augmented_pictures/{encoder}/{source}/{part}.log",
    params:
        code=code("score_augmented"),
        script="score_augmented",


if MEMORIZATION.audit.augmented:

    rule embed_augmented:
        """Embeddings of the captions of a part, each in several versions with one word removed."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            embeddings=f"{RESULTS}/augmented_embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
            drops=f"{RESULTS}/drops/embed_augmented/{{encoder}}/{{corpus}}/{{part}}.json",
        log:
            "logs/embed_augmented/{encoder}/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("embed_augmented"),
            numeric=["torch", "open_clip_torch"],
            name="{encoder}",
            model=MODELS.encoder,
            states=MODELS.states(),
            versions=MEMORIZATION.audit.augmented,
            seed=MEMORIZATION.audit.seed,
        script:
            "../workflow_scripts/embed_augmented.py"


if MEMORIZATION.audit.augmented_pictures:

    rule embed_augmented_pictures:
        """Embeddings of the images of a part, each cropped and mirrored in several ways."""
        input:
            tars=CORPORA.part_tars,
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            weights=MODELS.weights,
            vocabulary=MODELS.vocabulary,
        output:
            embeddings=f"{RESULTS}/augmented_picture_embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
            drops=f"{RESULTS}/drops/embed_augmented_pictures/{{encoder}}/{{corpus}}/{{part}}.json",
        log:
            "logs/embed_augmented_pictures/{encoder}/{corpus}/{part}.log",
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("embed_augmented_pictures"),
            numeric=CLIP_LIBRARIES,
            name="{encoder}",
            shards=CORPORA.shard_numbers,
            model=MODELS.encoder,
            states=MODELS.states(),
            versions=MEMORIZATION.audit.augmented_pictures,
            seed=MEMORIZATION.audit.seed,
        script:
            "../workflow_scripts/embed_augmented_pictures.py"


rule pair_test:
    """Whether a model knows the pairs of a source that it was trained on, against a hold-out."""
    input:
        unpack(MEMORIZATION.pair_test_inputs),
    output:
        test=f"{RESULTS}/pair_tests/{{encoder}}/{{source}}/{{holdout}}.json",
    log:
        "logs/pair_test/{encoder}/{source}/{holdout}.log",
    wildcard_constraints:
        holdout=one_of(MEMORIZATION.audit.held_out),
    conda:
        ENVIRONMENT
    params:
        code=code("pair_test"),
        numeric=["numpy", "scipy"],
        neighbors=MEMORIZATION.audit.neighbors[0],
        seed=MEMORIZATION.audit.seed,
        shards=MEMORIZATION.shards_of_sources,
    script:
        "../workflow_scripts/pair_test.py"


if MEMORIZATION.audit.seeds > 1:

    rule pair_tests_over_seeds:
        """Whether the default models know the pairs that they were trained on, over all seeds."""
        input:
            tests=MEMORIZATION.default_tests,
        output:
            tests=f"{RESULTS}/pair_tests_over_seeds/{{source}}/{{holdout}}.json",
        log:
            "logs/pair_tests_over_seeds/{source}/{holdout}.log",
        wildcard_constraints:
            holdout=one_of(MEMORIZATION.audit.held_out),
        conda:
            ENVIRONMENT
        params:
            code=code("pair_tests_over_seeds"),
            numeric=["numpy", "scipy"],
            models=MEMORIZATION.default_models,
        script:
            "../workflow_scripts/pair_tests_over_seeds.py"


rule recall_by_words:
    """How many objects of each record's image the words of its caption predict."""
    input:
        recalls=f"{RESULTS}/recalls/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
        records=MEMORIZATION.records("samples"),
        truths=f"{RESULTS}/objects/{{source}}.drawn/{{part}}.json",
        captions=CORPORA.gathered_parts("samples/{public}.public"),
        shown=CORPORA.gathered_parts("objects/{public}.drawn"),
    output:
        recalls=f"{RESULTS}/word_recalls/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
    log:
        "logs/recall_by_words/{encoder}/{public}/{source}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("recall_by_words"),
        numeric=["numpy", "scipy"],
        top=MEMORIZATION.audit.top,
    script:
        "../workflow_scripts/recall_by_words.py"


use rule retrieve as retrieve_captions with:
    input:
        captions=MEMORIZATION.records("caption_embeddings/{encoder}"),
        public=CORPORA.gathered_parts("caption_embeddings/{encoder}/{public}.public"),
        order=f"{RESULTS}/public_order/{{public}}.json",
    output:
        retrieved=f"{RESULTS}/retrieved_captions/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
    log:
        "logs/retrieve_captions/{encoder}/{public}/{source}/{part}.log",
    params:
        code=code("retrieve"),
        script="retrieve",
        neighbors=max(MEMORIZATION.audit.neighbors),


use rule recall as recall_by_captions with:
    input:
        retrieved=f"{RESULTS}/retrieved_captions/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
        records=MEMORIZATION.records("samples"),
        truths=f"{RESULTS}/objects/{{source}}.drawn/{{part}}.json",
        public=CORPORA.gathered_parts("objects/{public}.drawn"),
    output:
        recalls=f"{RESULTS}/caption_recalls/{{encoder}}/{{public}}/{{source}}/{{part}}.json",
    log:
        "logs/recall_by_captions/{encoder}/{public}/{source}/{part}.log",
    params:
        code=code("recall"),
        script="recall",
        neighbors=MEMORIZATION.audit.neighbors,
        top=MEMORIZATION.audit.top,


rule one_model:
    """What a model recalls beyond what captions alone reveal, for its records and a hold-out."""
    input:
        unpack(MEMORIZATION.one_model_inputs),
    output:
        gaps=f"{RESULTS}/one_model/{{encoder}}/{{source}}/{{holdout}}.json",
    log:
        "logs/one_model/{encoder}/{source}/{holdout}.log",
    wildcard_constraints:
        holdout=one_of(MEMORIZATION.audit.held_out),
    conda:
        ENVIRONMENT
    params:
        code=code("one_model"),
        numeric=["numpy", "scipy"],
        neighbors=MEMORIZATION.audit.neighbors,
        shards=MEMORIZATION.shards_of_sources,
    script:
        "../workflow_scripts/one_model.py"


if MEMORIZATION.audit.seeds > 1:

    rule one_model_over_seeds:
        """What the default models of A recall beyond what captions alone reveal, over all seeds."""
        input:
            tests=MEMORIZATION.default_one_models,
        output:
            tests=f"{RESULTS}/one_model_over_seeds/{{source}}/{{holdout}}.json",
        log:
            "logs/one_model_over_seeds/{source}/{holdout}.log",
        wildcard_constraints:
            holdout=one_of(MEMORIZATION.audit.held_out),
        conda:
            ENVIRONMENT
        params:
            code=code("one_model_over_seeds"),
            numeric=["numpy", "scipy"],
        script:
            "../workflow_scripts/one_model_over_seeds.py"


if MEMORIZATION.audit.utility:

    rule evaluate_utility:
        """A model's predictions for every image of the test sets that measure its accuracy."""
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
            states=MODELS.states(MODELS.test_set_inputs(MEMORIZATION.audit.utility)),
            batch_size=MODELS.batch_size,
            tasks=MODELS.zero_shot_tasks(MEMORIZATION.audit.utility),
            class_files=MODELS.label_sets(MEMORIZATION.audit.utility),
        script:
            "../workflow_scripts/evaluate.py"


if MEMORIZATION.audit.selections:

    rule select:
        """The candidate caption that a model finds nearest, for every image."""
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
            states=MODELS.states(),
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
    resources:
        mem_mb=memory(16),
    params:
        code=code("examples"),
        neighbors=MEMORIZATION.audit.neighbors[0],
        examples=MEMORIZATION.audit.examples,
        shards=MEMORIZATION.shards_of_sources,
    script:
        "../workflow_scripts/examples.py"


rule report_memorized:
    """The most memorized samples: their images, and what both models find by their captions."""
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
        caption=REPORTS.caption,
    script:
        "../workflow_scripts/report_memorized.py"
