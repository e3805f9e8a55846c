"""A model's similarity of texts and images that show only the text, by vocabulary."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw and embed the grams."""
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.parrot.probing import PROBES, probe
    from clipaudit.parrot.synthetic import STYLES, Typeface, dejavu_sans

    device = use_device(step.device, threads=step.threads)
    font, batch_size = step.files("font"), step.settings["model"]["encoder"]["batch_size"]
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    typeface = Typeface(font[0].read_bytes()) if font else dejavu_sans()
    for grams in step.labelled("grams"):
        probes = probe(
            clip,
            grams.table(),
            typeface,
            side=step.settings["side"],
            type_size=step.settings["type_size"],
            styles=list(STYLES),
            batch_size=batch_size,
            workers=step.decoders,
            device=device,
        )
        step.write_tables(grams.labels["vocabulary"], probes, PROBES, **grams.labels)


run_step(snakemake, compute)
