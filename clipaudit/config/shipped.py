"""Find the workflow: its Snakefile, rules, scripts, environments, profiles and settings.

    clipaudit/workflow/   in an installed wheel: hatch_build.py puts it there
    the project's root    in a clone, also for an editable install

A workflow in the current folder takes precedence, as it does for Snakemake.
"""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def workflow_folder() -> Path:
    """Return the folder that holds the Snakefile; "." if it is the current folder."""
    installed = PACKAGE / "workflow"
    places = (Path(), installed, PACKAGE.parent)
    return next((place for place in places if _is_workflow(place)), installed)


def _is_workflow(folder: Path) -> bool:
    return (folder / "Snakefile").is_file() and (folder / "workflow_scripts").is_dir()


def shipped(path: Path) -> Path:
    """Return the workflow's file of this name if the current folder has none, else the path."""
    own = workflow_folder() / path
    return own if own.exists() and not path.exists() else path
