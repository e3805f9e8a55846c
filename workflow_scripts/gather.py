"""One list of the pointers of a folder's parts; see clipaudit.store.gathered."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from clipaudit.store.gathered import write_list

    write_list(Path(snakemake.output.gathered), snakemake.input.members)
