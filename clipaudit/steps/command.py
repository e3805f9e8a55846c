"""Build the snakemake command of this workflow for any folder, and find its profile."""

import difflib
import getpass
import os
import re
import sys
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path

from clipaudit.config.shipped import shipped, workflow_folder
from clipaudit.errors import ConfigError
from clipaudit.suggestions import did_you_mean

_RULE = re.compile(r"^(?:rule|checkpoint) (\w+):", re.MULTILINE)
EVERYTHING = ("all_tables", "all_figures", "report")
METADATA = Path(".snakemake")


def snakemake_command(
    targets: Sequence[str],
    *,
    profile: str,
    configfiles: Sequence[Path] = (),
    further: Sequence[str] = (),
) -> list[str]:
    """Return the command that makes `targets`; `further` are other Snakemake options.

    Python's -P prevents importing modules from the current folder, which holds data. The variable
    USER is set if this user has no name. Raise ConfigError if Snakemake's cache cannot be written.
    """
    _refuse_unwritable_cache()
    _name_user()
    settings = ["--configfile", *map(str, configfiles)] if configfiles else []
    start = [sys.executable, "-P", "-m", "snakemake", *workflow_arguments()]
    return [*start, "--profile", profile_path(profile), *settings, *further, "--", *targets]


def workflow_arguments() -> list[str]:
    """Return the arguments that tell Snakemake where the workflow is."""
    return ["--snakefile", str(workflow_folder() / "Snakefile")]


def unrecorded(results: Path) -> bool:
    """Return whether results lie here of whose making Snakemake has no records.

    Its records, by output path in base64, tell it which settings, code and inputs made a file.
    Without them, because they were deleted or the results were moved, it would take everything in
    place for current.
    """
    if not (results / ".actions").is_dir():  # the placements of pointers
        return False
    folder = METADATA / "metadata"
    start = f"{results}/".encode()
    whole, digits = len(start) // 3, -(-len(start) // 3) * 4  # four digits for three bytes
    known = urlsafe_b64encode(start[: 3 * whole]).decode()
    names = (path.name.removeprefix("@") for path in folder.glob("*"))  # @: of a long path
    return not any(
        name.startswith(known) and urlsafe_b64decode(name[:digits]).startswith(start)
        for name in names
    )


def refuse_misspelt(targets: Sequence[str]) -> None:
    """Raise ConfigError for a target that resembles a rule's name but is not one.

    Snakemake says only that there is none. It checks other names itself: plug-ins add rules.
    """
    files = [workflow_folder() / "Snakefile", *workflow_folder().glob("rules/*.smk")]
    rules = [name for file in files for name in _RULE.findall(file.read_text("utf-8"))]
    for target in targets:
        if target not in rules and difflib.get_close_matches(target, rules):
            raise ConfigError(f"{target}: no rule makes this.{did_you_mean(target, rules)}")


def profile_path(name: str) -> str:
    """Return a profile as Snakemake finds it: a path, a user's profile, or the workflow's.

    Raise ConfigError if there is none.
    """
    if Path(name).exists() or name == "none" or _is_users(name):
        return name
    for path in (Path(name), Path("profiles") / name):
        if shipped(path).exists():
            return str(shipped(path))
    known = [path.parent.name for path in workflow_folder().glob("profiles/*/config.yaml")]
    raise ConfigError(
        f"{name}: no such profile, neither a folder with a config.yaml nor one that comes with "
        f"clipaudit.{did_you_mean(name, known)}"
    )


def _is_users(name: str) -> bool:
    """Return whether a bare name is a profile in the user or site configuration."""
    return "/" not in name and any((Path(folder) / name).exists() for folder in _own_folders()[1:])


def _refuse_unwritable_cache() -> None:
    """Make the folder that Snakemake fails without; raise ConfigError if it cannot be written."""
    user_cache, *_ = _own_folders()
    cache = Path(user_cache) / "snakemake/source-cache/snakemake-runtime-cache"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError as error:
        raise ConfigError(
            f"{cache}: cannot be written ({error.strerror}), and Snakemake needs this folder. Set "
            "XDG_CACHE_HOME to a folder that you can write to, and start the same command again."
        ) from error


def _name_user() -> None:
    """Name a user whom the system does not know, as in many containers: Snakemake needs a name."""
    try:
        getpass.getuser()
    except (KeyError, OSError):  # OSError since Python 3.13
        os.environ["USER"] = str(os.getuid())


def _own_folders() -> tuple[str, str, str]:
    """Return Snakemake's folders for the user's cache, the user's profiles and the site's."""
    from snakemake.common import get_appdirs  # snakemake.cli would take 0.4 s to import

    found = get_appdirs()
    try:
        return found.user_cache_dir, found.user_config_dir, found.site_config_dir
    except RuntimeError as error:  # a user without an entry in passwd
        raise ConfigError(
            "HOME: not set, and this user has no home folder, which Snakemake needs. Set HOME to a "
            "folder that you can write to, and start the same command again."
        ) from error
