"""Carry out the scenario's run in a process of its own: `python writer.py ROOT [DEADLY_CALL]`.

With a number the process kills itself, by SIGKILL, at that call to the disk. It prints the key of each cell
once its seal is on the disk.
"""

import sys
from pathlib import Path

from tests.runner.folder.disks import CountingDisk, KillingDisk
from tests.runner.folder.scenario import carry_out, create, options, resume


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class _Telling(list[str]):
    """A list that says on stdout what is added to it."""

    def append(self, item: str) -> None:
        _say(item)
        super().append(item)


def main() -> None:
    """Begin the run, or go on with it."""
    root, *rest = sys.argv[1:]
    disk = KillingDisk(int(rest[0])) if rest else CountingDisk()
    folder = (resume if Path(root).exists() else create)(Path(root), options(disk))
    _say("begun")
    carry_out(folder, sealed=_Telling())
    folder.close()
    _say("done")


if __name__ == "__main__":
    main()
