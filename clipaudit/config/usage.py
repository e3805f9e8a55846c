"""Find corpora of the settings that no audit uses, and the settings that would use them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clipaudit.config.audits import audits

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def unused_corpora(run: "Settings") -> list[str]:
    """Return the corpora of the settings file that no audit and no model names, in their order.

    A corpus counts as used if its splits, prunings or blurred images are used.
    """
    named = {text for _, section in run.audits() for text in _texts(section.model_dump())}
    for audit, section in run.audits():
        named |= audit.manifests(run, section).keys()
    named |= {each.model.partition("/")[2] for each in run.encoders.values() if each.model}
    named |= {each.start_from.manifest for each in run.recipes.values() if each.start_from}
    used = {corpus for name in named for corpus in run.manifests().get(name, ())}
    used |= named & run.corpora.keys()
    for name in list(used):
        blurred = run.corpora[name].blurred
        used |= {run.source(name)} if blurred is None else {blurred.of}
    return [name for name in run.corpora if name not in used and "." not in name]


def unused_line(names: Sequence[str]) -> str:
    """Return a line that says that no audit uses these corpora, and where to name them."""
    settings = [f"{audit.name}.{each}" for audit in audits() for each in audit.takes]
    return (
        f"No audit uses {', '.join(f'corpora.{name}' for name in names)} yet. To use one, name it "
        f"in the settings of an audit, under {', '.join(settings[:-1])} or {settings[-1]}."
    )


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield every text in a section of settings: values and names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, held in value.items():
            yield str(name)
            yield from _texts(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _texts(held)
