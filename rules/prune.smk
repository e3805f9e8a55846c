"""Similarities -> manifests.

Needs: similarities of the large corpus with its gap tests.
Makes: manifests/<large>/<test set>-pruned/ and combined-pruned/ by part;
manifests/<large>/random-as-<test set>/ by part, with its cut in cuts/<large>/.
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
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("gap"),
        pruning=lambda wildcards: f"{wildcards.pruning}-pruned",
        test_sets=lambda wildcards: (
            AUDIT.test_sets if wildcards.pruning == "combined" else [wildcards.pruning]
        ),
    script:
        "../workflow_scripts/gap.py"


rule random_cut:
    """Where the random order is cut so that as many samples stay as in a pruned manifest."""
    input:
        manifests=lambda wildcards: by_part(
            f"manifests/{wildcards.corpus}/{wildcards.pruning}-pruned",
            wildcards.corpus,
        ),
    output:
        cut=f"{RESULTS}/cuts/{{corpus}}/random-as-{{pruning}}.json",
    log:
        "logs/random_cut/{corpus}/{pruning}.log",
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("random_cut"),
        seed=AUDIT.evidence.seed if AUDIT.evidence else 0,
    script:
        "../workflow_scripts/random_cut.py"


rule randomly:
    """The manifest of the size of a pruned one, drawn at random."""
    input:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{pruning}}-pruned/{{part}}.json",
        cut=f"{RESULTS}/cuts/{{corpus}}/random-as-{{pruning}}.json",
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/random-as-{{pruning}}/{{part}}.json",
    log:
        "logs/randomly/{corpus}/{pruning}/{part}.log",
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("randomly"),
        seed=AUDIT.evidence.seed if AUDIT.evidence else 0,
        pruning=lambda wildcards: f"random-as-{wildcards.pruning}",
    script:
        "../workflow_scripts/randomly.py"
