"""Compiles the native search when clipaudit is installed; without a compiler it is left out."""

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILD = "clipaudit/neighbors/native/build.py"


class NativeSearch(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the library beside its sources, and into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; see the module."""
        native = runpy.run_path(str(Path(self.root) / BUILD))
        try:
            native["build"]()
        except native["NotBuilt"] as error:
            self.app.display_warning(f"The native search was not compiled: {error}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"  # bound by ctypes: any Python will do
        build_data["artifacts"].append(str(native["LIBRARY"].relative_to(self.root)))
