"""Run the pages of docs/examples as their readers would, and keep the figures that they draw.

    PYTHONPATH=tests python scripts/examples.py [PAGE …]

What the code prints is shown, to be compared with what stands on the page. Every page has a folder
of its own to work in.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from test_docs import blocks

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


def run(page: Path) -> None:
    """All Python blocks of one page, in a new folder; its pictures go to docs/examples/figures."""
    names: dict[str, object] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in blocks(str(page.relative_to(EXAMPLES.parent.parent))):
            if block.language in {"python", "test"}:
                exec(compile(block.text, page.name, "exec"), names)  # noqa: S102
        for picture in Path(folder).glob("*.png"):
            (EXAMPLES / "figures" / picture.name).write_bytes(picture.read_bytes())
        os.chdir(EXAMPLES)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in EXAMPLES.glob("*.md")):
        began = time.perf_counter()
        print(f"== {name}")
        run(EXAMPLES / f"{name}.md")
        print(f"{time.perf_counter() - began:.1f} s")
