"""Images -> hashes -> candidate pairs -> verified copies -> manifests without them.

Inputs: `copies`: the training corpus and, for copies of test images, test sets. No model.
Outputs: images/<corpus>/ and hashes/<corpus>/ by part; hash_calibration/ and calibration/<encoder>/;
copy_candidates/<test set>/<corpus>/, copies/<test set>/<corpus>/ by part; repeat_candidates/<corpus>/,
repeats/<corpus>/ by part; repeat_groups/<corpus>; for a synthetic world planted_copies/<corpus>; manifests/<corpus>/without-{copies,repeats}/.
"""

from clipaudit.copies.settings import Copies
from clipaudit.copies.wiring import CopiesFiles

COPIES = CopiesFiles(RUN.section(Copies), MODELS)
BESIDES += COPIES.manifests()
IMAGE_LIBRARIES = ["numpy", "opencv-python-headless", "pillow"]


wildcard_constraints:
    testset=one_of(COPIES.test_sets),


rule draw_sample:
    """The training images that are searched, if not all are."""
    input:
        samples=COPIES.train_samples(),
    output:
        sample=f"{RESULTS}/searched/{COPIES.audit.train}.json",
    log:
        f"logs/draw_sample/{COPIES.audit.train}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("draw_sample"),
        size=COPIES.audit.sample,
        seed=COPIES.audit.seed,
    script:
        "../workflow_scripts/draw_sample.py"


rule hash_images:
    """The digests, hashes and thumbnails of the images of a part."""
    input:
        tars=CORPORA.part_tars,
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        sample=COPIES.sample,
    output:
        images=f"{RESULTS}/images/{{corpus}}/{{part}}.json",
        hashes=f"{RESULTS}/hashes/{{corpus}}/{{part}}.json",
    log:
        "logs/hash_images/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(COPIES.hashed),
    conda:
        ENVIRONMENT
    threads: CORPORA.processes
    params:
        code=code("hash_images"),
        by_processes=True,
        numeric=IMAGE_LIBRARIES,
        shards=CORPORA.shard_numbers,
        views=COPIES.views,
        seed=COPIES.sample_seed,
    script:
        "../workflow_scripts/hash_images.py"


rule calibrate_hashes:
    """What hashes find of synthetic copies, and the distance to search within."""
    input:
        unpack(COPIES.original_inputs),
    output:
        calibration=f"{RESULTS}/hash_calibration/copies.json",
        thresholds=f"{RESULTS}/hash_calibration/thresholds.json",
    log:
        "logs/calibrate_hashes.log",
    conda:
        ENVIRONMENT
    threads: CORPORA.cores
    params:
        code=code("calibrate_hashes"),
        by_processes=True,
        numeric=[*IMAGE_LIBRARIES, "matplotlib", "scipy"],
        originals=COPIES.original_shards(),
        calibration=COPIES.audit.calibration.model_dump(mode="json"),
        seed=COPIES.audit.seed,
        distance=COPIES.given_distance(),
    script:
        "../workflow_scripts/calibrate_hashes.py"


rule calibrate_encoder:
    """What an encoder finds of synthetic copies, and the similarity threshold to use."""
    input:
        unpack(COPIES.original_inputs),
        weights=MODELS.weights,
        vocabulary=MODELS.vocabulary,
    output:
        calibration=f"{RESULTS}/calibration/{{encoder}}/copies.json",
        thresholds=f"{RESULTS}/calibration/{{encoder}}/thresholds.json",
    log:
        "logs/calibrate_encoder/{encoder}.log",
    wildcard_constraints:
        encoder=one_of(COPIES.audit.encoders),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("calibrate_encoder"),
        numeric=MODELS.libraries(*IMAGE_LIBRARIES, "matplotlib", "scipy"),
        originals=COPIES.original_shards(),
        calibration=COPIES.audit.calibration.model_dump(mode="json"),
        seed=COPIES.audit.seed,
        model=MODELS.encoder,
        states=MODELS.states(),
        name="{encoder}",
        similarity=COPIES.calibrated_similarity,
    script:
        "../workflow_scripts/calibrate_encoder.py"


rule find_candidates:
    """Pairs of a test image and a training image of a part that may be copies."""
    input:
        unpack(COPIES.candidate_inputs),
    output:
        candidates=f"{RESULTS}/copy_candidates/{{testset}}/{{corpus}}/{{part}}.json",
    log:
        "logs/find_candidates/{testset}/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of([COPIES.audit.train]),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("find_candidates"),
        distance=COPIES.given_distance(),
        similarity=COPIES.audit.similarity,
    script:
        "../workflow_scripts/find_candidates.py"


rule find_repeats:
    """Pairs of a training image of a part and an earlier one that may be copies of each other."""
    input:
        unpack(COPIES.repeat_inputs),
    output:
        candidates=f"{RESULTS}/repeat_candidates/{{corpus}}/{{part}}.json",
    log:
        "logs/find_repeats/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of([COPIES.audit.train]),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("find_repeats"),
        distance=COPIES.given_distance(),
        similarity=COPIES.audit.similarity,
        by_images=COPIES.audit.calibration.false_positives is None,
    script:
        "../workflow_scripts/find_repeats.py"


rule verify_copies:
    """The candidate pairs that are copies, by their pixels."""
    input:
        candidates=f"{RESULTS}/copy_candidates/{{testset}}/{{corpus}}/{{part}}.json",
        tars=CORPORA.part_tars,
        other_tars=COPIES.test_tars,
    output:
        copies=f"{RESULTS}/copies/{{testset}}/{{corpus}}/{{part}}.json",
    log:
        "logs/verify_copies/{testset}/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of([COPIES.audit.train]),
    conda:
        ENVIRONMENT
    threads: CORPORA.uneven_processes  # later parts duplicate more of the earlier ones
    params:
        code=code("verify_copies"),
        by_processes=True,
        numeric=IMAGE_LIBRARIES,
        shards=CORPORA.shard_numbers,
    script:
        "../workflow_scripts/verify_copies.py"


use rule verify_copies as verify_repeats with:
    input:
        candidates=f"{RESULTS}/repeat_candidates/{{corpus}}/{{part}}.json",
        tars=CORPORA.part_tars,
        other_tars=COPIES.train_tars,
    output:
        copies=f"{RESULTS}/repeats/{{corpus}}/{{part}}.json",
    log:
        "logs/verify_repeats/{corpus}/{part}.log",
    params:
        code=code("verify_copies"),
        script="verify_copies",
        by_processes=True,
        numeric=IMAGE_LIBRARIES,
        shards=CORPORA.shard_numbers,


rule compare_planted:
    """What was found in a synthetic world, compared with the copies planted there."""
    input:
        truths=COPIES.truths,
        copies=COPIES.every_copy,
        repeats=COPIES.every_repeat,
    output:
        compared=f"{RESULTS}/planted_copies/{{corpus}}.json",
    log:
        "logs/compare_planted/{corpus}.log",
    wildcard_constraints:
        corpus=one_of([COPIES.audit.train]),
    conda:
        ENVIRONMENT
    params:
        code=code("compare_planted"),
        test_sets=COPIES.planted_sets,
    script:
        "../workflow_scripts/compare_planted.py"


rule group_repeats:
    """Groups of duplicate training images."""
    input:
        repeats=CORPORA.all_parts("repeats/{corpus}"),
    output:
        groups=f"{RESULTS}/repeat_groups/{{corpus}}.json",
    log:
        "logs/group_repeats/{corpus}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("group_repeats"),
    script:
        "../workflow_scripts/group_repeats.py"


rule without_copies:
    """The manifest of a part without copies of test images."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        copies=COPIES.part_copies,
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/without-copies/{{part}}.json",
    log:
        "logs/without_copies/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("without_copies"),
    script:
        "../workflow_scripts/without_copies.py"


rule without_repeats:
    """The manifest of a part with one image of each group of duplicates."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        groups=f"{RESULTS}/repeat_groups/{{corpus}}.json",
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/without-repeats/{{part}}.json",
    log:
        "logs/without_repeats/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("without_repeats"),
        shards=CORPORA.shard_numbers,
    script:
        "../workflow_scripts/without_repeats.py"


rule report_pairs:
    """One gallery of the audit: pairs of images side by side."""
    input:
        unpack(REPORTS.gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_pairs/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.galleries("copies")),
    conda:
        ENVIRONMENT
    params:
        code=code("report_pairs"),
        numeric=["matplotlib", "pillow"],
        options=REPORTS.gallery("options"),
        sources=REPORTS.gallery("sources"),
        name="{figure}",
        caption=REPORTS.caption,
    script:
        "../workflow_scripts/report_pairs.py"
