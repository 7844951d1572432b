"""Every rule's page is true: its bad examples yield its code and no other, its good ones yield nothing."""

from pathlib import Path

import pytest

from kbtool.lint import run
from kbtool.lint.examples import Example, overlaid, parse_page, project_files, read_base
from kbtool.lint.rule import FAMILIES, Rule
from kbtool.lint.rules import MODULES, RULES

BASE = read_base(Path(__file__).parent / "base")
RULES_FOLDER = Path(__file__).parents[2] / "kbtool" / "lint" / "rules"

WITHOUT_EXAMPLES = {
    "U011": "needs a day to count from",
    "X002": "needs a day to count from",
}
"""Rules that no fragment can show, each with the reason; other tests cover them."""


def lint_codes(root: Path, files: dict[str, bytes]) -> list[str]:
    """Write a project and return the codes of its findings."""
    for path, data in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return [finding.code for finding in run(root, cache=False).findings]


def examples() -> list[tuple[Rule, int, Example]]:
    """Return every example with its rule."""
    return [
        (rule, number, example)
        for rule in RULES
        for number, example in enumerate(parse_page(rule.page).examples)
    ]


def test_base_records_are_clean(tmp_path: Path) -> None:
    """An example shows its own fault alone, because what it is laid over has none."""
    assert lint_codes(tmp_path, project_files(BASE, frozenset(), "title: A title of its own\n")) == []


@pytest.mark.parametrize(
    ("rule", "number", "example"),
    [
        pytest.param(*each, id=f"{each[0].code}-{'bad' if each[2].is_bad else 'good'}-{each[1]}")
        for each in examples()
    ],
)
def test_example(rule: Rule, number: int, example: Example, tmp_path: Path) -> None:
    """A bad example yields the rule's code, once or more; a good one yields nothing."""
    del number
    codes = lint_codes(tmp_path, project_files(BASE, rule.kinds, example.fragment))
    assert set(codes) == ({rule.code} if example.is_bad else set())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page(rule: Rule) -> None:
    """A page has a summary that begins with `Flag`, a bad and a good example, and a known family."""
    page = parse_page(rule.page)
    assert page.summary.startswith("Flag ")
    assert page.summary.endswith(".")
    assert rule.code[0] in FAMILIES
    kinds = {example.is_bad for example in page.examples}
    if rule.code not in WITHOUT_EXAMPLES and rule.scope != "base":
        assert kinds == {True, False}


def test_every_module_of_the_folder_is_listed() -> None:
    """A family that is written but not listed would never run."""
    written = {path.stem for path in RULES_FOLDER.glob("*.py")} - {"__init__"}
    listed = {module.__name__.rpartition(".")[2] for module in MODULES}
    assert {name for name in written if not name.startswith("_")} == listed


def test_names_read_after_allow() -> None:
    """A name is the thing flagged, in lower-case words, and no two rules share one."""
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert all(name.replace("-", "").isalnum() and name == name.lower() for name in names)


def test_fragments_merge_over_records() -> None:
    """Mappings merge, lists and single values replace, null sets a key to null."""
    under = {"a": {"b": 1, "c": [1, 2]}, "d": 3}
    over = {"a": {"c": [3]}, "d": None}
    assert overlaid(under, over) == {"a": {"b": 1, "c": [3]}, "d": None}
