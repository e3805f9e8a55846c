"""Find an encoder trained here that most jobs of a plan depend on, and say how to freeze it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from clipaudit.steps.jobs import Job, Workflow
from clipaudit.steps.paths import model as model_path

if TYPE_CHECKING:
    from clipaudit.lineage.planning.forecasts import Outlook

_MOST = 0.5  # least share of the jobs that may compute for an encoder to be mentioned
_FEW = 10  # jobs; with fewer, no encoder is mentioned


def freezable_encoders(outlooks: Sequence["Outlook"], workflow: Workflow) -> Iterator[str]:
    """Yield a sentence for each encoder that is trained again and that most jobs depend on.

    Only encoders that the settings train (`model: recipe/manifest`) count, and only after their
    first training: a first run has nothing to freeze.
    """
    if workflow.run is None:
        return
    moving = [each.planned.job for each in outlooks if each.planned.fate in ("certain", "possible")]
    readers = _readers(moving)
    for name, encoder in workflow.run.encoders.items():
        if encoder.model is None or "." in name:
            continue
        recipe, _, manifest = encoder.model.partition("/")
        pointer = workflow.results / model_path(recipe, manifest)
        trains = [job for job in moving if str(pointer) in _outputs(job)]
        hanging = len(_below(trains, readers)) if trains and pointer.is_file() else 0
        if hanging >= max(_FEW, _MOST * len(moving)):
            weights = pointer.with_suffix(".safetensors")
            architecture = workflow.run.recipes[recipe].architecture
            yield (
                f"{hanging} of these {len(moving)} jobs depend on the encoder {name}, which is "
                f"trained here on {manifest}: each change to a shard of {manifest} trains it and "
                "embeds everything again. To keep it as it is, copy its weights (cp -L "
                f"{weights} {name}.safetensors) and set encoders.{name} to {{architecture: "
                f"{architecture}, pretrained: {name}.safetensors}} in place of its `model`. That "
                "embeds everything once more, then only what is new."
            )


def _outputs(job: Job) -> list[str]:
    return [path for paths in job.outputs.values() for path in paths]


def _readers(jobs: Sequence[Job]) -> Mapping[str, list[Job]]:
    """Return the jobs that read each file."""
    readers: dict[str, list[Job]] = {}
    for job in jobs:
        for path in {path for paths in job.inputs.values() for path in paths}:
            readers.setdefault(path, []).append(job)
    return readers


def _below(jobs: Sequence[Job], readers: Mapping[str, Sequence[Job]]) -> set[str]:
    """Return the first outputs of all jobs that depend on some jobs, directly or indirectly."""
    found: set[str] = set()
    waiting = list(jobs)
    while waiting:
        for path in _outputs(waiting.pop()):
            for reader in readers.get(path, ()):
                first = _outputs(reader)[0]
                if first not in found:
                    found.add(first)
                    waiting.append(reader)
    return found
