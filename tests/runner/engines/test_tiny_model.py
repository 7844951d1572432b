"""The tiny model that the real engine runs."""

from pathlib import Path

from tests.support import tiny_model


def test_it_is_the_same_each_time(tmp_path: Path) -> None:
    """Two makings give the same bytes, well below a megabyte."""
    paths = [tmp_path / "one.gguf", tmp_path / "two.gguf"]
    for path in paths:
        tiny_model._write(path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert len(first) < 2**20


def test_it_is_made_once() -> None:
    """The second call finds the file of the first, in a folder named after what made it."""
    path = tiny_model.tiny_model()
    made = path.stat().st_mtime_ns
    assert tiny_model.tiny_model().stat().st_mtime_ns == made
    assert len(path.parent.name) == 16
