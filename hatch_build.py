"""Build the wheel: add the workflow, and compile the native search if there is a compiler."""

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILD = "clipaudit/neighbors/native/build.py"
WORKFLOW = ("Snakefile", "rules", "workflow_scripts", "envs", "profiles", "config")


class Wheel(BuildHookInterface):  # type: ignore[type-arg]
    """Put the workflow into the wheel, and the library beside its sources and into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the workflow's files, and compile; see the module."""
        if version == "standard":  # an editable install finds them in the clone
            build_data["force_include"] |= {
                str(Path(self.root) / name): f"clipaudit/workflow/{name}" for name in WORKFLOW
            }
        native = runpy.run_path(str(Path(self.root) / BUILD))
        try:
            native["build"]()
        except native["NotBuilt"] as error:
            self.app.display_warning(f"The native search was not compiled: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"  # loaded with ctypes, so any Python works
        build_data["artifacts"].append(str(native["LIBRARY"].relative_to(self.root)))
