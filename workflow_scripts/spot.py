"""The text in the images of a part, by OCR."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Read images that no job has read before."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.parrot.plugged_spotter import PluggedSpotter
    from clipaudit.parrot.settings import Spotting
    from clipaudit.parrot.spans import SPANS
    from clipaudit.parrot.spot_memory import SpotMemory, memory_folder
    from clipaudit.parrot.spotters import RapidSpotter
    from clipaudit.parrot.spotting import Spotter, spot_text
    from clipaudit.steps.plugins import Plugin

    asked, drops = step.settings_as(Spotting, "spotting"), Drops("spot")
    spotter: Spotter
    workers = step.workers
    if asked.plugin is None and step.device == "cpu":
        spotter = RapidSpotter(asked)
    elif asked.plugin is None:
        from clipaudit.parrot.gpu_spotter import PROCESSES, GpuSpotter

        spotter, workers = GpuSpotter(asked, device=step.device), min(workers, PROCESSES)
    else:
        plugin, files = step.settings_as(Plugin, "plugin"), step.digests("weights")
        spotter = PluggedSpotter(plugin, asked.options, device=step.device, files=files)
    recipe = {**spotter.recipe, "code": step.ingredients.code, **step.ingredients.environment}
    shards = list(zip(step.settings["shards"], step.files("tars"), strict=True))
    spans = spot_text(
        shards,
        step.table("samples"),
        lambda: spotter,
        SpotMemory(memory_folder(step.store.root / "spotted", recipe)),
        drops=drops,
        workers=workers,
    )
    step.write_tables("readings", spans, SPANS)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
