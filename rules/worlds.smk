"""Synthetic data that the project makes.

Inputs: `worlds` of the settings; `blurred` corpora need the shards of another one.
Outputs: data/<world>/<corpus>/<shard>.tar with its truth table, classes.txt, bpe.txt.gz;
data/blurred/<corpus>/<shard>.tar.
These are data, not results: plain files that a rerun of the audits never removes.
"""


rule generate_shard:
    """One shard of a world's corpus, and its truth table."""
    output:
        tar="data/{world}/{corpus}/{shard}.tar",
        truth="data/{world}/{corpus}/{shard}.truth.parquet",
    log:
        "logs/generate_shard/{world}/{corpus}/{shard}.log",
    wildcard_constraints:
        world=one_of(RUN.worlds),
    conda:
        ENVIRONMENT
    params:
        code=code("generate_shard"),
        world=setting_of(RUN.worlds, "world"),
    script:
        "../workflow_scripts/generate_shard.py"


rule generate_words:
    """The class names of a world, and a vocabulary for its captions."""
    output:
        classes="data/{world}/classes.txt",
        vocabulary="data/{world}/bpe.txt.gz",
    log:
        "logs/generate_words/{world}.log",
    wildcard_constraints:
        world=one_of(RUN.worlds),
    conda:
        ENVIRONMENT
    params:
        code=code("generate_words"),
        world=setting_of(RUN.worlds, "world"),
    script:
        "../workflow_scripts/generate_words.py"


rule blur:
    """One shard of a corpus with faces blurred; everything else is unchanged."""
    input:
        tar=CORPORA.unblurred_tar,
        detector=CORPORA.face_detector,
    output:
        tar="data/blurred/{corpus}/{shard}.tar",
    log:
        "logs/blur/{corpus}/{shard}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA.blurred),
    conda:
        ENVIRONMENT
    params:
        code=code("blur"),
        settings=setting_of(CORPORA.blurred, "corpus"),
    script:
        "../workflow_scripts/blur.py"
