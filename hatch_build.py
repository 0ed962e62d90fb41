"""Put the compiled C kernels into the wheel, if there is a compiler that works."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags


class KernelsHook(BuildHookInterface):
    """Compile the kernels for this machine. On others, heed does not load them (see `library_name`)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them and add them to the wheel, which is then no longer for any platform."""
        if version == "editable":  # the sources may change
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from heed.kernels.library import build  # imports nothing but the standard library

        self._folder = TemporaryDirectory()
        try:
            library = build(Path(self._folder.name))
        except OSError as error:
            self.app.display_warning(
                f"This wheel has no compiled kernels: {error}. heed compiles them on first use, if there is a compiler."
            )
            return
        build_data["force_include"][str(library)] = f"heed/kernels/{library.name}"
        build_data["pure_python"] = False
        # It is loaded with ctypes, so any Python 3 will do. "manylinux" would promise that it suits older systems.
        platform = next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled: the wheel has a copy."""
        if version != "editable":
            self._folder.cleanup()
