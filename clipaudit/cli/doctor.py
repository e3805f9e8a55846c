"""`clipaudit doctor`: describe the installation, the machine and the folder, for an issue."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from clipaudit.cli.options import format_option, results_option, size, store_option
from clipaudit.plaintext import many, plain

_WIDTH = 100


@click.command()
@format_option("text", "json", help="How to print the page.")
@results_option(exists=False)
@store_option(exists=False)
def doctor(form: str, results: Path, store: Path) -> None:
    """Show the state of the installation, the machine and the current folder on one page.

    The page shows versions, cores, memory, GPUs, compiler, the neighbour search in use, free disk,
    whether the store's objects exist, and the settings files found. It hashes, sends and changes
    nothing, and shows no other settings or variables: paste it into an issue. It also works outside
    a project. The command exits with 1 if something is broken.

    \b
    Example:
      clipaudit doctor
      clipaudit doctor --format json --store /data/store
    """
    from clipaudit.runs.doctor import examine
    from clipaudit.store.store import Store

    found = examine(results, Store(store))
    if form == "json":
        click.echo(json.dumps(found, indent=1))
    else:
        for line in page(found):
            click.echo(line)
    if found["problems"]:
        raise click.ClickException(f"{many(len(found['problems']), 'problem')} found: see above.")


def page(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of what `clipaudit.runs.doctor.examine` found, the problems last."""
    versions, machine = found["versions"], found["machine"]
    yield f"clipaudit {versions['clipaudit']}, Python {versions['python']}, {machine['system']}"
    yield from _entry("libraries", _libraries(versions))
    missing = [name for name, version in versions["libraries"].items() if version is None]
    if missing:
        yield from _entry("not installed", ", ".join(missing))
    yield from _entry("cores", f"{machine['cores']} of {machine['cores_in_all']} usable")
    memory = f"{size(machine['memory'])} of {size(machine['memory_in_all'])} usable"
    free = f", {size(machine['memory_free'])} free" if "memory_free" in machine else ""
    yield from _entry("memory", memory + free)
    yield from _entry("GPUs", _gpus(machine))
    yield from _entry("compiler", machine["compiler"] or "no C++ compiler")
    yield from _entry("neighbours", _neighbors(found["neighbors"]))
    yield from _entry("workflow", found["workflow"])
    yield from _entry("results", _results(found["results"]))
    yield from _entry("store", _store(found["store"]))
    yield from _entry("settings", _settings(found["settings"]))
    yield from _entry("last run", found["last_run"] or "none in logs/runs")
    variables = [f"{name}={value}" for name, value in found["variables"].items()]
    yield from _entry("variables", ", ".join(variables) or "none that clipaudit reads")
    yield from _problems(found["problems"])


def _entry(name: str, text: str) -> Iterator[str]:
    indent = " " * 15
    yield from textwrap.wrap(
        f"{name:<15}{plain(text)}", _WIDTH, subsequent_indent=indent, break_on_hyphens=False
    )


def _libraries(versions: dict[str, Any]) -> str:
    told = []
    for name, version in versions["libraries"].items():
        asked = versions["outside_of"].get(name)
        if version is not None:
            told.append(f"{name} {version}" + (f" (asked for: {asked})" if asked else ""))
    return ", ".join(told)


def _gpus(machine: dict[str, Any]) -> str:
    if not machine["gpus"]:
        return "none"
    told = "; ".join(machine["gpus"])
    return told if machine["gpus_used"] else f"{told}. Not used: install clipaudit[gpu]"


def _neighbors(neighbors: dict[str, Any]) -> str:
    if neighbors["kernels"]:
        first, *others = neighbors["kernels"]
        return f"C++, kernel {first}" + (f" (also here: {', '.join(others)})" if others else "")
    return " ".join(["torch.", *neighbors["why"]])


def _results(results: dict[str, Any]) -> str:
    if not results["there"]:
        return f"{results['folder']}: missing, {size(results['free'])} free. No run started here"
    return (
        f"{results['folder']}: {many(results['pointers'], 'pointer')}, {size(results['free'])} "
        f"free. {results['checked']:,} checked, {results['damaged'] or 'none'} damaged. "
        "Objects were not hashed: `clipaudit verify` does that"
    )


def _store(store: dict[str, Any]) -> str:
    if not store["there"]:
        return f"{store['folder']}: missing, {size(store['free'])} free"
    told = f"{store['folder']}: {many(store['objects'], 'object')}, {size(store['free'])} free"
    if store["unfinished"]:
        told += f". {store['unfinished']} unfinished files of running or killed steps"
    if store["quarantine"]:
        told += f". {store['quarantine']} files in quarantine"
    return told


def _settings(settings: list[dict[str, Any]]) -> str:
    if not settings:
        return "none in this folder: `clipaudit init NAME` writes a file"
    return "; ".join(
        f"{each['file']}: "
        + ("invalid, see below" if each["sections"] is None else ", ".join(each["sections"]))
        for each in settings
    )


def _problems(problems: list[str]) -> Iterator[str]:
    if not problems:
        yield "No problem found."
        return
    yield f"Problems: {len(problems)}"
    for problem in problems:
        for line in problem.splitlines():
            yield f"  {plain(line)}"
