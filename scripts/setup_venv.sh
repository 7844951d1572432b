#!/bin/sh
# Make or refresh .venv: `scripts/setup_venv.sh PYTHON`, from the project root, through `make setup`.
set -eu

python=$1
venv=.venv

fail() {
    printf 'make setup: %s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    fail "found no '$python': install Python 3.11 or newer, or name one with 'make setup PYTHON=...'"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "'$python' is $("$python" -V 2>&1): kbtool needs 3.11 or newer; name one with 'make setup PYTHON=...'"

# Debian splits the parts that `python -m venv` needs from Python itself.
has_venv() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }

if ! has_venv && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "make setup: '$python' has no venv module; installing Debian's python3-venv"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv </dev/null
fi
has_venv ||
    fail "'$python' has no venv module: install it (Debian and Ubuntu: 'apt-get install python3-venv') and try again"

# A virtualenv of another Python version, or one that was moved, cannot be mended in place.
version='import sys; print(sys.version_info[:2])'
if [ -e "$venv" ] && {
    [ "$("$venv/bin/python" -c "$version" 2>/dev/null)" != "$("$python" -c "$version")" ] ||
        ! "$venv/bin/pip" --version >/dev/null 2>&1
}; then
    echo "make setup: $venv does not fit '$python' or this folder; making it anew"
    rm -rf "$venv"
fi
if [ ! -e "$venv" ]; then
    echo "make setup: making $venv (a minute or two, the first time)"
    "$python" -m venv "$venv"
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
pip_install() { "$venv/bin/python" -m pip install --quiet --constraint constraints.txt "$@" </dev/null; }

# The build backends go in first, so that the constraints bind them too: pip does not apply them inside an isolated build.
pip_install pip hatchling setuptools
pip_install --no-build-isolation --editable '.[site,query,runner,dev]'
"$venv/bin/python" -m pip check >/dev/null ||
    fail "the installed packages contradict each other: '$venv/bin/python -m pip check' says how"
