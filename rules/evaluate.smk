"""Models -> predictions, one per test image.

Inputs: a model of this workflow, an encoder (recipe `pretrained`), or a classifier from elsewhere
(recipe `classifier`).
Outputs: predictions/<recipe>/<manifest>/<test set>.json.
"""

from clipaudit.steps.paths import CLASSIFIER, PRETRAINED

if SIMILARITY.evaluated:

    rule evaluate:
        """A model's predictions for every image of every test set, from prompts."""
        input:
            **MODELS.test_set_inputs(SIMILARITY.evaluated),
            weights=SIMILARITY.evaluated_weights,
            vocabulary=SIMILARITY.evaluated_vocabulary,
        output:
            **SIMILARITY.predictions(SIMILARITY.evaluated),
        log:
            "logs/evaluate/{recipe}/{manifest}.log",
        wildcard_constraints:
            recipe=one_of([PRETRAINED, *RUN.recipes]),
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("evaluate"),
            numeric=CLIP_LIBRARIES,
            states=CORPORA.states(
                MODELS.test_set_inputs(SIMILARITY.evaluated),
                SIMILARITY.evaluated_weights,
                SIMILARITY.evaluated_vocabulary,
            ),
            model=SIMILARITY.evaluated_model,
            batch_size=SIMILARITY.evaluated_batch_size,
            tasks=MODELS.zero_shot_tasks(SIMILARITY.evaluated),
            class_files=MODELS.label_sets(SIMILARITY.evaluated),
        script:
            "../workflow_scripts/evaluate.py"


if SIMILARITY.pair_test_sets:

    use rule evaluate as evaluate_pairs with:
        input:
            **MODELS.test_set_inputs(SIMILARITY.pair_test_sets),
            weights=SIMILARITY.evaluated_weights,
            vocabulary=SIMILARITY.evaluated_vocabulary,
        output:
            **SIMILARITY.predictions(SIMILARITY.pair_test_sets),
        log:
            "logs/evaluate_pairs/{recipe}/{manifest}.log",
        params:
            code=code("evaluate"),
            numeric=CLIP_LIBRARIES,
            script="evaluate",
            states=CORPORA.states(
                SIMILARITY.evaluated_weights, SIMILARITY.evaluated_vocabulary
            ),
            model=SIMILARITY.evaluated_model,
            batch_size=SIMILARITY.evaluated_batch_size,
            tasks=MODELS.zero_shot_tasks(SIMILARITY.pair_test_sets),
            class_files=MODELS.label_sets(SIMILARITY.pair_test_sets),


if SIMILARITY.classified:

    rule classify:
        """A classifier's predictions for every image of every test set of its classes."""
        input:
            **MODELS.test_set_inputs(SIMILARITY.classified),
            **SIMILARITY.classes_of_classifiers(),
            weights=SIMILARITY.classifier_weights,
        output:
            **SIMILARITY.predictions(SIMILARITY.classified),
        log:
            "logs/classify/{recipe}/{manifest}.log",
        wildcard_constraints:
            recipe=one_of([CLASSIFIER, *RUN.supervised_recipes]),
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("classify"),
            numeric=["torch", "torchvision", "timm", "pillow"],
            states=CORPORA.states(
                MODELS.test_set_inputs(SIMILARITY.classified),
                SIMILARITY.classes_of_classifiers(),
                SIMILARITY.classifier_weights,
            ),
            model=SIMILARITY.classified_model,
            batch_size=SIMILARITY.classified_batch_size,
            tasks=MODELS.zero_shot_tasks(SIMILARITY.classified),
            class_files=MODELS.label_sets(SIMILARITY.classified),
            label_maps=SIMILARITY.label_maps(),
        script:
            "../workflow_scripts/classify.py"


rule report_gallery:
    """One gallery of a paper: test images beside the images nearest to them."""
    input:
        unpack(REPORTS.gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_gallery/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.galleries("similarity")),
    conda:
        ENVIRONMENT
    params:
        code=code("report_gallery"),
        numeric=["matplotlib", "pillow"],
        options=REPORTS.gallery("options"),
        sources=REPORTS.gallery("sources"),
        name="{figure}",
        caption=REPORTS.caption,
    script:
        "../workflow_scripts/report_gallery.py"
