"""The embeddings, by cluster, of a part's debiasing candidates, duplicates included."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Pick the candidates."""
    import pyarrow.parquet as pq

    from clipaudit.corpora.splits import select_embeddings
    from clipaudit.parrot.criteria import Curation
    from clipaudit.parrot.curation import passing
    from clipaudit.parrot.curation_parts import read_parts

    held_out = step.settings_list(Curation, "held_out")
    field = step.settings["aesthetics_field"]
    (part,) = read_parts(step.tables, aesthetics_field=field, duplicates=None)
    candidates = passing(
        step.settings_as(Curation, "curation"),
        part,
        list(zip(held_out, step.tables("heldout"), strict=True)),
    )
    schema = pq.read_schema(step.file("clustered"))
    step.write_tables("clustered", select_embeddings(step.batches("clustered"), candidates), schema)


run_step(snakemake, compute)
