"""The samples of a split: samples of its source corpus that its predicate selects."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose the samples."""
    from clipaudit.corpora.labels import LabelSettings
    from clipaudit.corpora.splits import select_samples

    samples, asked = step.table("samples"), step.settings
    chosen = select_samples(samples, name=asked["name"], where=asked["where"], label=asked["label"])
    if asked["labels"]:
        labels = step.settings_as(LabelSettings, "labels")
        labels.check(chosen, step.file("classes"), step.files("mapped"))
    step.write_table("samples", chosen, samples.schema)


run_step(snakemake, compute)
