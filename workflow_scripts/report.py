"""results/report: the report's pages, from tables, figures and the catalog."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from clipaudit.config.loading import parse_settings
    from clipaudit.site.build import write_report
    from clipaudit.store.store import Store

    run = parse_settings(snakemake.config)
    tables, figures = (map(Path, snakemake.input.get(name, ())) for name in ("tables", "figures"))
    write_report(Path(snakemake.output.report), run, Store(Path(run.store)), tables, figures)
