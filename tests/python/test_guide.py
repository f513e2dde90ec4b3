"""The Python programs of the documentation run unchanged; those of one page run one after the other in one namespace."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import unittest
import warnings

import rill
from common import CAPTIONS, MODELS, ROOT


class Guide(unittest.TestCase):
    def run_page(self, name: str) -> str:
        """Run the ```python blocks of a page; return what they print."""
        blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
        self.assertTrue(blocks)
        scope: dict[str, object] = {}
        out, here = io.StringIO(), os.getcwd()
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            os.symlink(ROOT / "examples", os.path.join(folder, "examples"))
            os.chdir(folder)
            try:
                warnings.simplefilter("ignore", ResourceWarning)  # the programs do not close their files
                for i, block in enumerate(blocks):
                    exec(compile(block, f"{name}, block {i + 1}", "exec"), scope)
            finally:
                os.chdir(here)
        return out.getvalue()

    def test_the_guide(self) -> None:
        printed = self.run_page("docs/guides/python.md")
        self.assertIn("A man is playing", printed)
        self.assertIn("None ['The dog", printed)
        self.assertIn("['7', ", printed)

    def test_the_first_pages(self) -> None:
        with rill.Model(MODELS / "de-en") as model:
            outputs = [result.text for result in model.decode(CAPTIONS)]
        for page in ("README.md", "python/README.md"):
            self.assertEqual(self.run_page(page).splitlines(), outputs, page)


if __name__ == "__main__":
    unittest.main()
