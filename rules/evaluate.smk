"""Models -> zero-shot predictions, one per test image.

Needs: a model of this workflow, or an encoder (recipe `pretrained`).
Makes: predictions/<recipe>/<manifest>/<test set>.json.
"""


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
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("evaluate"),
        model=evaluated_model,
        batch_size=evaluated_batch_size,
        tasks={test_set: zero_shot_task(test_set) for test_set in AUDIT.test_sets},
        class_files=label_sets(AUDIT.test_sets),
    script:
        "../workflow_scripts/evaluate.py"
