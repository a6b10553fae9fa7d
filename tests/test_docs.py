"""Every Python example in README.md and docs/ runs, in order, each page in a folder of its own."""

import re
from pathlib import Path

import pytest

import stickslip as ss

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


def test_the_table_of_papers_names_what_exists():
    """Each row has functions of the package and a test that is there, and no row is done partly."""
    lines = (ROOT / "docs" / "papers.md").read_text().splitlines()
    rows = [line.split("|")[1:-1] for line in lines if "`test_" in line]
    texts = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    tests = {name for text in texts for name in re.findall(r"def (test_\w+)", text)}
    assert len(rows) > 50
    for row in rows:
        *_, functions, test = row
        names = re.findall(r"`(\w+)`", functions)
        assert names, row
        assert [name for name in names if not hasattr(ss, name)] == []
        assert set(re.findall(r"`(\w+)`", test)) <= tests, test
        assert "partly" not in "".join(row)
