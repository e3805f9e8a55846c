"""Embeddings -> exact similarities, both directions in one pass over a part.

Needs: `similarity`: the test sets, the large and the small corpus.
Makes: similarities/<encoder>/<corpus>/ (per train sample), neighbors/<encoder>/<corpus>/ (per test
sample) by part; neighbors/<encoder>/<corpus>.json merged over the parts. The same among the samples
that a manifest keeps: kept_neighbors/<encoder>/<search>/<corpus>.
"""


rule nearest:
    """The nearest neighbours between one part and all test sets."""
    input:
        train=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        tests=lambda wildcards: [
            path
            for test_set in AUDIT.test_sets
            for path in by_part(f"embeddings/{wildcards.encoder}/{test_set}", test_set)
        ],
        gaps=gap_neighbors,
    output:
        similarities=f"{RESULTS}/similarities/{{encoder}}/{{corpus}}/{{part}}.json",
        neighbors=f"{RESULTS}/neighbors/{{encoder}}/{{corpus}}/{{part}}.json",
    log:
        "logs/nearest/{encoder}/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("nearest"),
        test_sets=AUDIT.test_sets,
        neighbors=AUDIT.neighbors,
    script:
        "../workflow_scripts/nearest.py"


rule merge_neighbors:
    """The nearest train samples of every test sample, over all parts."""
    input:
        parts=lambda wildcards: by_part(
            f"neighbors/{wildcards.encoder}/{wildcards.corpus}", wildcards.corpus
        ),
    output:
        neighbors=f"{RESULTS}/neighbors/{{encoder}}/{{corpus}}.json",
    log:
        "logs/merge_neighbors/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("merge_neighbors"),
        test_sets=AUDIT.test_sets,
        neighbors=AUDIT.neighbors,
    script:
        "../workflow_scripts/merge_neighbors.py"


rule nearest_kept:
    """The neighbours of some test sets among the samples of a part that a manifest keeps."""
    input:
        train=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        manifest=searched_manifest,
        tests=lambda wildcards: [
            path
            for test_set in SEARCHES[wildcards.search].test_sets
            for path in by_part(f"embeddings/{wildcards.encoder}/{test_set}", test_set)
        ],
    output:
        neighbors=f"{RESULTS}/kept_neighbors/{{encoder}}/{{search}}/{{corpus}}/{{part}}.json",
    log:
        "logs/nearest_kept/{encoder}/{search}/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("nearest_kept"),
        test_sets=lambda wildcards: list(SEARCHES[wildcards.search].test_sets),
        neighbors=AUDIT.neighbors,
    script:
        "../workflow_scripts/nearest_kept.py"


use rule merge_neighbors as merge_kept_neighbors with:
    input:
        parts=lambda wildcards: by_part(
            f"kept_neighbors/{wildcards.encoder}/{wildcards.search}/{wildcards.corpus}",
            wildcards.corpus,
        ),
    output:
        neighbors=f"{RESULTS}/kept_neighbors/{{encoder}}/{{search}}/{{corpus}}.json",
    log:
        "logs/merge_kept_neighbors/{encoder}/{search}/{corpus}.log",
    params:
        code=code("merge_neighbors"),
        script="merge_neighbors",
        test_sets=lambda wildcards: list(SEARCHES[wildcards.search].test_sets),
        neighbors=AUDIT.neighbors,
