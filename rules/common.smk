"""The settings and what all rules use: `clipaudit/wiring/`."""

from pathlib import Path

from clipaudit.config.audits import rules_of
from clipaudit.config.embeddings import unchecked
from clipaudit.config.loading import (
    check_files,
    over_default,
    parse_settings,
    read_settings,
)
from clipaudit.config.pictures import left_out
from clipaudit.errors import ClipauditError
from clipaudit.reports.wiring import ReportFiles
from clipaudit.runs.start import (
    refuse_excess_of,
    refuse_failures_of,
    register_again,
    remove_outdated_parts,
)
from clipaudit.steps.allowance import name_run
from clipaudit.steps.jobs import cores_of
from clipaudit.steps.workflow import code, stop_with
from clipaudit.store.encodings import refuse_other_encodings
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.deduplication import DeduplicationFiles
from clipaudit.wiring.models import CLIP_LIBRARIES, ModelFiles
from clipaudit.wiring.wildcards import one_of, setting_of

try:
    refuse_other_encodings()
    whole = over_default(config)
    config.clear()
    config.update(whole)
    for path in workflow.configfiles:  # Snakemake's own reader accepts duplicate keys
        read_settings(Path(path))
    RUN = parse_settings(config)
    check_files(RUN)
except ClipauditError as error:
    stop_with(error)

RESULTS = config["results"] = RUN.results
STORE = config["store"] = RUN.store
config["remote"] = RUN.remote.model_dump(mode="json")
config["shared_store"] = RUN.shared_store and RUN.shared_store.model_dump()
config["limits"] = RUN.limits and RUN.limits.model_dump()
name_run()
register_again(RUN)
# absolute: a relative path would start at the file of each rule, also of a plug-in's
ENVIRONMENT = f"{workflow.basedir}/envs/{RUN.software.environment}.yaml"

CORPORA = CorpusFiles(RUN, cores=cores_of(workflow))
MODELS = ModelFiles(CORPORA)
DEDUPLICATION = DeduplicationFiles(CORPORA)
REPORTS = ReportFiles(CORPORA)
BESIDES = []  # what `all_tables` makes besides tables


if RUN.software.container is not None:

    container: RUN.software.container


wildcard_constraints:
    corpus=one_of(RUN.corpora),
    base="[^/.]+",
    search="[^/.]+",
    group=r"\d{5}",
    figure=r"[A-Za-z0-9_-]+",
    encoder=one_of(RUN.encoders),
    recipe="[^/]+",
    manifest="[^/]+",
    pruning="[^/.]+",
    part=r"\d{5}",
    shard=r"\d+",
    table=r"[a-z0-9_]+",


def memory(gigabytes):
    """Return a rule's `mem_mb` for clusters, which grows with each attempt.

    Amounts are for the papers' scale; other rules use the profile's amount.
    """

    def megabytes(wildcards, attempt):
        return 1000 * gigabytes * attempt

    return megabytes
