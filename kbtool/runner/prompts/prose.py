"""Prose: paragraphs of made-up reports from small towns, by a grammar with changing people, places and things.

A paragraph keeps its people, its place and its subjects, so that it reads as being about something, and draft models
find the regularities that they find in ordinary text.
"""

import re
from typing import Final

from kbtool.runner.prompts.draws import Draws
from kbtool.runner.prompts.words import (
    ACTIONS,
    ADJECTIVES,
    ADVERBS,
    CITIES,
    FAMILY_NAMES,
    GIVEN_NAMES,
    NOUNS,
    PLACES,
    PLURALS,
    TIMES,
    WENT,
)

__all__ = ["paragraph", "prose", "sentence"]

_TEMPLATES: Final = (
    "{person} {action} the {adj} {noun} near the {place}, and {other} {went} {adverb} beside it.",
    "Before {time}, the {noun} from {city} had been {action_} by the {adj} {plural}.",
    "Nobody in {city} {action} {person}, who {went} {adverb} between the {plural} and the {plural}.",
    "The {topic} was {adj}, but its {noun} {went}, which {other} {adverb} {action}.",
    "When the {plural} {went}, {person} {action} {number} {plural} and {action} the rest.",
    "It was {other} who {action} the {topic}; the {adj} {noun} was {person}'s idea.",
    "For {number} {time}s the {place} had no {noun}, only {adj} {plural}.",
    "{person} {family} of {city} {adverb} {action} what the {plural} had {action_}.",
    "Between the {place} and the {place2} lay {number} {adj} {plural}, each with its own {noun}.",
    '"The {topic} is {adj}," said {other}, "and the {noun} is no more {adj} than it was."',
    "Every {time} the {plural} {went}, until {person} {action} the {noun} and the {place} was {adj} again.",
    "{other} {adverb} {action} the letter from {city}, in which the {plural} were {adj} and the {noun} was not.",
    "Whoever {action} the {topic} must have {action_} the {noun} too, {person} thought.",
    "That {time} the {adj} {place} {went} under {adj} {noun} and {noun}.",
    "There were {number} reasons: the {noun} was {adj}, the {plural} {went}, and {other} {action} neither.",
    "{person} asked for {plural}; {other} {action} a list of {number} {adj} ones.",
    "If the {topic} had been {adj}, the {plural} of {city} would have {action_} it.",
    "Some {plural} {went} {adverb}, others {action} the {noun} without a word.",
    "Of all the {plural} in the {place}, only the {adj} one {went}.",
    "The {noun} cost {number} crowns, more than {person} had {action_} in a {time}.",
    "{other} {went} past the {place2}, {action} the {noun}, and {adverb} {went}.",
    "By {time} the whole {place} {action} the {topic}, and {city} heard of it soon after.",
    "What {person} {action} was {adj}: a {noun_c}, some {plural}, and the {topic}.",
    "{person} and {other} {adverb} {action} the {plural}, though the {noun} {went}.",
    "Since the {noun} {went}, the {adj} {plural} have {action_} nothing but {plural}.",
    "Later the {place} became a {noun_c} {place2}, where {plural} {went} among the {plural}.",
    '"How {adj}!" cried {person}, and {action} the {noun} out of the {adj} {noun}.',
    "The {topic} {went} once more in {number_year}, when {person} {family} {action} the {place}.",
    "Neither the {plural} nor the {adj} {noun} {action} {other} as much as the {topic} did.",
    "With {adj} {plural} and a {noun_c} the {place2} {went} {adverb} through the {time}.",
)
_SLOT: Final = re.compile(r"\{(\w+)\}")
_COMPILED: Final = tuple((_SLOT.sub("%s", t), tuple(_SLOT.findall(t))) for t in _TEMPLATES)

_IRREGULAR: Final = {
    "drew": "drawn", "drove": "driven", "forgot": "forgotten", "gave": "given", "hid": "hidden", "knew": "known",
    "chose": "chosen", "showed": "shown", "stole": "stolen", "threw": "thrown", "took": "taken", "wrote": "written",
}  # fmt: skip
_PARTICIPLES: Final = tuple(_IRREGULAR.get(verb, verb) for verb in ACTIONS)
_CONSONANT_NOUNS: Final = tuple(noun for noun in NOUNS if noun[0] not in "aeiouh")
_NUMBERS: Final = (*map(str, range(3, 120)), "two", "three", "four", "five", "six", "seven", "twelve")
_YEARS: Final = tuple(str(year) for year in range(1820, 1990))

Pools = dict[str, tuple[str, ...]]


def _pools(draws: Draws) -> Pools:
    """Return what the slots may be filled with in one paragraph."""
    people = draws.sample(GIVEN_NAMES, 4)
    places = draws.sample(PLACES, 4)
    return {
        "person": (people[0], people[1]),
        "other": (people[2], people[3]),
        "family": (draws.pick(FAMILY_NAMES),),
        "place": (places[0], places[1]),
        "place2": (places[2], places[3]),
        "city": tuple(draws.sample(CITIES, 2)),
        "topic": tuple(f"{draws.pick(ADJECTIVES)} {draws.pick(NOUNS)}" for _ in range(2)),
        "noun": NOUNS,
        "noun_c": _CONSONANT_NOUNS,
        "adj": ADJECTIVES,
        "adverb": ADVERBS,
        "plural": PLURALS,
        "time": TIMES,
        "action": ACTIONS,
        "action_": _PARTICIPLES,
        "went": WENT,
        "number": _NUMBERS,
        "number_year": _YEARS,
    }


def sentence(draws: Draws, pools: Pools) -> str:
    """Return one sentence from the words of the paragraph."""
    form, slots = draws.pick(_COMPILED)
    pick = draws.pick
    text = form % tuple([pick(pools[slot]) for slot in slots])
    return text[0].upper() + text[1:]


def paragraph(draws: Draws) -> str:
    """Return one paragraph of 4 to 9 sentences."""
    pools = _pools(draws)
    return " ".join([sentence(draws, pools) for _ in range(draws.between(4, 9))])


def prose(draws: Draws, n_chars: int) -> str:
    """Return at least that many characters of prose, in paragraphs."""
    parts: list[str] = []
    have = 0
    while have < n_chars:
        part = paragraph(draws)
        parts.append(part)
        have += len(part) + 2
    return "\n\n".join(parts) + "\n"
