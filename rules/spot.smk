"""Images -> the text in them -> how much of it their captions repeat.

Inputs: `parrot.corpora`, which have captions; their shards for spotting by OCR.
Outputs: sorted_spans/<corpus>.json, if given; readings/<corpus>/, drops/spot/<corpus>/ by part;
caption_scripts/<corpus>.json; for what counts as text spans/<corpus>/, matches/<corpus>/,
fuzzy_sweep/<corpus>/ by part; for corpora of a synthetic world spotted_truth/<corpus>/ by part;
checked_text/<corpus>.json for corpora in `parrot.checked`.
"""

from clipaudit.parrot.settings import Parrot
from clipaudit.parrot.wiring import ParrotFiles

PARROT = ParrotFiles(RUN.section(Parrot), MODELS, REPORTS)


wildcard_constraints:
    curated=one_of(PARROT.curated),
    vocabulary=one_of(PARROT.vocabularies),


if PARROT.audit.spotting.spotter == "given":

    rule sort_spans:
        """Precomputed text in a corpus's images, in the order of its samples."""
        input:
            samples=CORPORA.gathered_parts("samples/{corpus}"),
            files=PARROT.given_spans,
        output:
            spans=f"{RESULTS}/sorted_spans/{{corpus}}.json",
        log:
            "logs/sort_spans/{corpus}.log",
        wildcard_constraints:
            corpus=one_of(PARROT.audit.corpora),
        conda:
            ENVIRONMENT
        resources:
            mem_mb=memory(16),
        params:
            code=code("sort_spans"),
            states=CORPORA.states(PARROT.given_spans),
            join=PARROT.given_join,
        script:
            "../workflow_scripts/sort_spans.py"

    rule take_spans:
        """Precomputed text in the images of a part, joined to its samples."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            given=f"{RESULTS}/sorted_spans/{{corpus}}.json",
        output:
            readings=f"{RESULTS}/readings/{{corpus}}/{{part}}.json",
            drops=f"{RESULTS}/drops/spot/{{corpus}}/{{part}}.json",
        log:
            "logs/take_spans/{corpus}/{part}.log",
        wildcard_constraints:
            corpus=one_of(PARROT.audit.corpora),
        conda:
            ENVIRONMENT
        params:
            code=code("take_spans"),
            shards=CORPORA.shard_numbers,
            absence=PARROT.given_absence,
        script:
            "../workflow_scripts/take_spans.py"

elif PARROT.audit.spotting.spotter != "dataset":

    rule spot:
        """The text in the images of a part, by OCR; equal image bytes are never read twice."""
        input:
            tars=CORPORA.part_tars,
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
            weights=PARROT.spotter_files(),
        output:
            readings=f"{RESULTS}/readings/{{corpus}}/{{part}}.json",
            drops=f"{RESULTS}/drops/spot/{{corpus}}/{{part}}.json",
        log:
            "logs/spot/{corpus}/{part}.log",
        wildcard_constraints:
            corpus=one_of(PARROT.audit.corpora),
        conda:
            ENVIRONMENT
        threads: CORPORA.processes
        resources:
            mem_mb=memory(16),
        params:
            **PARROT.spotter(),
            code=code("spot"),
            by_processes=True,
            numeric=PARROT.spotter_libraries,
            states=CORPORA.states(PARROT.spotter_files()),
            shards=CORPORA.shard_numbers,
            spotting=PARROT.audit.spotting.model_dump(mode="json"),
        script:
            "../workflow_scripts/spot.py"

else:

    rule read_spans:
        """The text in the images of a part, as the samples' JSON states it."""
        input:
            samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        output:
            readings=f"{RESULTS}/readings/{{corpus}}/{{part}}.json",
            drops=f"{RESULTS}/drops/spot/{{corpus}}/{{part}}.json",
        log:
            "logs/read_spans/{corpus}/{part}.log",
        wildcard_constraints:
            corpus=one_of(PARROT.audit.corpora),
        conda:
            ENVIRONMENT
        params:
            code=code("read_spans"),
            field=PARROT.audit.spotting.field,
        script:
            "../workflow_scripts/read_spans.py"


rule caption_scripts:
    """The scripts that the captions of a corpus are written in."""
    input:
        samples=CORPORA.all_parts("samples/{corpus}"),
    output:
        scripts=f"{RESULTS}/caption_scripts/{{corpus}}.json",
    log:
        "logs/caption_scripts/{corpus}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("caption_scripts"),
    script:
        "../workflow_scripts/caption_scripts.py"


rule match:
    """What counts as text in a part's images, and how many caption words each image shows."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        readings=f"{RESULTS}/readings/{{corpus}}/{{part}}.json",
        scripts=PARROT.caption_scripts,
    output:
        spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
        matches=f"{RESULTS}/matches/{{corpus}}/{{part}}.json",
    log:
        "logs/match/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("match"),
        text=PARROT.counted_text(),
        fuzzy_threshold=PARROT.audit.fuzzy_threshold,
    script:
        "../workflow_scripts/match.py"


rule sweep_fuzzy:
    """How much of a part's captions counts as repeated at several thresholds of the fuzzy match."""
    input:
        samples=f"{RESULTS}/samples/{{corpus}}/{{part}}.json",
        spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
    output:
        sweep=f"{RESULTS}/fuzzy_sweep/{{corpus}}/{{part}}.json",
    log:
        "logs/sweep_fuzzy/{corpus}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("sweep_fuzzy"),
        thresholds=PARROT.audit.fuzzy_sweep,
    script:
        "../workflow_scripts/sweep_fuzzy.py"


rule compare_spotted:
    """The spotted text, compared with what the world wrote into its images."""
    input:
        truths=CORPORA.part_truths,
        spans=f"{RESULTS}/spans/{{corpus}}/{{part}}.json",
        matches=f"{RESULTS}/matches/{{corpus}}/{{part}}.json",
    output:
        compared=f"{RESULTS}/spotted_truth/{{corpus}}/{{part}}.json",
    log:
        "logs/compare_spotted/{corpus}/{part}.log",
    wildcard_constraints:
        corpus=one_of(PARROT.made),
    conda:
        ENVIRONMENT
    params:
        code=code("compare_spotted"),
    script:
        "../workflow_scripts/compare_spotted.py"


rule checked_text:
    """The images of a corpus that show text, as judged by a person."""
    input:
        samples=CORPORA.all_parts("samples/{corpus}"),
        file=PARROT.checked_file,
    output:
        checked=f"{RESULTS}/checked_text/{{corpus}}.json",
    log:
        "logs/checked_text/{corpus}.log",
    wildcard_constraints:
        corpus=one_of(PARROT.audit.checked),
    conda:
        ENVIRONMENT
    params:
        code=code("checked_text"),
        states=CORPORA.states(PARROT.checked_file),
    script:
        "../workflow_scripts/checked_text.py"
