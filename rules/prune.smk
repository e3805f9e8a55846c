"""Similarities -> manifests.

Inputs: a base manifest, such as manifests/<corpus>/all/; similarities of the corpus.
Outputs: manifests/<corpus>/<base>.<pruning>/ by part: <test set>-pruned and combined-pruned by gaps,
<test set>-minus-<margin>-pruned and -plus- by gaps with a margin, the others (near, far, rand,
random-as, semdedup) by a cut through an order: cuts/<corpus>/.
"""

BESIDES += SIMILARITY.untrained_cuts()


rule gap:
    """The manifest without the samples nearer to a test sample than the small set is."""
    input:
        base=f"{RESULTS}/manifests/{{corpus}}/{{base}}/{{part}}.json",
        similarities=(
            f"{RESULTS}/similarities/{SIMILARITY.audit.encoder}/{{corpus}}/{{part}}.json"
        ),
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{base}}.{{pruning}}-pruned/{{part}}.json",
    log:
        "logs/gap/{corpus}/{base}.{pruning}/{part}.log",
    wildcard_constraints:
        corpus=one_of(SIMILARITY.pruned),
    conda:
        ENVIRONMENT
    params:
        code=code("gap"),
        renamed=["pruning"],  # a label that is not the wildcard
        pruning="{base}.{pruning}-pruned",
        test_sets=SIMILARITY.gap_test_sets,
        margin=SIMILARITY.gap_margin,
    script:
        "../workflow_scripts/gap.py"


rule cut:
    """The cut in an order of samples, from the sizes of all parts."""
    input:
        unpack(SIMILARITY.cut_inputs),
    output:
        cut=f"{RESULTS}/cuts/{{corpus}}/{{base}}.{{pruning}}.json",
    log:
        "logs/cut/{corpus}/{base}.{pruning}.log",
    wildcard_constraints:
        corpus=one_of(SIMILARITY.pruned),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("cut"),
        name="{corpus}, {base}.{pruning}",
        order=SIMILARITY.cut_order,
        size=SIMILARITY.cut_size,
        shards=SIMILARITY.cut_shards,
    script:
        "../workflow_scripts/cut.py"


rule prune_at_cut:
    """The manifest of a part without the samples that a cut removes."""
    input:
        unpack(SIMILARITY.pruned_at_cut_inputs),
        base=f"{RESULTS}/manifests/{{corpus}}/{{base}}/{{part}}.json",
        cut=f"{RESULTS}/cuts/{{corpus}}/{{base}}.{{pruning}}.json",
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{base}}.{{pruning}}/{{part}}.json",
    log:
        "logs/prune_at_cut/{corpus}/{base}.{pruning}/{part}.log",
    wildcard_constraints:
        corpus=one_of(SIMILARITY.pruned),
        pruning=r"(?![^/.]*-pruned[/.])[^/.]+",
    conda:
        ENVIRONMENT
    params:
        code=code("prune_at_cut"),
        renamed=["pruning"],  # a label that is not the wildcard
        pruning="{base}.{pruning}",
        order=SIMILARITY.cut_order,
        shards=CORPORA.shard_numbers,
    script:
        "../workflow_scripts/prune_at_cut.py"
