"""results/audit.duckdb: every table of the run as a view, and all of them in one: `audit`."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from clipaudit.catalog.views import catalog_files, write_catalog
    from clipaudit.config.loading import parse_settings
    from clipaudit.lineage.walk import actions_below
    from clipaudit.store.outputs import replaced
    from clipaudit.store.packing import keep_packed
    from clipaudit.store.store import Store

    results = Path(snakemake.config["results"])
    store = Store(Path(snakemake.config["store"]))
    actions = actions_below(results, store, map(Path, snakemake.input))
    target = Path(snakemake.output.catalog)
    run = parse_settings(snakemake.config)
    with replaced(target, for_group=True) as spare:
        write_catalog(catalog_files(results, store, actions), actions, spare, run)
    keep_packed(store)
