"""Every Python example in README.md and docs/ runs, in order, each page in a folder of its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names: dict[str, object] = {"__name__": page.name}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), names)  # errors name the line of the page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = [target for target in LINK.findall(page.read_text()) if not target.startswith("http")]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_there_are_examples():
    assert all(BLOCK.search(page.read_text()) for page in PAGES)
