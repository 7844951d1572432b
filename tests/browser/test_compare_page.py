"""Results side by side: the browser says what Python says, of every pair, and shows texts alone."""

import json
from decimal import Decimal
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from kbtool.analysis.compare import SideFacts, held_against, rules_as_data
from kbtool.analysis.sides import Side
from kbtool.schema import Benchmark
from kbtool.store import load
from tests.browser.conftest import PATIENCE_MS, ROOT, BuiltSite, OpenContext
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
    rows = page.locator("[data-kb-compare-out] tbody tr[data-kb-row=setting]")
    differs = rows.evaluate_all("(all) => all.map((each) => each.className === 'kb-differs')")
    assert len(differs) > 3
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


def test_a_wrong_name_is_taken_out(page: Page, real_site: BuiltSite) -> None:
    """What shows nothing has a button of its own, and so has a seventh."""
    names = _names(real_site)
    ready(page, f"compare.html?ids={names[0]},models/x")
    page.get_by_role("button", name="Remove models/x").click()
    expect(page.locator("[data-kb-compare-status]")).not_to_contain_text("models/x")
    assert "models" not in page.url
    expect(page.locator("[data-kb-compare-out] thead th[scope=col]")).to_have_count(1, timeout=PATIENCE_MS)
    file = json.loads(
        (real_site.folder / f"data/records/{names[0].partition('%23')[0]}.json").read_text("utf-8")
    )
    wrong = [f"x{place}" for place in range(6)]
    ready(page, f"compare.html?ids={','.join([*wrong, file['ref']])}")
    page.get_by_role("button", name=f"Remove {file['ref']}").click()
    assert file["ref"] not in page.url


@pytest.mark.parametrize("form", ["id", "reference", "result", "page", "comparison"])
def test_the_field_takes_what_names_a_result(page: Page, real_site: BuiltSite, form: str) -> None:
    """A bare id, a reference, `id#result`, the pasted address of a page or of a comparison."""
    ref, _, result = _names(real_site)[0].replace("%23", "#").partition("#")
    record = ref.partition("/")[2]
    forms = {
        "id": (record, ref),
        "reference": (ref, ref),
        "result": (f"{record}#{result}", f"{ref}#{result}"),
        "page": (f"{real_site.url}{ref}.results-2.html?x=1#{result}", f"{ref}#{result}"),
        "comparison": (f"{real_site.url}compare.html?ids={ref}%23{result}", f"{ref}#{result}"),
    }
    typed, named = forms[form]
    ready(page, "compare.html")
    field = page.get_by_label("Result", exact=True)
    field.fill(typed)
    field.press("Enter")
    expect(page.locator("[data-kb-compare-out] thead th[scope=col]")).to_have_count(1, timeout=PATIENCE_MS)
    assert page.evaluate("new URLSearchParams(location.search).get('ids')") == named
    expect(field).to_have_value("")


def test_words_give_results_to_choose_from(page: Page) -> None:
    """A list of results with their figures; each is a button that takes it."""
    ready(page, "compare.html")
    field = page.get_by_label("Result", exact=True)
    for count in (1, 2):
        field.fill("gpt-oss-120b vllm")
        page.locator("[data-kb-compare-add]").click()
        found = page.locator("[data-kb-compare-found]")
        expect(found.get_by_role("link")).to_contain_text("in the explorer")
        found.get_by_role("button").nth(count - 1).click()
        expect(page.locator("[data-kb-compare-out] thead th[scope=col]")).to_have_count(
            count, timeout=PATIENCE_MS
        )
        expect(found).to_be_empty()
    field.fill("no such words anywhere")
    field.press("Enter")
    expect(page.locator("[data-kb-compare-found]")).to_contain_text("No result has the words")


def test_the_result_to_divide_by_is_chosen(page: Page, real_site: BuiltSite) -> None:
    """The verdict turns around, and the address keeps it."""
    one, other = (_all(each.replace("%23", "#"), real_site)[0] for each in _names(real_site))
    page.goto(_link(real_site))
    verdict = page.locator("[data-kb-verdict]")
    expect(verdict).to_contain_text(held_against(one, other).sentence)
    expect(page.get_by_role("radio", name=f"Divide by {other.name}")).to_be_checked()
    page.get_by_role("radio", name=f"Divide by {one.name}").check()
    expect(verdict).to_contain_text(held_against(other, one).sentence)
    page.reload()
    expect(verdict).to_contain_text(held_against(other, one).sentence)
    page.go_back()
    expect(verdict).to_contain_text(held_against(one, other).sentence)


def test_sources_and_titles_stand_beside_the_figures(page: Page, real_site: BuiltSite) -> None:
    """Per accelerator, confidence, publisher, day, source and place of each; references by their titles."""
    page.goto(_link(real_site))
    table = page.locator("[data-kb-compare-out] table")
    expect(table).to_be_visible(timeout=PATIENCE_MS)
    cells = table.evaluate(
        "(table) => Object.fromEntries(Array.from(table.tBodies[0].rows, (row) => [row.cells[0].textContent, Array.from(row.cells).slice(1).map((cell) => cell.textContent)]))"
    )
    for place, name in enumerate(_names(real_site)):
        ref, _, result = name.partition("%23")
        record = _record(ref, real_site)
        evidence = next(each for each in record["results"] if each["id"] == result)["evidence"][0]
        source = _record(evidence["source"], real_site)
        confidence = record["confidence"] or {}
        assert cells["Publisher"][place] == source["publisher"]
        assert cells["Source"][place] == source["title"]
        assert cells["Place in the source"][place] == evidence["locator"]
        assert str(confidence.get("label", "not stated")) in cells["Confidence as stated"][place]
        assert cells["Measured"][place] == (
            record["measured"]["day"] or record["measured"]["period"] or "not stated"
        )
        assert cells["Model"][place] == _record(record["model"]["model"], real_site)["title"]
        assert cells["Engine"][place] == _record(record["engine"]["engine"], real_site)["title"]
        assert (evidence["quote"] or "not stated") in cells["Quote"][place]
    assert len(cells["Per accelerator"]) == 2
    assert all(cells["Per accelerator"])


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


def _names(site: BuiltSite) -> list[str]:
    """Return the two results of that comparison, as they are written in the address."""
    return _link(site).partition("?ids=")[2].split(",")


def _record(ref: str, site: BuiltSite) -> dict[str, Any]:
    """Return a record as the site publishes it."""
    record: dict[str, Any] = json.loads((site.folder / f"data/records/{ref}.json").read_text("utf-8"))[
        "record"
    ]
    return record


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
