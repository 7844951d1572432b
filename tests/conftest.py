"""What every test may use: golden files, a browser, and Hypothesis without a stopwatch."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent

CHROMIUM_FLAGS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
"""Without a GPU, without a sandbox that containers cannot have, and without any host but this one."""

# Machines are shared and slow at times: a property fails on a wrong value, never on a slow one.
settings.register_profile("kbtool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kbtool")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files from what the code does now, to be reviewed like code",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Return whether this run rewrites golden files."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def chromium() -> Path:
    """Return the path of a Chromium that runs; fail with the remedy where there is none."""
    found = subprocess.run(
        [ROOT / "scripts" / "ensure_chromium.sh", "--find"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode != 0:
        pytest.fail(found.stderr.strip(), pytrace=False)
    return Path(found.stdout.strip())


@pytest.fixture(scope="session")
def browser(chromium: Path) -> Iterator["Browser"]:
    """Start one Chromium for all tests: Playwright allows no second one in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(chromium), args=list(CHROMIUM_FLAGS))
        yield started
        started.close()
