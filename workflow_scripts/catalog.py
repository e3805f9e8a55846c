"""results/audit.duckdb: every table of the run as a view."""

import os
from pathlib import Path

from clipaudit.workflow import reporting

with reporting(snakemake):
    from clipaudit.catalog import catalog_files, write_catalog
    from clipaudit.store import Store

    target = Path(snakemake.output.catalog)
    spare = target.with_name(f".{target.name}.{os.getpid()}")
    spare.unlink(missing_ok=True)
    files = catalog_files(Path(snakemake.config["results"]), Store(Path(snakemake.config["store"])))
    write_catalog(files, spare)
    os.replace(spare, target)
