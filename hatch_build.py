"""The build hook: machine code for wheels.

`pip install .` builds a wheel, and so compiles every kernel while it installs; an editable install does not: kernels
are compiled at their first use. STICKSLIP_PRECOMPILE=0 leaves it out of a wheel too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACK = "stickslip/compiled"


class Precompile(BuildHookInterface):
    """Runs `python -m stickslip.precompile` and puts what it makes into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get("STICKSLIP_PRECOMPILE") == "0":
            return
        self.folder = tempfile.TemporaryDirectory()
        source = Path(self.root) / "src"
        tell("stickslip: compiling its kernels, once, into the installation; this takes a minute or two")
        command = [sys.executable, "-m", "stickslip.precompile", "--to", self.folder.name]
        paths = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode:
            tell("stickslip: its kernels could not be compiled beforehand; each will be compiled at its first use")
            return
        build_data["force_include"][self.folder.name] = PACK
        build_data["pure_python"] = False  # machine code is for one platform
        build_data["infer_tag"] = True  # and for one Python

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


def tell(sentence: str) -> None:
    """To the person at the terminal, where pip shows nothing of what a build prints."""
    try:
        with open("/dev/tty", "w") as terminal:
            print(sentence, file=terminal)
    except OSError:
        print(sentence, file=sys.stderr, flush=True)
