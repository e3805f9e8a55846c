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
        tars=CORPORA.unblurred_tars,
        detector=CORPORA.face_detector,
    output:
        tars=["data/blurred/{shards}.tar"],
    log:
        "logs/blur/{shards}.log",
    wildcard_constraints:
        shards=one_of(CORPORA.last_blurred),
    conda:
        ENVIRONMENT
    params:
        code=code("blur"),
        script="blur",
        states=CORPORA.states(CORPORA.unblurred_tars, CORPORA.face_detector),
        settings=CORPORA.blurred_settings,
    script:
        "../workflow_scripts/blur.py"


# Ten shards, for a tenth of the jobs; `blur` makes the last ones of a corpus, which are fewer.
use rule blur as blur_ten with:
    output:
        tars=[f"data/blurred/{{shards}}{last}.tar" for last in range(10)],
    log:
        "logs/blur_ten/{shards}.log",
    wildcard_constraints:
        shards=rf"({one_of(CORPORA.blurred)})/\d+",  # matching a list of all tens takes minutes


ruleorder: blur > blur_ten
