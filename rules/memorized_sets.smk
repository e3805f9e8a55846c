"""Sources -> the sets A, B, public, hold-out, checked to be disjoint.

Inputs: `memorization.sources`; semantic duplicates need `memorization.deduplication`.
Outputs:
- lots/<source>/ by part; allotments/<source>.json; cuts/<source>.records[-<size>]/<cut>.json;
- drawn/, members/<source>/ by part, before and after overlaps are removed; overlaps/,
  remaining_overlaps/, drops/overlaps/<source>/ by part;
- samples/<source>.{drawn,public,records,records-<size>}/, manifests/<source>/set-<set>/ by part;
- object_counts/<source>.json.
"""

from clipaudit.memorization.settings import Memorization
from clipaudit.memorization.wiring import MemorizationFiles

MEMORIZATION = MemorizationFiles(RUN.section(Memorization), MODELS)
BESIDES += MEMORIZATION.set_manifests()


wildcard_constraints:
    source=one_of(MEMORIZATION.audit.sources),
    set=r"set-[^/]+",
    public=one_of(MEMORIZATION.audit.publics),
    point=one_of(MEMORIZATION.points),


rule draw_lots:
    """The lot of every sample of a part: equal for duplicates, a function of their content."""
    input:
        samples=f"{RESULTS}/samples/{{source}}/{{part}}.json",
        base=MEMORIZATION.base,
    output:
        lots=f"{RESULTS}/lots/{{source}}/{{part}}.json",
    log:
        "logs/draw_lots/{source}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("draw_lots"),
        group=MEMORIZATION.group,
        seed=MEMORIZATION.audit.seed,
    script:
        "../workflow_scripts/draw_lots.py"


rule allot:
    """The samples of a source in each set: the lowest lots of fixed intervals."""
    input:
        lots=CORPORA.all_parts("lots/{source}"),
    output:
        allotment=f"{RESULTS}/allotments/{{source}}.json",
    log:
        "logs/allot/{source}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("allot"),
        place="memorization.sources.{source}",
        sizes=MEMORIZATION.sizes,
    script:
        "../workflow_scripts/allot.py"


rule draw:
    """The samples of a part that are drawn for any set, overlaps included."""
    input:
        samples=f"{RESULTS}/samples/{{source}}/{{part}}.json",
        allotment=f"{RESULTS}/allotments/{{source}}.json",
    output:
        drawn=f"{RESULTS}/drawn/{{source}}/{{part}}.json",
        samples=f"{RESULTS}/samples/{{source}}.drawn/{{part}}.json",
    log:
        "logs/draw/{source}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("draw"),
        shards=MEMORIZATION.shard_numbers,
    script:
        "../workflow_scripts/draw.py"


rule overlaps:
    """The drawn samples of a part that duplicate a record of A, B or the hold-out."""
    input:
        own=f"{RESULTS}/drawn/{{source}}/{{part}}.json",
        drawn=MEMORIZATION.gathered_of_sources("drawn"),
        samples=MEMORIZATION.gathered_of_sources("samples", ".drawn"),
        embeddings=MEMORIZATION.drawn_embeddings(),
    output:
        overlaps=f"{RESULTS}/overlaps/{{source}}/{{part}}.json",
    log:
        "logs/overlaps/{source}/{part}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(32),
    params:
        code=code("overlaps"),
        source="{source}",
        part="{part}",
        distance=MEMORIZATION.audit.near_duplicate_distance,
    script:
        "../workflow_scripts/overlaps.py"


rule members:
    """The samples of a part that are finally in a set."""
    input:
        drawn=f"{RESULTS}/drawn/{{source}}/{{part}}.json",
        overlaps=f"{RESULTS}/overlaps/{{source}}/{{part}}.json",
        samples=f"{RESULTS}/samples/{{source}}.drawn/{{part}}.json",
    output:
        members=f"{RESULTS}/members/{{source}}/{{part}}.json",
        drops=f"{RESULTS}/drops/overlaps/{{source}}/{{part}}.json",
    log:
        "logs/members/{source}/{part}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("members"),
    script:
        "../workflow_scripts/members.py"


use rule overlaps as remaining_overlaps with:
    input:
        own=f"{RESULTS}/members/{{source}}/{{part}}.json",
        drawn=MEMORIZATION.gathered_of_sources("members"),
        samples=MEMORIZATION.gathered_of_sources("samples", ".drawn"),
        embeddings=MEMORIZATION.drawn_embeddings(),
    output:
        overlaps=f"{RESULTS}/remaining_overlaps/{{source}}/{{part}}.json",
    log:
        "logs/remaining_overlaps/{source}/{part}.log",
    params:
        code=code("overlaps"),
        script="overlaps",
        source="{source}",
        part="{part}",
        distance=MEMORIZATION.audit.near_duplicate_distance,


rule set_samples:
    """The samples of a part that are public, or records of A, B or the hold-out."""
    input:
        samples=f"{RESULTS}/samples/{{source}}.drawn/{{part}}.json",
        members=f"{RESULTS}/members/{{source}}/{{part}}.json",
    output:
        samples=f"{RESULTS}/samples/{{source}}.{{kind}}/{{part}}.json",
    log:
        "logs/set_samples/{source}/{kind}/{part}.log",
    wildcard_constraints:
        kind="public|records",
    conda:
        ENVIRONMENT
    params:
        code=code("set_samples"),
        kind="{kind}",
    script:
        "../workflow_scripts/set_samples.py"


rule cut_again:
    """The records of a source in A, B and the hold-out under another random seed."""
    input:
        unpack(MEMORIZATION.sets_to_cut),
        samples=CORPORA.all_parts("samples/{records}"),
    output:
        cut=f"{RESULTS}/cuts/{{records}}/{{cut}}.json",
    log:
        "logs/cut_again/{records}/{cut}.log",
    wildcard_constraints:
        records=one_of(MEMORIZATION.records_corpora()),
        cut=r"[0-9]+",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("cut_again"),
        cut=lambda wildcards: int(wildcards.cut),
        seed=MEMORIZATION.audit.seed,
    script:
        "../workflow_scripts/cut_again.py"


rule records_of_size:
    """The samples of a part that are records of A and B at a smaller size, or of the hold-out."""
    input:
        samples=f"{RESULTS}/samples/{{source}}.drawn/{{part}}.json",
        manifests=MEMORIZATION.manifests_of_size,
    output:
        samples=f"{RESULTS}/samples/{{source}}.records-{{size}}/{{part}}.json",
    log:
        "logs/records_of_size/{source}/{size}/{part}.log",
    wildcard_constraints:
        size=one_of(MEMORIZATION.smaller_sizes()),
    conda:
        ENVIRONMENT
    params:
        code=code("records_of_size"),
    script:
        "../workflow_scripts/records_of_size.py"


rule count_objects:
    """How many images of each set of a source show an object, checked before training."""
    input:
        members=CORPORA.all_parts("members/{source}"),
        objects=MEMORIZATION.drawn_objects,
    output:
        counts=f"{RESULTS}/object_counts/{{source}}.json",
    log:
        "logs/count_objects/{source}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("count_objects"),
        source="{source}",
        annotator=MEMORIZATION.audit.objects.annotator,
    script:
        "../workflow_scripts/count_objects.py"


rule set_manifest:
    """The manifest of a set, or of its first samples: other rows have the reason for removal."""
    input:
        unpack(MEMORIZATION.cut_of_set),
        base=MEMORIZATION.base,
        allotment=f"{RESULTS}/allotments/{{corpus}}.json",
        overlaps=f"{RESULTS}/overlaps/{{corpus}}/{{part}}.json",
        objects=MEMORIZATION.object_counts(),
    output:
        manifest=f"{RESULTS}/manifests/{{corpus}}/{{set}}/{{part}}.json",
    log:
        "logs/set_manifest/{corpus}/{set}/{part}.log",
    wildcard_constraints:
        corpus=one_of(MEMORIZATION.audit.sources),
    conda:
        ENVIRONMENT
    params:
        code=code("set_manifest"),
        shards=CORPORA.shard_numbers,
        chosen=MEMORIZATION.set_and_size,
        drawn=MEMORIZATION.sizes,
        group=MEMORIZATION.group,
        source="{corpus}",
    script:
        "../workflow_scripts/set_manifest.py"
