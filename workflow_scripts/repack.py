"""A set as its own shards, in a random order; in controls, the samples are changed."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Repack the collected samples of the set."""
    from collections.abc import Iterable

    import pyarrow as pa
    import pyarrow.compute as pc

    from clipaudit.corpora.classes import CaptionSettings
    from clipaudit.corpora.repacking import SOURCES, repack
    from clipaudit.corpora.sealed import CorpusToSeal, seal
    from clipaudit.corpora.splits import select_rows
    from clipaudit.parrot.controls import Lengths, WithoutText

    step.files("manifests")  # if they are omitted, so is this set
    members, control = pa.array(step.settings["members"]), step.settings["control"]
    own = [
        table.filter(pc.is_in(table["curated"], value_set=members))
        for table in step.tables("collected_places")
    ]
    change = None
    if control == "erased":
        parts = zip(step.tables("collected_spans"), own, strict=True)
        spans = pa.concat_tables(select_rows(table, kept) for table, kept in parts)
        change = WithoutText(spans, step.settings_as(Lengths, "erasing"))

    def write(name: str, blocks: Iterable[bytes]) -> str:
        return step.written(name) or step.write_pieces(name, blocks, ".tar")

    made = repack(
        list(zip(step.files("collected"), own, strict=True)),
        write,
        seed=step.settings["seed"],
        swapped=control == "swapped",
        change=change,
        workers=step.workers,
    )
    asked = step.settings_as(CaptionSettings, "captioning")
    captioning = asked.captioning(step.file("classes") if asked.needs_label else None)
    corpus = CorpusToSeal(step.settings["corpus"], captioning, made.shards)
    step.write_table("sources", made.sources, SOURCES)
    step.write_bytes("sealed", seal([corpus]), ".sealed")


run_step(snakemake, compute)
