#!/bin/sh
# Print the path of a Chromium that runs, after installing one where there is none.
#
#   scripts/ensure_chromium.sh          find, else install
#   scripts/ensure_chromium.sh --find   find only
#
# The environment variable CHROMIUM names one and ends the search.
set -eu

say() { printf 'ensure_chromium: %s\n' "$@" >&2; }

runs() { [ -n "$1" ] && [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

playwright_chromium() {
    .venv/bin/python - <<'PYTHON' 2>/dev/null
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
PYTHON
}

find_chromium() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        path=$(command -v "$name" || true)
        if runs "$path"; then
            echo "$path"
            return
        fi
    done
    for path in "/Applications/Chromium.app/Contents/MacOS/Chromium" \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        if runs "$path"; then
            echo "$path"
            return
        fi
    done
    path=$(playwright_chromium || true)
    if runs "$path"; then
        echo "$path"
        return
    fi
    return 1
}

is_debian() { grep -qs '^ID=debian$' /etc/os-release && command -v apt-get >/dev/null 2>&1; }

install_chromium() {
    if [ "$(id -u)" = 0 ] && is_debian; then
        say "found no Chromium; installing Debian's package"
        apt-get -qq update &&
            DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium &&
            return
        say "apt-get could not install 'chromium'; trying Playwright's own"
    else
        say "found no Chromium; installing Playwright's own"
    fi
    .venv/bin/python -m playwright install chromium
}

if [ -n "${CHROMIUM:-}" ]; then
    path=$(command -v "$CHROMIUM" || true)
    if runs "$path"; then
        echo "$path"
        exit
    fi
    say "CHROMIUM names '$CHROMIUM', which does not run: correct it, or unset it to have one found"
    exit 1
fi

find_chromium && exit
if [ "${1:-}" = --find ]; then
    say "found no Chromium that runs: 'scripts/ensure_chromium.sh' installs one"
    exit 1
fi
install_chromium >&2 </dev/null || true
find_chromium && exit
say "could not install a Chromium, which the tests of the site need:" \
    "install one by hand and name it, as in 'CHROMIUM=/path/to/chromium make test'"
exit 1
