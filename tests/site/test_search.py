"""The search index holds every word once, in few bytes, and the same bytes for the same documents."""

import gzip
import json
import random
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbtool.site import search
from kbtool.site.search import SearchDoc, SearchEntry, build_index, entry_of, words_of

DECODE = SearchDoc(
    url="benchmarks/ev-sglang-dsv41-production-decode-tok-s-per-user.html",
    title="SGLang serving DeepSeek-V4.1-Flash on 8x RTX PRO 6000",
    kind="benchmark",
    id="ev-sglang-dsv41-production-decode-tok-s-per-user",
    keywords=("SGLang", "tok/s per user"),
    numbers=("93.9 tok/s per user", "6,853"),
    status="draft",
    text="speculative_algorithm DSPARK, kv_cache_dtype=fp8_e4m3. Na\u00efve caf\u00e9 tokens.",
)
METHODS = SearchDoc(url="methodology.html", title="Methodology", kind="page", text="how numbers are compared")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RTX PRO 6000", {"rtx", "pro", "6000"}),
        ("6,853", {"6853"}),
        ("1,234,567.8 tok", {"1234567.8", "tok"}),
        ("12,34", {"12,34", "12", "34"}),
        ("93.9", {"93.9"}),
        ("v4.1", {"v4.1", "v4", "1"}),
        ("DeepSeek-V4.1-Flash", {"deepseek-v4.1-flash", "deepseek", "v4.1", "v4", "1", "flash"}),
        ("tok/s per user", {"tok/s", "tok", "s", "per", "user"}),
        ("kv_cache=fp8.", {"kv_cache=fp8", "kv_cache", "kv", "cache", "fp8"}),
        ("Caf\u00e9 \uff18\u00d7", {"cafe", "8"}),
        ("  -- (x) ::", {"x"}),
        ("\u0130stanbul", {"istanbul"}),
        ("", set()),
    ],
)
def test_words_of(text: str, words: set[str]) -> None:
    """A word is found whole and by its parts; numbers are one word in either spelling."""
    assert words_of(text) == words


def test_an_id_is_found_whole_and_by_its_parts() -> None:
    """Hyphens join an id and also separate its words."""
    words = words_of(DECODE.id)
    assert DECODE.id in words
    assert {"ev", "sglang", "dsv41", "decode"} <= words


def test_an_entry_holds_the_words_that_only_the_prose_has() -> None:
    """Words of the title and the key words are in the first tier already."""
    words = set(entry_of(DECODE).words)
    assert {"dspark", "speculative_algorithm", "cafe", "naive", "fp8_e4m3"} <= words
    assert "sglang" not in words


def quick(files: dict[str, bytes]) -> dict[str, list[str]]:
    """Return the columns of the first tier."""
    columns: dict[str, list[str]] = json.loads(gzip.decompress(files["search/quick.json.gz"]))
    return columns


def documents_with(files: dict[str, bytes], word: str) -> list[int]:
    """Look a word up in the shards, as the browser does."""
    firsts = quick(files)["shards"]
    at = max((number for number, first in enumerate(firsts) if first <= word), default=0)
    shard = json.loads(files[f"search/words-{at:03d}.json"])
    return list(accumulate(shard["docs"][shard["words"].index(word)])) if word in shard["words"] else []


def test_the_first_tier_has_a_row_for_each_document() -> None:
    """Columns are sorted by address; the usual address is not written."""
    columns = quick(build_index(map(entry_of, (METHODS, DECODE))))
    assert columns["title"] == [DECODE.title, METHODS.title]
    assert columns["url"] == ["", "methodology.html"]
    assert columns["numbers"] == ["93.9 tok/s per user\n6,853", ""]
    assert [columns["statuses"][int(n)] for n in columns["status"]] == ["draft", ""]
    assert [[columns["keywords"][int(k)] for k in keys] for keys in columns["keys"]] == [
        list(DECODE.keywords),
        [],
    ]


def test_words_of_the_prose_lead_to_their_documents() -> None:
    """A posting list starts with a number and goes on with distances."""
    files = build_index(map(entry_of, (METHODS, DECODE)))
    assert documents_with(files, "dspark") == [0]
    assert documents_with(files, "compared") == [1]
    assert documents_with(files, "nowhere") == []


def many_entries(count: int) -> list[SearchEntry]:
    """Return documents with random words, always the same."""
    chance = random.Random(5)
    vocabulary = ["".join(chance.choices("abcdefgh", k=chance.randint(2, 7))) for _ in range(9000)]
    return [
        entry_of(
            SearchDoc(f"benchmarks/b-{n}.html", f"B {n}", "benchmark", f"b-{n}", text=" ".join(chance.choices(vocabulary, k=60)))
        )
        for n in range(count)
    ]  # fmt: skip


def test_every_word_is_in_one_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into many shards, the vocabulary is whole and each word is where the browser looks."""
    monkeypatch.setattr(search, "SHARD_BYTES", 2_000)
    entries = many_entries(600)
    files = build_index(entries)
    shards = [json.loads(data) for name, data in sorted(files.items()) if "words" in name]
    assert len(shards) > 5
    assert [shard["words"][0] for shard in shards] == quick(files)["shards"]
    words = [word for shard in shards for word in shard["words"]]
    assert words == sorted({word for entry in entries for word in entry.words})
    for word in words[::97]:
        in_order = sorted(entries, key=lambda entry: entry.doc.url)
        assert documents_with(files, word) == [n for n, entry in enumerate(in_order) if word in entry.words]


def test_shards_have_a_largest_size() -> None:
    """No shard grows far beyond what is worth one request."""
    files = build_index(many_entries(600))
    assert max(len(data) for name, data in files.items() if "words" in name) < 8 * search.SHARD_BYTES


def test_the_order_of_the_documents_does_not_matter() -> None:
    """The same documents give the same bytes."""
    entries = many_entries(50)
    assert build_index(entries) == build_index(list(reversed(entries)))


def test_a_changed_document_leaves_most_shards_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more rare word changes its own shard; the others stay byte for byte."""
    monkeypatch.setattr(search, "SHARD_BYTES", 2_000)
    entries = many_entries(600)
    before = build_index(entries)
    doc = entries[7].doc
    changed = entry_of(replace(doc, text=f"{doc.text} abcabcabc"))
    after = build_index([*entries[:7], changed, *entries[8:]])
    same = [name for name in before if after.get(name) == before[name]]
    assert len(same) >= len(before) - 1


@given(
    st.lists(st.builds(SearchDoc, url=st.text(), title=st.text(), kind=st.text(), text=st.text()), max_size=5)
)
def test_any_text_makes_an_index(docs: list[SearchDoc]) -> None:
    """Hostile text is data: every file is JSON and gives the texts back."""
    files = build_index(map(entry_of, docs))
    assert sorted(quick(files)["title"]) == sorted(doc.title for doc in docs)
    for name, data in files.items():
        if name.endswith(".json"):
            json.loads(data)
