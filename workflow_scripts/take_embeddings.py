"""Precomputed embeddings of a part, joined to its samples and checked."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find each sample's row, and compare some with what the encoder computes here."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.embeddings.embedding import embeddings_schema
    from clipaudit.embeddings.embedding_files import EmbeddingFiles
    from clipaudit.embeddings.given_check import GivenPair, check_given
    from clipaudit.embeddings.given_embeddings import take_embeddings
    from clipaudit.models.encoders import ModelSettings

    name, join = step.settings["name"], step.settings["join"]
    pairs = list(zip(step.files("arrays"), step.files("metadata"), strict=True))
    files = EmbeddingFiles(pairs, column=join["column"], array=join["array"])
    drops, samples = Drops("embed"), step.table("samples")
    tables = take_embeddings(
        samples,
        files,
        encoder=name,
        join_on=join["join_on"],
        may_lack=join["may_lack"],
        shards=step.settings["shards"],
        drops=drops,
    )
    if step.settings["model"] is not None:
        asked, tars = step.settings_as(ModelSettings, "model"), step.files("tars")
        shards = list(zip(step.settings["shards"], tars, strict=True))
        pair, weights = GivenPair(step.settings["corpus"], name), step.files("weights")
        tables = check_given(tables, shards, samples, asked, weights, pair, threads=step.threads)
    step.write_tables("embeddings", tables, embeddings_schema(name, files.dimension))
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
