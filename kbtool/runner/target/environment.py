"""The environment that an engine is started with: little, and the same whoever starts it.

What else stands in our own environment, an engine never sees: it would be a setting that no plan names.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kbtool.errors import UsageError

__all__ = ["ALLOWED", "engine_environment"]

ALLOWED: Final = frozenset(
    {
        "HOME", "PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR",
        # Where weights lie, and whether they may be fetched.
        "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE",
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
        # Where the container runtime is.
        "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
        "CUDA_HOME",
    }
)  # fmt: skip
_ACCELERATOR_NAMES: Final = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


def engine_environment(
    own: Mapping[str, str],
    public: Mapping[str, str],
    from_own: Iterable[str],
    accelerators: Iterable[int] = (),
    *,
    place: str = "the plan",
) -> dict[str, str]:
    """Return the environment for an engine.

    Args:
        own: Our own environment.
        public: Variables of the plan and of the leg, over ours.
        from_own: Names of further variables to take from ours; their values are secret.
        accelerators: Indices that it may use, in the driver's order; empty for all.
        place: What the message names.

    Raises:
        UsageError: A variable is not set, or the plan says twice which accelerators to use.
    """
    environment = {name: value for name, value in own.items() if name in ALLOWED}
    environment.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    for name in from_own:
        if name not in own:
            raise UsageError(
                f"{place}: the environment variable {name} is not set; expected its value there, as the plan lists "
                f"it in `env_from`: export it, or take it out of the plan"
            )
        environment[name] = own[name]
    environment.update(public)
    indices = ",".join(str(each) for each in accelerators)
    if indices:
        twice = next((name for name in _ACCELERATOR_NAMES if name in public), None)
        if twice is not None:
            raise UsageError(
                f"{place}: both `accelerators` and {twice} say which accelerators to use: leave one of them out"
            )
        environment["CUDA_VISIBLE_DEVICES"] = indices
        # Without it, CUDA counts the fastest card first, and the driver's tools count by bus.
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    return environment
