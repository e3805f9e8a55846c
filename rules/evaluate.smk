"""Models -> zero-shot predictions, one per test image.

Needs: a model of this workflow, or an encoder (recipe `pretrained`).
Makes: predictions/<recipe>/<manifest>/<test set>.json.
"""


def evaluated_architecture(recipe, manifest):
    """The name of the architecture of an evaluated model."""
    return (
        encoder_architecture(manifest)
        if recipe == "pretrained"
        else RUN.recipes[recipe].architecture
    )


def evaluated_model(wildcards):
    """The settings of an evaluated model."""
    if wildcards.recipe == "pretrained":
        return encoder_settings(wildcards.manifest)
    used = RUN.recipes[wildcards.recipe].architecture
    return {"encoder": None, "architecture": architecture(used)}


def evaluated_batch_size(wildcards):
    """How many images go through the model at once: the encoder's setting, or its default."""
    if wildcards.recipe == "pretrained":
        return RUN.encoders[wildcards.manifest].batch_size
    return Encoder.model_fields["batch_size"].default


rule evaluate:
    """What a model predicts for every image of every test set."""
    input:
        weights=lambda wildcards: (
            encoder_files(wildcards.manifest)
            if wildcards.recipe == "pretrained"
            else trained(f"{wildcards.recipe}/{wildcards.manifest}")
        ),
        vocabulary=lambda wildcards: vocabulary_file(
            evaluated_architecture(wildcards.recipe, wildcards.manifest)
        ),
        tars=[path for test_set in AUDIT.test_sets for path in RUN.shards(test_set)],
        samples=[
            path
            for test_set in AUDIT.test_sets
            for path in by_part(f"samples/{test_set}", test_set)
        ],
        classes=[RUN.label_sets[name].classes for name in label_sets(AUDIT.test_sets)],
    output:
        **{
            test_set: f"{RESULTS}/predictions/{{recipe}}/{{manifest}}/{test_set}.json"
            for test_set in AUDIT.test_sets
        },
    log:
        "logs/evaluate/{recipe}/{manifest}.log",
    params:
        code=code("evaluate"),
        model=evaluated_model,
        batch_size=evaluated_batch_size,
        tasks={test_set: zero_shot_task(test_set) for test_set in AUDIT.test_sets},
        class_files=label_sets(AUDIT.test_sets),
    script:
        "../workflow_scripts/evaluate.py"
