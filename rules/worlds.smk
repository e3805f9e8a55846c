"""Data that the project makes by itself.

Needs: `worlds` of the settings.
Makes: data/<world>/<corpus>/<shard>.tar with its truth table, classes.txt, bpe.txt.gz.
These are data like a user's own, not results: plain files, never removed by a rerun of the audits.
"""


rule generate_shard:
    """One shard of a corpus of a world, and the table of what is in it."""
    output:
        tar="data/{world}/{corpus}/{shard}.tar",
        truth="data/{world}/{corpus}/{shard}.truth.parquet",
    log:
        "logs/generate_shard/{world}/{corpus}/{shard}.log",
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("generate_shard"),
        world=lambda wildcards: RUN.worlds[wildcards.world].model_dump(mode="json"),
    script:
        "../workflow_scripts/generate_shard.py"


rule generate_words:
    """The class names of a world, and a vocabulary for its captions."""
    output:
        classes="data/{world}/classes.txt",
        vocabulary="data/{world}/bpe.txt.gz",
    log:
        "logs/generate_words/{world}.log",
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("generate_words"),
        world=lambda wildcards: RUN.worlds[wildcards.world].model_dump(mode="json"),
    script:
        "../workflow_scripts/generate_words.py"
