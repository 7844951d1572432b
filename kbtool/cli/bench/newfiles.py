"""Files that a verb adds to the knowledge base: all of them, or none."""

from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["NewFiles"]


class NewFiles:
    """Files that are new until the block ends; an error removes them again, with the folders made for them.

    What was there before is left as it is, whatever happens.
    """

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._folders: list[Path] = []

    def at(self, path: Path) -> Path:
        """Return a path that is about to be written, its folder made."""
        missing = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._folders += reversed(missing)
        if not path.exists():
            self._files.append(path)
        return path

    def write(self, path: Path, data: bytes) -> None:
        """Write a file, whole or not at all."""
        from kbtool.store.atomic import write_atomic

        write_atomic(self.at(path), data)

    def __enter__(self) -> Self:
        """Return the files, none so far."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what is new if anything went wrong."""
        if kind is None:
            return
        for path in self._files:
            path.unlink(missing_ok=True)
        for folder in reversed(self._folders):
            if not any(folder.iterdir()):
                folder.rmdir()
