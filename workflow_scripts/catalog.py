"""results/audit.duckdb: every table of the run as a view."""

import os
from pathlib import Path

from clipaudit.workflow import reporting

with reporting(snakemake):
    from clipaudit.catalog import catalog_files, write_catalog
    from clipaudit.lineage.walk import actions_below
    from clipaudit.store import Store

    results = Path(snakemake.config["results"])
    store = Store(Path(snakemake.config["store"]))
    actions = actions_below(results, store, map(Path, snakemake.input.tables))
    target = Path(snakemake.output.catalog)
    spare = target.with_name(f".{target.name}.{os.getpid()}")
    spare.unlink(missing_ok=True)
    write_catalog(catalog_files(results, store, actions), actions, spare)
    os.replace(spare, target)
