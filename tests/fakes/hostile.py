"""Everything that a server can do wrong, in one table, with the outcome that a request must then be given.

A test runs each of them against the real client.  To add one: write what it sends, and name the outcome.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kbtool.runner.trace import Outcome
from tests.fakes import broken_streams, broken_wire, odd_streams
from tests.fakes.turn import Turn

__all__ = ["BENIGN", "MODES", "Mode"]


@dataclass(frozen=True, slots=True)
class Mode:
    """One misbehaviour."""

    name: str
    outcome: Outcome
    """What the request must be called; `OK` for what looks odd and is allowed."""
    what: str
    behave: Callable[[Turn], None]


_O: Final = Outcome
_TABLE: Final = (
    Mode("honest", _O.OK, "Answers as asked.", Turn.honest),
    # Odd, and allowed.
    Mode("byte_by_byte", _O.OK, "Each byte is a chunk of its own.", odd_streams.byte_by_byte),
    Mode("one_segment", _O.OK, "The whole stream in one piece.", odd_streams.one_segment),
    Mode("ends_at_close", _O.OK, "The body ends with the connection, as ds4's does.", odd_streams.ends_at_close),
    Mode("known_length", _O.OK, "A stream with Content-Length.", odd_streams.known_length),
    Mode("comments_between", _O.OK, "A comment before each event.", odd_streams.comments_between),
    Mode("windows_lines", _O.OK, "Lines end with CR LF.", odd_streams.windows_lines),
    Mode("event_names", _O.OK, "Events have names, ids and retry times.", odd_streams.event_names),
    Mode("chunk_extension", _O.OK, "Chunk extensions, and a trailer.", odd_streams.chunk_extension),
    Mode("interim_answer", _O.OK, "100 Continue before the answer.", odd_streams.interim_answer),
    Mode("kept_open", _O.OK, "The connection stays open behind a whole answer.", odd_streams.kept_open),
    Mode("early_role", _O.OK, "The role comes long before the first token.", odd_streams.early_role),
    Mode("many_bytes", _O.OK, "Characters of four bytes.", odd_streams.many_bytes),
    Mode("duplicate_fields", _O.OK, "A field twice in one object: the last counts, as in JSON readers.", broken_streams.duplicate_fields),
    # The connection.
    Mode("close_without_answer", _O.TRUNCATED, "Closes without a byte.", broken_wire.close_without_answer),
    Mode("reset_without_answer", _O.RESET, "Resets without a byte.", broken_wire.reset_without_answer),
    Mode("half_a_head", _O.TRUNCATED, "Closes in the middle of the headers.", broken_wire.half_a_head),
    Mode("reset_mid_stream", _O.RESET, "Resets after some tokens.", broken_wire.reset_mid_stream),
    Mode("close_mid_stream", _O.TRUNCATED, "Closes after some tokens, the last chunk missing.", broken_wire.close_mid_stream),
    Mode("close_mid_chunk", _O.TRUNCATED, "Closes inside a chunk.", broken_wire.close_mid_chunk),
    Mode("close_mid_event", _O.NO_FINISH_REASON, "A body that ends at close ends inside an event.", broken_wire.close_mid_event_eof),
    # Silence.
    Mode("never_answers", _O.FIRST_BYTE_TIMEOUT, "Healthy, and never answers a request.", broken_wire.never_answers),
    Mode("head_then_silence", _O.STALLED, "Headers at once, then nothing.", broken_wire.head_then_silence),
    Mode("stall", _O.STALLED, "Some tokens, then nothing.", broken_wire.stall),
    Mode("comments_only", _O.STALLED, "Keep-alive comments and no token.", broken_wire.comments_only),
    Mode("role_only", _O.STALLED, "The role, again and again, and no token.", broken_wire.role_only),
    Mode("slow_head", _O.STALLED, "Headers byte by byte without an end.", broken_wire.slow_head),
    Mode("slow_body", _O.STALLED, "An event byte by byte without an end.", broken_wire.slow_body),
    Mode("stalls_before_end_mark", _O.STALLED, "Everything but the end mark, then nothing.", broken_wire.stalls_before_end_mark),
    Mode("never_ends", _O.TOTAL_TIMEOUT, "Tokens for ever.", broken_wire.never_ends),
    # Framing.
    Mode("not_http", _O.BAD_FRAMING, "Another protocol answers.", broken_wire.not_http),
    Mode("body_without_head", _O.BAD_FRAMING, "Events without an HTTP head.", broken_wire.body_without_head),
    Mode("content_length_too_long", _O.TRUNCATED, "Content-Length promises more than comes.", broken_wire.content_length_too_long),
    Mode("content_length_too_short", _O.BAD_FRAMING, "Content-Length is less than comes.", broken_wire.content_length_too_short),
    Mode("content_length_no_number", _O.BAD_FRAMING, "Content-Length is a word.", broken_wire.content_length_no_number),
    Mode("content_length_negative", _O.BAD_FRAMING, "Content-Length is -1.", broken_wire.content_length_negative),
    Mode("content_length_twice", _O.BAD_FRAMING, "Two values of Content-Length.", broken_wire.content_length_twice),
    Mode("length_and_chunks", _O.BAD_FRAMING, "Content-Length and chunks.", broken_wire.length_and_chunks),
    Mode("chunk_size_garbage", _O.BAD_FRAMING, "A chunk size that is none.", broken_wire.chunk_size_garbage),
    Mode("chunk_size_huge", _O.TRUNCATED, "A chunk of 16 EiB.", broken_wire.chunk_size_huge),
    Mode("chunk_size_negative", _O.BAD_FRAMING, "A chunk of -5 bytes.", broken_wire.chunk_size_negative),
    Mode("chunk_without_end", _O.BAD_FRAMING, "No line end behind a chunk.", broken_wire.chunk_without_end),
    Mode("endless_chunk_size", _O.BAD_FRAMING, "A chunk size of megabytes.", broken_wire.endless_chunk_size),
    Mode("header_bomb", _O.BAD_FRAMING, "20,000 headers.", broken_wire.header_bomb),
    Mode("endless_header", _O.BAD_FRAMING, "One header of 16 MiB.", broken_wire.endless_header),
    Mode("interim_bomb", _O.BAD_FRAMING, "A thousand interim answers.", broken_wire.interim_bomb),
    Mode("switches_protocol", _O.BAD_FRAMING, "101 Switching Protocols.", broken_wire.switches_protocol),
    Mode("bytes_behind_the_end", _O.BAD_FRAMING, "A second answer behind the first.", broken_wire.bytes_behind_the_end),
    Mode("gzip", _O.NOT_A_STREAM, "Compressed, though identity was asked for.", broken_wire.gzip_body),
    Mode("gzip_bomb", _O.NOT_A_STREAM, "32 MiB of zeros in 32 KiB.", broken_wire.gzip_bomb),
    # Size.
    Mode("endless_line", _O.LINE_TOO_LONG, "One line without an end.", broken_wire.endless_line),
    Mode("giant_line", _O.LINE_TOO_LONG, "One line of 300 KB.", broken_wire.giant_line),
    Mode("giant_comment", _O.LINE_TOO_LONG, "A comment of 300 KB.", broken_wire.giant_comment),
    Mode("endless_events", _O.BODY_TOO_LONG, "Events faster than they can be read.", broken_wire.endless_events),
    # Status and type.
    Mode("unauthorized", _O.UNAUTHORIZED, "401.", broken_streams.status(401)),
    Mode("forbidden", _O.UNAUTHORIZED, "403.", broken_streams.status(403)),
    Mode("too_many", _O.REFUSED, "429.", broken_streams.status(429)),
    Mode("unavailable", _O.REFUSED, "503.", broken_streams.status(503)),
    Mode("server_error", _O.HTTP_ERROR, "500.", broken_streams.status(500)),
    Mode("not_found", _O.HTTP_ERROR, "404.", broken_streams.status(404)),
    Mode("over_context", _O.OVER_CONTEXT, "400, about the context.", broken_streams.status(400, "maximum context length is 8 tokens")),
    Mode("bad_request", _O.HTTP_ERROR, "400, about something else.", broken_streams.status(400, "temperature must be positive")),
    Mode("redirect", _O.REDIRECTED, "Points to another host.", broken_streams.redirect),
    Mode("html_page", _O.NOT_A_STREAM, "200 with a page.", broken_streams.html_page),
    Mode("json_instead", _O.NOT_A_STREAM, "200 with the whole answer as JSON.", broken_streams.json_instead),
    Mode("json_error_with_200", _O.NOT_A_STREAM, "200 with an error as JSON.", broken_streams.json_error_with_200),
    # Events.
    Mode("error_event", _O.ERROR_EVENT, "200, and the first event is an error.", broken_streams.error_event),
    Mode("error_mid_stream", _O.ERROR_EVENT, "An error between tokens, and the rest as if nothing was.", broken_streams.error_mid_stream),
    Mode("named_error_event", _O.ERROR_EVENT, "An event named `error`.", broken_streams.named_error_event),
    Mode("aborted", _O.ERROR_EVENT, "Finish reason `abort`.", broken_streams.aborted),
    Mode("not_json", _O.BAD_JSON, "An event that is no JSON.", broken_streams.not_json),
    Mode("json_is_a_list", _O.BAD_JSON, "An event that is a list.", broken_streams.json_is_a_list),
    Mode("deep_json", _O.BAD_JSON, "20,000 objects inside one another.", broken_streams.deep_json),
    Mode("nan", _O.BAD_JSON, "NaN as a number.", broken_streams.nan),
    Mode("infinite", _O.BAD_JSON, "1e999 as a number.", broken_streams.infinite),
    Mode("broken_utf8", _O.BAD_UTF8, "Bytes that are no UTF-8.", broken_streams.broken_utf8),
    Mode("lone_surrogate", _O.BAD_JSON, "Half of a pair of surrogates.", broken_streams.lone_surrogate),
    Mode("other_model", _O.WRONG_MODEL, "Another model answers.", broken_streams.other_model),
    Mode("model_changes", _O.WRONG_MODEL, "Another model's name in one late event.", broken_streams.model_changes),
    Mode("no_model", _O.WRONG_MODEL, "No event names a model.", broken_streams.no_model),
    Mode("empty_content", _O.EMPTY, "Tokens without text.", broken_streams.empty_content),
    Mode("no_events", _O.EMPTY, "A stream without events.", broken_streams.no_events),
    Mode("end_mark_only", _O.EMPTY, "The end mark alone.", broken_streams.end_mark_only),
    Mode("no_end_mark", _O.NO_END_MARK, "The stream ends without its mark.", broken_streams.no_end_mark),
    Mode("no_finish_reason", _O.NO_FINISH_REASON, "Nothing says why it ended.", broken_streams.no_finish_reason),
    # Usage.
    Mode("usage_missing", _O.NO_USAGE, "No usage.", broken_streams.usage(lambda _: None)),
    Mode("usage_negative", _O.BAD_USAGE, "-5 tokens.", broken_streams.usage(broken_streams.changed(completion_tokens=-5))),
    Mode("usage_zero", _O.BAD_USAGE, "No tokens, though there is text.", broken_streams.usage(broken_streams.changed(completion_tokens=0))),
    Mode("usage_too_many", _O.BAD_USAGE, "More tokens than were asked for.", broken_streams.usage(broken_streams.changed(completion_tokens=100_000))),
    Mode("usage_too_few", _O.BAD_USAGE, "Fewer tokens than chunks with text.", broken_streams.usage(broken_streams.changed(completion_tokens=1))),
    Mode("usage_fraction", _O.BAD_USAGE, "7.5 tokens.", broken_streams.usage(broken_streams.changed(completion_tokens=7.5))),
    Mode("usage_text", _O.BAD_USAGE, "The number as text.", broken_streams.usage(broken_streams.changed(completion_tokens="8"))),
    Mode("usage_true", _O.BAD_USAGE, "`true` as a number.", broken_streams.usage(broken_streams.changed(completion_tokens=True))),
    Mode("usage_huge", _O.BAD_USAGE, "10^30 tokens.", broken_streams.usage(broken_streams.changed(completion_tokens=10**18 * 5))),
    Mode("usage_no_prompt", _O.BAD_USAGE, "A prompt of 0 tokens.", broken_streams.usage(broken_streams.changed(prompt_tokens=0))),
    Mode("usage_cached_too_many", _O.BAD_USAGE, "More cached tokens than the prompt has.",
         broken_streams.usage(broken_streams.changed(prompt_tokens_details={"cached_tokens": 10**6}))),
    Mode("usage_sum_wrong", _O.BAD_USAGE, "A total that is not the sum.", broken_streams.usage(lambda true: {**true, "total_tokens": 1})),
    Mode("usage_a_list", _O.BAD_USAGE, "A list in place of an object.", broken_streams.usage(lambda _: [1, 2])),
)  # fmt: skip
MODES: Final[Mapping[str, Mode]] = {mode.name: mode for mode in _TABLE}
"""Name -> mode."""
BENIGN: Final = tuple(mode.name for mode in _TABLE if mode.outcome is Outcome.OK)
"""What must count as a success, lest strictness pass for care."""
