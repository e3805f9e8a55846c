"""The objects that a detector finds in the images of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Detect the objects."""
    from clipaudit.corpora.drops import DROPS, Drops, refuse_only_unusable
    from clipaudit.memorization.detection import NOT_FINITE, detect_objects
    from clipaudit.memorization.detectors import Detector, load_detector
    from clipaudit.memorization.objects import OBJECTS, VOCABULARY
    from clipaudit.memorization.plugged_annotator import PluggedAnnotator, annotate_objects
    from clipaudit.memorization.settings import Objects
    from clipaudit.models.device import use_device
    from clipaudit.models.pictures import Running
    from clipaudit.steps.plugins import Plugin

    settings, drops = step.settings_as(Objects, "detector"), Drops("annotate")
    device = use_device(step.device, threads=step.threads)
    shards = list(zip(step.settings["shards"], step.files("tars"), strict=True))
    workers = step.decoders
    detector: Detector | PluggedAnnotator
    if settings.plugin is not None:
        plugin = step.settings_as(Plugin, "plugin")
        detector = PluggedAnnotator(plugin, settings.options, device=str(device))
        running = Running(settings.batch_size, workers, device)
        samples = step.table("samples")
        objects = annotate_objects(shards, samples, detector, running, drops=drops)
    else:
        detector = load_detector(settings.checkpoint, device=device)
        found = detect_objects(
            shards,
            step.table("samples"),
            detector,
            threshold=settings.threshold,
            shorter_side=settings.shorter_side,
            batch_size=settings.batch_size,
            workers=workers,
            device=device,
            drops=drops,
        )
        objects = refuse_only_unusable(found, drops, NOT_FINITE, of=settings.checkpoint)
    step.write_tables("objects", objects, OBJECTS)
    step.write_table("vocabulary", detector.vocabulary(), VOCABULARY)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
