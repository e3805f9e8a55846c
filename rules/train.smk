"""Manifests -> models.

Inputs: `recipes` and `architectures`, or `supervised_recipes`; a sealed manifest.
Outputs: models/<recipe>/<manifest>.json (the last epoch; <manifest>.epochs/ has those that an encoder names),
curves/<recipe>/<manifest>.json, checkpoints/<recipe>/<manifest>/<epochs>.json.
"""


rule train:
    """A CLIP model trained on a manifest."""
    input:
        sealed=f"{RESULTS}/sealed/{{manifest}}.json",
        start=MODELS.start,
        vocabulary=MODELS.recipe_vocabulary,
    output:
        model=f"{RESULTS}/models/{{recipe}}/{{manifest}}.json",
        curves=f"{RESULTS}/curves/{{recipe}}/{{manifest}}.json",
    log:
        "logs/train/{recipe}/{manifest}.log",
    wildcard_constraints:
        recipe=one_of(RUN.recipes),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("train"),
        numeric=CLIP_LIBRARIES,
        states=CORPORA.states(MODELS.recipe_vocabulary),
        reads_labels=False,
        recipe=setting_of(RUN.recipes, "recipe"),
        kept_epochs=MODELS.kept_epochs,
        architecture=MODELS.recipe_architecture,
    script:
        "../workflow_scripts/train.py"


rule train_supervised:
    """A classifier trained on a manifest of labelled corpora."""
    input:
        sealed=f"{RESULTS}/sealed/{{manifest}}.json",
        classes=CORPORA.manifest_classes,
    output:
        model=f"{RESULTS}/models/{{recipe}}/{{manifest}}.json",
        curves=f"{RESULTS}/curves/{{recipe}}/{{manifest}}.json",
    log:
        "logs/train_supervised/{recipe}/{manifest}.log",
    wildcard_constraints:
        recipe=one_of(RUN.supervised_recipes),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("train_supervised"),
        numeric=[*CLIP_LIBRARIES, "timm"],
        states=CORPORA.states(CORPORA.manifest_classes),
        reads_labels=False,
        recipe=setting_of(RUN.supervised_recipes, "recipe"),
    script:
        "../workflow_scripts/train_supervised.py"


rule checkpoint:
    """A model of this workflow after an earlier epoch of its training."""
    input:
        model=f"{RESULTS}/models/{{recipe}}/{{manifest}}.json",
    output:
        checkpoint=f"{RESULTS}/checkpoints/{{recipe}}/{{manifest}}/{{epochs}}.json",
    log:
        "logs/checkpoint/{recipe}/{manifest}/{epochs}.log",
    wildcard_constraints:
        recipe=one_of(RUN.recipes),
        epochs=one_of(MODELS.asked_epochs()),
    conda:
        ENVIRONMENT
    params:
        code=code("checkpoint"),
        epochs=lambda wildcards: int(wildcards.epochs),
    script:
        "../workflow_scripts/checkpoint.py"
