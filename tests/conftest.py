"""What every test may use: golden files, a Chromium, and Hypothesis without a stopwatch."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

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
