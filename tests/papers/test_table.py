"""The table of docs/papers.md: every function in it is public, every test in it exists."""

import re
from pathlib import Path

import stickslip as ss

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "papers.md").read_text().splitlines()
ROWS = [line.split("|")[1:-1] for line in LINES if line.startswith("|")]
FILES = [file.read_text() for file in (ROOT / "tests").rglob("test_*.py")]
TESTS = {name for text in FILES for name in re.findall(r"def (test_\w+)", text)}


def test_every_row_has_public_functions_and_a_test():
    for _, _, functions, test in ROWS[2:]:
        names = re.findall(r"`(\w+)`", functions)
        assert names
        assert set(names) <= set(ss.__all__)
        (named,) = re.findall(r"`(\w+)`", test)
        assert named in TESTS


def test_all_papers_are_there():
    papers = {paper.strip() for paper, *_ in ROWS[2:]} - {""}
    assert len(papers) == 6
