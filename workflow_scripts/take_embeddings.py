"""The embeddings of a part that others computed, joined to its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find each sample's row, and check it."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.embeddings.embedding import embeddings_schema
    from clipaudit.embeddings.embedding_files import EmbeddingFiles
    from clipaudit.embeddings.given_embeddings import take_embeddings

    name, join = step.settings["name"], step.settings["join"]
    pairs = list(zip(step.files("arrays"), step.files("metadata"), strict=True))
    files = EmbeddingFiles(pairs, column=join["column"], array=join["array"])
    drops = Drops("embed")
    tables = take_embeddings(
        step.table("samples"),
        files,
        encoder=name,
        join_on=join["join_on"],
        may_lack=join["may_lack"],
        shards=step.settings["shards"],
        drops=drops,
    )
    step.write_tables("embeddings", tables, embeddings_schema(name, files.dimension))
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
