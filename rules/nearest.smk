"""Embeddings -> exact similarities, both directions in one pass over a part.

Inputs: `similarity`: the test sets, the large and the small corpus.
Outputs: similarities/<encoder>/<corpus>/ (per train sample), neighbors/<encoder>/<corpus>/ (per test
sample) by part; neighbors/<encoder>/<corpus>.json merged over the parts. The same among the samples
that a manifest keeps: kept_neighbors/<encoder>/<search>/<corpus>.
"""

from clipaudit.similarity.settings import Similarity
from clipaudit.similarity.wiring import SimilarityFiles

SIMILARITY = SimilarityFiles(RUN.section(Similarity), MODELS, DEDUPLICATION)


rule nearest:
    """The nearest neighbours between one part and all test sets."""
    input:
        train=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        tests=SIMILARITY.test_embeddings,
        gaps=SIMILARITY.gap_neighbors,
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
        test_sets=SIMILARITY.audit.test_sets,
        neighbors=SIMILARITY.audit.neighbors,
        margin=SIMILARITY.searched_margin,
    script:
        "../workflow_scripts/nearest.py"


rule merge_neighbors:
    """The nearest train samples of every test sample, over all parts."""
    input:
        parts=CORPORA.all_parts("neighbors/{encoder}/{corpus}"),
    output:
        neighbors=f"{RESULTS}/neighbors/{{encoder}}/{{corpus}}.json",
    log:
        "logs/merge_neighbors/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(8),
    params:
        code=code("merge_neighbors"),
        test_sets=SIMILARITY.audit.test_sets,
        neighbors=SIMILARITY.audit.neighbors,
    script:
        "../workflow_scripts/merge_neighbors.py"


rule nearest_kept:
    """The neighbours of some test sets among the samples of a part that a manifest keeps."""
    input:
        train=f"{RESULTS}/embeddings/{{encoder}}/{{corpus}}/{{part}}.json",
        manifest=SIMILARITY.searched_manifest,
        tests=SIMILARITY.searched_embeddings,
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
        test_sets=SIMILARITY.searched_test_sets,
        neighbors=SIMILARITY.audit.neighbors,
    script:
        "../workflow_scripts/nearest_kept.py"


use rule merge_neighbors as merge_kept_neighbors with:
    input:
        parts=CORPORA.all_parts("kept_neighbors/{encoder}/{search}/{corpus}"),
    output:
        neighbors=f"{RESULTS}/kept_neighbors/{{encoder}}/{{search}}/{{corpus}}.json",
    log:
        "logs/merge_kept_neighbors/{encoder}/{search}/{corpus}.log",
    params:
        code=code("merge_neighbors"),
        script="merge_neighbors",
        test_sets=SIMILARITY.searched_test_sets,
        neighbors=SIMILARITY.audit.neighbors,
