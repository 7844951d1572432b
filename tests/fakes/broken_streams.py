"""What goes wrong inside an answer whose framing is right: status, events and usage."""
# ruff: noqa: D103 - the table in `tests.fakes.hostile` says what each of them does

from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.fakes.turn import Turn
from tests.fakes.wire import DONE, event


def status(status: int, message: str = "no") -> Callable[[Turn], None]:
    def behave(turn: Turn) -> None:
        turn.wire.json(status, {"error": {"message": message, "type": "error", "code": status}})

    return behave


def redirect(turn: Turn) -> None:
    where = turn.generation.script.settings.get("location", "http://127.0.0.2:9/steal")
    turn.wire.whole(307, "text/plain", b"", more=f"Location: {where}\r\n")


def html_page(turn: Turn) -> None:
    turn.wire.whole(200, "text/html", b"<html><title>Log in</title></html>")


def json_instead(turn: Turn) -> None:
    turn.wire.json(
        200,
        turn.generation.envelope([{"index": 0, "message": {"content": " word"}, "finish_reason": "stop"}]),
    )


def json_error_with_200(turn: Turn) -> None:
    turn.wire.json(200, {"error": {"message": "CUDA error: an illegal memory access", "code": 500}})


def error_event(turn: Turn) -> None:
    turn.stream(event({"error": {"message": "EngineCore died", "code": 500}}), DONE)


def error_mid_stream(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], event({"error": {"message": "out of memory"}}), *pieces[3:])


def named_error_event(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], b'event: error\ndata: {"message": "gone"}\n\n', *pieces[3:])


def aborted(turn: Turn) -> None:
    turn.honest(replace(turn.generation, finish_reason="abort"))


def not_json(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], b"data: {'choices': nope}\n\n", *pieces[3:])


def json_is_a_list(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], b"data: [1, 2]\n\n", *pieces[3:])


def deep_json(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], b"data: " + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"\n\n", *pieces[3:])


def nan(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], b'data: {"choices": [], "usage": {"completion_tokens": NaN}}\n\n', *pieces[3:])


def infinite(turn: Turn) -> None:
    pieces = turn.pieces()
    turn.stream(*pieces[:3], b'data: {"choices": [], "usage": {"completion_tokens": 1e999}}\n\n', *pieces[3:])


def broken_utf8(turn: Turn) -> None:
    pieces = turn.pieces()
    broken = event(turn.text(" ABC")).replace(b"ABC", b"\xf0\x28\x8c\xbc")
    turn.stream(*pieces[:3], broken, *pieces[3:])


def lone_surrogate(turn: Turn) -> None:
    pieces = turn.pieces()
    broken = event(turn.text(" ABC")).replace(b"ABC", b"\\ud800")
    turn.stream(*pieces[:3], broken, *pieces[3:])


def other_model(turn: Turn) -> None:
    turn.honest(replace(turn.generation, model="something-smaller"))


def model_changes(turn: Turn) -> None:
    objects = turn.objects()
    objects[-2]["model"] = "something-smaller"
    turn.stream(*map(event, objects), DONE)


def no_model(turn: Turn) -> None:
    turn.stream(*(event({k: v for k, v in each.items() if k != "model"}) for each in turn.objects()), DONE)


def empty_content(turn: Turn) -> None:
    turn.honest(replace(turn.generation, text=("",) * len(turn.generation.text)))


def no_events(turn: Turn) -> None:
    turn.stream()


def end_mark_only(turn: Turn) -> None:
    turn.stream(DONE)


def no_end_mark(turn: Turn) -> None:
    turn.stream(*map(event, turn.objects()))


def no_finish_reason(turn: Turn) -> None:
    objects = turn.objects()
    for each in objects:
        clear_finish(each)
    turn.stream(*map(event, objects), DONE)


def clear_finish(each: dict[str, object]) -> None:
    choices = each.get("choices")
    if isinstance(choices, list) and choices:
        choices[0]["finish_reason"] = None


def usage(lie: Callable[[Mapping[str, object]], object]) -> Callable[[Turn], None]:
    """Return a behaviour whose last usage is what `lie` makes of the true one; the stream has no other."""

    def behave(turn: Turn) -> None:
        objects = turn.objects()
        true = next(each["usage"] for each in reversed(objects) if "usage" in each)
        assert isinstance(true, dict)
        for each in objects:
            each.pop("usage", None)
        told = lie(true)
        if told is not None:
            objects[-1]["usage"] = told
        turn.stream(*map(event, objects), DONE)

    return behave


def changed(**values: object) -> Callable[[Mapping[str, object]], object]:
    def lie(true: Mapping[str, object]) -> object:
        told = {**true, **values}
        told.pop("total_tokens", None)
        return told

    return lie


def duplicate_fields(turn: Turn) -> None:
    objects = turn.objects()
    last = event(objects[-1]).replace(
        b'"usage":', b'"usage": {"prompt_tokens": 1, "completion_tokens": 9999}, "usage":'
    )
    turn.stream(*map(event, objects[:-1]), last, DONE)
