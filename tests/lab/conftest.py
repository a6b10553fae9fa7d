"""What the tests of the lab share: a browser, where there is one."""

import shutil
from pathlib import Path

import pytest

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
SWITCHES = (
    "--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    """Chromium, without a screen and without a graphics card."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install 'stickslip[browser]'")
    with sync.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=list(SWITCHES))
        yield chromium
        chromium.close()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
