"""Models -> predictions, one per test image.

Needs: a model of this workflow, an encoder (recipe `pretrained`), or a classifier from elsewhere
(recipe `classifier`).
Makes: predictions/<recipe>/<manifest>/<test set>.json.
"""


rule evaluate:
    """What a model predicts for every image of every test set, by prompts."""
    input:
        **test_set_inputs(EVALUATED),
        weights=evaluated_weights,
        vocabulary=lambda wildcards: vocabulary_file(
            evaluated_architecture(wildcards.recipe, wildcards.manifest)
        ),
    output:
        **prediction_outputs(EVALUATED),
    log:
        "logs/evaluate/{recipe}/{manifest}.log",
    wildcard_constraints:
        recipe=one_of(["pretrained", *RUN.recipes]),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("evaluate"),
        numeric=CLIP_LIBRARIES,
        model=evaluated_model,
        batch_size=evaluated_batch_size,
        tasks=zero_shot_tasks(EVALUATED),
        class_files=label_sets(EVALUATED),
    script:
        "../workflow_scripts/evaluate.py"


if pair_test_sets():

    use rule evaluate as evaluate_pairs with:
        input:
            **test_set_inputs(pair_test_sets()),
            weights=evaluated_weights,
            vocabulary=lambda wildcards: vocabulary_file(
                evaluated_architecture(wildcards.recipe, wildcards.manifest)
            ),
        output:
            **prediction_outputs(pair_test_sets()),
        log:
            "logs/evaluate_pairs/{recipe}/{manifest}.log",
        params:
            code=code("evaluate"),
            numeric=CLIP_LIBRARIES,
            script="evaluate",
            model=evaluated_model,
            batch_size=evaluated_batch_size,
            tasks=zero_shot_tasks(pair_test_sets()),
            class_files=label_sets(pair_test_sets()),


if classified():

    rule classify:
        """What a classifier predicts for every image of every test set that has its classes."""
        input:
            **test_set_inputs(classified()),
            weights=classifier_weights,
        output:
            **prediction_outputs(classified()),
        log:
            "logs/classify/{recipe}/{manifest}.log",
        wildcard_constraints:
            recipe=one_of(["classifier", *RUN.supervised_recipes]),
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("classify"),
            numeric=["torch", "torchvision", "timm", "pillow"],
            model=classified_model,
            batch_size=classified_batch_size,
            tasks=zero_shot_tasks(classified()),
            class_files=label_sets(classified()),
        script:
            "../workflow_scripts/classify.py"
