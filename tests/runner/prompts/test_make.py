"""Prompts: deterministic, unique from the first word, as long as asked, and what each class has to hold."""

import hashlib
import json
from dataclasses import replace

import jsonschema
import pytest

from kbtool.runner.prompts import (
    PROMPT_CLASSES,
    LengthError,
    Prompt,
    PromptClass,
    PromptSpec,
    SharedPrefix,
    calibrate_ratio,
    count_pieces,
    make_prompt,
    salt_text,
)
from tests.runner.prompts.vocabulary import prompt_tokens, tokens


def spec(
    prompt_class: PromptClass = "prose", *, target_tok: int = 1000, salt: str = "s", seed: int = 1
) -> PromptSpec:
    """Return a spec of which each test changes what matters to it."""
    return PromptSpec(prompt_class, target_tok, seed, salt)


def whole(prompt: Prompt) -> str:
    """Return roles and texts of all messages."""
    return "".join(f"{message.role}:{message.content}" for message in prompt.messages)


@pytest.mark.parametrize(
    ("prompt_class", "digest"),
    [
        ("prose", "e0e5276a38c38976"),
        ("code", "bbe9b8632a758d2e"),
        ("structured", "2f3fc64886217e9c"),
        ("agent", "8997cf6c83769900"),
        ("synthetic", "e269a88fb6cf1c26"),
    ],
)
def test_prompts_are_pinned(prompt_class: PromptClass, digest: str) -> None:
    """A seed gives this text for ever; a change of words or grammar raises `TEXT_VERSION` and changes this test."""
    assert hashlib.sha256(whole(make_prompt(spec(prompt_class))).encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("prompt_class", PROMPT_CLASSES)
def test_equal_specs_make_equal_prompts(prompt_class: PromptClass) -> None:
    """The same spec gives the same prompt; another seed or salt gives other text throughout."""
    first = make_prompt(spec(prompt_class))
    assert make_prompt(spec(prompt_class)) == first
    for other in (make_prompt(spec(prompt_class, salt="t")), make_prompt(spec(prompt_class, seed=2))):
        assert whole(other)[200:1500] != whole(first)[200:1500]


@pytest.mark.parametrize("prompt_class", PROMPT_CLASSES)
def test_prompts_differ_from_their_first_word(prompt_class: PromptClass) -> None:
    """Each prompt begins with its salt; of 50 prompts hardly two begin with one word, and none share 20 characters."""
    openings = [make_prompt(spec(prompt_class, salt=f"run/{n}", target_tok=700)).text for n in range(50)]
    assert len({text.split()[0] for text in openings}) >= 47
    assert len({text[:20] for text in openings}) == 50
    assert openings[3].startswith(salt_text("run/3"))


def test_salts_have_one_length_and_plain_signs() -> None:
    """A salt can be put in another's place without a change of length or escaping."""
    salts = [salt_text(str(n)) for n in range(3000)]
    assert {len(text) for text in salts} == {24}
    assert all(text.replace(" ", "").isalnum() and text.isascii() for text in salts)
    assert len(set(salts)) == 3000


@pytest.mark.parametrize("prompt_class", PROMPT_CLASSES)
def test_a_shared_prefix_is_shared_and_nothing_else_is(prompt_class: PromptClass) -> None:
    """Prompts with one prefix salt begin with the same text, then differ from their own salt on."""
    prefix = SharedPrefix("p", 400)
    a, b = (
        make_prompt(replace(spec(prompt_class, salt=salt, target_tok=1500), prefix=prefix))
        .messages[0]
        .content
        for salt in ("a", "b")
    )
    at = a.index(salt_text("a"))
    assert a[:at] == b[:at]
    assert a.startswith(salt_text("p"))
    assert b[at:].startswith(salt_text("b"))
    assert count_pieces(a[:at]) == pytest.approx(400, abs=20)


def test_a_prompt_says_which_salt_it_shares() -> None:
    """The trace's salt is the shared one where there is a shared beginning."""
    assert make_prompt(spec(salt="own")).salt == "own"
    assert make_prompt(replace(spec(salt="own"), prefix=SharedPrefix("both", 100))).salt == "both"


@pytest.mark.parametrize("prompt_class", PROMPT_CLASSES)
def test_calibrated_prompts_have_the_length_asked_for(prompt_class: PromptClass) -> None:
    """After eight probes 9 of 10 prompts of 1,000 to 8,000 tokens are within 2 % by a foreign vocabulary, all within 5 %."""
    probes = [
        make_prompt(spec(prompt_class, target_tok=n, salt=f"{n}-{i}")) for n in (700, 4000) for i in range(4)
    ]
    model = calibrate_ratio([(probe.n_pieces, prompt_tokens(probe)) for probe in probes])
    off = []
    for target_tok in (1000, 2000, 8000):
        for at in range(10):
            asked = replace(
                spec(prompt_class, target_tok=target_tok, salt=f"new-{at}"),
                tok_per_piece=model.tok_per_piece,
                fixed_tok=model.fixed_tok,
            )
            off.append(abs(prompt_tokens(make_prompt(asked)) / target_tok - 1))
    assert max(off) < 0.05
    assert sum(each <= 0.02 for each in off) >= 27


def test_expected_tokens_are_those_asked_for() -> None:
    """What a prompt is expected to have is the target, within a word or two."""
    for prompt_class in PROMPT_CLASSES:
        prompt = make_prompt(spec(prompt_class, target_tok=3000))
        assert prompt.expected_tok == pytest.approx(3000, abs=70 if prompt_class == "agent" else 8)


@pytest.mark.parametrize("prompt_class", PROMPT_CLASSES)
@pytest.mark.parametrize("target_tok", [500, 1357, 20_000])
def test_a_prompt_has_the_pieces_it_says(prompt_class: PromptClass, target_tok: int) -> None:
    """What calibration is given is what the text holds, but for a long word at the cut."""
    prompt = make_prompt(spec(prompt_class, target_tok=target_tok))
    assert prompt.n_pieces == pytest.approx(sum(count_pieces(m.content) for m in prompt.messages), abs=2)


def test_a_million_tokens_are_one_prompt() -> None:
    """The longest prompts are made and have the length asked for."""
    prompt = make_prompt(spec("synthetic", target_tok=1_000_000))
    assert tokens(prompt.text[:200_000]) * len(prompt.text) / 200_000 > 900_000
    assert prompt.expected_tok == pytest.approx(1_000_000, rel=0.005)


@pytest.mark.parametrize("prompt_class", PROMPT_CLASSES)
def test_too_short_a_prompt_is_refused_with_what_would_do(prompt_class: PromptClass) -> None:
    """A length below what the fixed parts take names the least length that is possible, and that one works."""
    with pytest.raises(LengthError, match=r"expected at least about \d+") as caught:
        make_prompt(spec(prompt_class, target_tok=20))
    least = int(str(caught.value).split("about ")[1].split(",")[0])
    make_prompt(spec(prompt_class, target_tok=least + 1))


def test_too_short_a_prefix_is_refused() -> None:
    """A shared prefix that is shorter than its salt is no prefix."""
    with pytest.raises(LengthError, match="shared prefix 'p'"):
        make_prompt(replace(spec(), prefix=SharedPrefix("p", 5)))


def test_structured_prompts_carry_a_strict_schema() -> None:
    """The schema is valid, closed, part of the text, and what `response_format` asks for."""
    for at in range(20):
        prompt = make_prompt(spec("structured", salt=str(at)))
        form = prompt.response_format()
        assert form is not None
        schema = form["json_schema"]["schema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert prompt.schema_json is not None
        assert prompt.messages[-1].content.endswith(prompt.schema_json)
        assert json.loads(prompt.schema_json) == schema


def test_other_classes_ask_for_no_schema() -> None:
    """Only structured prompts ask for a form of the answer."""
    assert make_prompt(spec("prose")).response_format() is None


def test_an_agent_prompt_is_a_session_under_way() -> None:
    """System prompt with tools, then user and assistant by turns, the user last: what every chat template takes."""
    roles = [message.role for message in make_prompt(spec("agent", target_tok=12_000)).messages]
    assert roles[0] == "system"
    assert roles[1::2] == ["user"] * len(roles[1::2])
    assert roles[2::2] == ["assistant"] * len(roles[2::2])
    assert roles[-1] == "user"
    assert len(roles) >= 8


def test_the_completions_text_begins_with_the_salt_and_names_later_roles() -> None:
    """A lone message stands as it is; a session is labelled from its second message on."""
    lone = make_prompt(spec("prose"))
    assert lone.text == lone.messages[0].content
    session = make_prompt(spec("agent"))
    assert session.text.startswith(salt_text("s"))
    assert "\n\nUser: " in session.text
    assert session.text.endswith("\n\nAssistant:")
