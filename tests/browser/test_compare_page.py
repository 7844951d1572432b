"""Results side by side: the browser says what Python says, of every pair, and shows texts alone."""

import json
from decimal import Decimal
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any, Final

from playwright.sync_api import Page, expect

from kbtool.analysis.compare import SideFacts, held_against, rules_as_data
from kbtool.analysis.sides import Side
from kbtool.schema import Benchmark
from kbtool.store import load
from tests.browser.conftest import ROOT, BuiltSite, OpenContext
from tests.browser.test_real_site import barriers, ready

RANDOM: Final = 120
"""Results drawn from all; most pairs of them are refused for what they are."""
FAMILIES: Final = 12
"""Models and metrics of which up to `OF_EACH` results are taken, so that conditions and figures matter too."""
OF_EACH: Final = 20
IN_BROWSER: Final = """
async ([rules, sides, wanted]) => {
  const { heldAgainst, sentenceOf } = await import(new URL("assets/compare.js", document.baseURI));
  const digests = [];
  for (const one of sides) {
    const row = sides.map((other) => {
      const found = heldAgainst(rules, one, other);
      return [sentenceOf(found), found.verdict, found.differences];
    });
    const bytes = new TextEncoder().encode(JSON.stringify(row));
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    digests.push(Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(""));
    if (wanted === digests.length - 1) return row;
  }
  return digests;
}
"""
"""Returns a digest of each row of verdicts, or one row; all of them as they stand would be some hundred megabytes."""


@cache
def sample() -> tuple[SideFacts, ...]:
    """Return results of this repository: drawn at random, and whole families."""
    corpus = load(ROOT)
    everything = [
        Side(ref, record, result, corpus.status(ref))
        for ref, record in sorted(corpus.records.items())
        if isinstance(record, Benchmark)
        for result in record.results
    ]
    families: dict[tuple[str, str], list[Side]] = {}
    for each in everything:
        families.setdefault((each.setup.model.model, each.result.metric), []).append(each)
    draw = Random(5)
    chosen = draw.sample(everything, RANDOM)
    for key in draw.sample(sorted(key for key, sides in families.items() if len(sides) > OF_EACH), FAMILIES):
        chosen += draw.sample(families[key], OF_EACH)
    return tuple([each.facts for each in chosen])


def test_the_browser_says_what_python_says(page: Page) -> None:
    """All pairs of several hundred results: sentence, verdict and differences are equal, letter by letter."""
    ready(page, "compare.html")
    sides = sample()
    plain = [each.plain() for each in sides]
    digests = page.evaluate(IN_BROWSER, [rules_as_data(), plain, None])
    verdicts = set()
    for index, one in enumerate(sides):
        row = [held_against(one, other) for other in sides]
        verdicts |= {each.verdict for each in row}
        expected = [[each.sentence, each.verdict, [list(one) for one in each.differences]] for each in row]
        text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
        if sha256(text.encode()).hexdigest() != digests[index]:
            found = page.evaluate(IN_BROWSER, [rules_as_data(), plain, index])
            for other, mine, theirs in zip(sides, expected, found, strict=True):
                assert theirs == mine, (one.name, other.name)
    assert verdicts == {"comparable", "with_reservations", "refused"}
    assert len(sides) > 300


def test_ratios_are_rounded_as_in_python(page: Page) -> None:
    """Ties go to the even digit, whatever the number of digits; nothing is divided by zero."""
    ready(page, "compare.html")
    values = [
        "17", "16", "0.0625", "1", "3", "7", "2.0625", "93.90", "8", "1000000", "0.000125", "75.33333333333333333333333333",
        "-2", "0", "33.5", "24", "0.0005", "0.0015", "1999.9995", "123456789012345678901234567.5",
    ]  # fmt: skip
    pairs = [[one, other] for one in values for other in values]
    found = page.evaluate(
        """async (pairs) => {
          const { quotient } = await import(new URL("assets/compare.js", document.baseURI));
          return pairs.map(([one, other]) => quotient(one, other));
        }""",
        pairs,
    )
    expected = [f"{Decimal(one) / Decimal(other):.3f}" if Decimal(other) else None for one, other in pairs]
    wrong = [
        (pair, ours, theirs)
        for pair, ours, theirs in zip(pairs, found, expected, strict=True)
        if ours != theirs and not (theirs or "").startswith("-0.000")
    ]
    assert wrong == []


def test_two_results_side_by_side(page: Page, real_site: BuiltSite) -> None:
    """A link of a record's page leads to the verdict in the words of Python, with what differs first."""
    link = _link(real_site)
    page.goto(link)
    verdict = page.locator("[data-kb-verdict]")
    expect(verdict).to_have_count(1)
    names = page.evaluate("new URLSearchParams(location.search).get('ids')").split(",")
    one, other = (next(each for each in _all(name, real_site)) for name in names)
    expect(verdict).to_contain_text(held_against(one, other).sentence)
    rows = page.locator("[data-kb-compare-out] tbody tr")
    differs = rows.evaluate_all("(all) => all.slice(4).map((each) => each.className === 'kb-differs')")
    assert differs == sorted(differs, reverse=True)
    assert barriers(page) == []


def test_results_are_added_and_removed(page: Page, real_site: BuiltSite) -> None:
    """By keyboard, and the address follows, so that a comparison can be linked and gone back from."""
    link = _link(real_site)
    ready(page, "compare.html")
    names = link.partition("?ids=")[2].replace("%23", "#").split(",")
    field = page.get_by_label("Result", exact=True)
    for count, name in enumerate(names, start=1):
        field.fill(name)
        field.press("Enter")
        expect(page.locator("[data-kb-compare-out] thead th[scope=col]")).to_have_count(count)
    expect(page.locator("[data-kb-verdict]")).to_have_count(1)
    page.get_by_role("button", name=f"Remove {names[0]}").press("Enter")
    expect(page.locator("[data-kb-compare-out] thead th[scope=col]")).to_have_count(1)
    page.go_back()
    expect(page.locator("[data-kb-verdict]")).to_have_count(1)


def test_what_is_not_there_is_said(page: Page) -> None:
    """A record that does not exist, a result that it lacks, a seventh: the page says so and shows the rest."""
    page.route(
        "**/data/records/benchmarks/no-such-record.json", lambda route: route.fulfill(status=200, body="{}")
    )
    ready(page, "compare.html?ids=models/x,constructor,__proto__,a#b")
    expect(page.locator("[data-kb-compare-status]")).to_contain_text("models/x names no benchmark")
    expect(page.locator("[data-kb-compare-status]")).to_contain_text("name at least two results")


def test_texts_of_hostile_records_stay_texts(open_context: OpenContext, hostile_site: BuiltSite) -> None:
    """Titles, versions and figures that are markup are shown as they stand; nothing runs."""
    context, witness = open_context(hostile_site)
    page = context.new_page()
    refs = sorted(ref for ref in hostile_site.hostile if ref.startswith("benchmarks/"))
    for start in range(0, min(len(refs), 48), 6):
        page.goto(f"compare.html?ids={','.join(refs[start : start + 6])}")
        expect(page.locator("[data-kb-compare-out] table")).to_be_visible()
        assert page.evaluate("window.kbFired") == []
        assert page.evaluate("window.kbViolations") == []
        assert page.locator("[data-kb-compare-out] :is(script, img, svg, iframe, style)").count() == 0
    page.goto("compare.html?ids=%3Cimg%20src=x%20onerror=alert(1)%3E,benchmarks/..%2f..%2fx")
    expect(page.locator("[data-kb-compare-status]")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.evaluate("window.kbFired") == []
    witness.assert_clean()


def _link(site: BuiltSite) -> str:
    """Return the address of the first comparison that the page without scripts lists."""
    text = (site.folder / "compare.html").read_text(encoding="utf-8")
    found = text.split('href="compare.html?ids=')
    assert len(found) > 1
    return "compare.html?ids=" + found[1].partition('"')[0]


def _all(name: str, site: BuiltSite) -> list[SideFacts]:
    """Return the side of one result as the site publishes it."""
    ref, _, result = name.partition("#")
    data = json.loads((site.folder / f"data/records/{ref}.json").read_text(encoding="utf-8"))["comparison"]
    shared: dict[str, Any] = data["all"]
    merged = [
        {**shared, **each, **{key: {**shared[key], **each.get(key, {})} for key in ("told", "settings")}}
        for each in data["each"]
    ]
    return [SideFacts.of_plain(each) for each in merged if each["result"] == result]
