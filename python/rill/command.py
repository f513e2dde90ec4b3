"""The command `rill` of a Python environment: it replaces itself by the program that is part of the package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    program = os.path.join(os.path.dirname(__file__), "bin", "rill")
    # `rill convert` calls python3. This interpreter comes first, because it may have the NumPy that converters need.
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
    os.execv(program, [program, *sys.argv[1:]])
