"""The pointers of all parts of a folder, by one name; see clipaudit.gathered."""

from pathlib import Path

from clipaudit.workflow import reporting

with reporting(snakemake):
    from clipaudit.gathered import write_list

    write_list(Path(snakemake.output.gathered), snakemake.input.members)
