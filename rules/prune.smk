"""Similarities -> manifests.

Needs: similarities of the large corpus with its gap tests.
Makes: manifests/<large>/<test set>-pruned/ and combined-pruned/ by part.
"""


rule gap:
    """The manifest without the samples nearer to a test sample than the small set is."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        similarities=lambda wildcards: (
            f"{RESULTS}/similarities/{AUDIT.encoder}/{wildcards.corpus}/{wildcards.part}.json"
        ),
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{pruning}}-pruned/{{part}}.json",
    log:
        "logs/gap/{corpus}/{pruning}/{part}.log",
    params:
        code=code("gap"),
        pruning=lambda wildcards: f"{wildcards.pruning}-pruned",
        test_sets=lambda wildcards: (
            AUDIT.test_sets if wildcards.pruning == "combined" else [wildcards.pruning]
        ),
    script:
        "../workflow_scripts/gap.py"
