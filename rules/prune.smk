"""Similarities -> manifests.

Needs: a base to start from: manifests/<corpus>/all/ or deduplicated/; similarities of the corpus.
Makes: manifests/<corpus>/<base>.<pruning>/ by part: <test set>-pruned and combined-pruned by gaps,
the others (near, far, rand, random-as, semdedup) by a cut through an order: cuts/<corpus>/.
"""


rule gap:
    """The manifest without the samples nearer to a test sample than the small set is."""
    input:
        base=pruning_base,
        similarities=lambda wildcards: (
            f"{RESULTS}/similarities/{AUDIT.encoder}/{wildcards.corpus}/{wildcards.part}.json"
        ),
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{base}}.{{pruning}}-pruned/{{part}}.json",
    log:
        "logs/gap/{corpus}/{base}.{pruning}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("gap"),
        renamed=["pruning"],  # a label that is not the wildcard
        pruning=lambda wildcards: f"{wildcards.base}.{wildcards.pruning}-pruned",
        test_sets=gap_test_sets,
    script:
        "../workflow_scripts/gap.py"


rule cut:
    """Where an order of samples is cut: the sizes of all parts decide."""
    input:
        unpack(cut_inputs),
    output:
        cut=f"{RESULTS}/cuts/{{corpus}}/{{base}}.{{pruning}}.json",
    log:
        "logs/cut/{corpus}/{base}.{pruning}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("cut"),
        name=lambda wildcards: f"{wildcards.corpus}, {wildcards.base}.{wildcards.pruning}",
        order=cut_order,
        size=cut_size,
        shards=lambda wildcards: [
            RUN.part_shards(wildcards.corpus, part)
            for part in RUN.parts(wildcards.corpus)
        ],
    script:
        "../workflow_scripts/cut.py"


rule prune_at_cut:
    """The manifest of a part without the samples that a cut takes away."""
    input:
        unpack(pruned_at_cut_inputs),
        base=pruning_base,
        cut=f"{RESULTS}/cuts/{{corpus}}/{{base}}.{{pruning}}.json",
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{base}}.{{pruning}}/{{part}}.json",
    log:
        "logs/prune_at_cut/{corpus}/{base}.{pruning}/{part}.log",
    wildcard_constraints:
        pruning=r"(?![^/.]*-pruned[/.])[^/.]+",
    conda:
        ENVIRONMENT
    params:
        code=code("prune_at_cut"),
        renamed=["pruning"],  # a label that is not the wildcard
        pruning=lambda wildcards: f"{wildcards.base}.{wildcards.pruning}",
        order=cut_order,
        shards=shard_numbers,
    script:
        "../workflow_scripts/prune_at_cut.py"
