"""Make a tiny Llama with random weights as a GGUF file: a real engine runs it, and nothing is downloaded.

The file is the same for the same seed and is kept under `build/`, in a folder named after this module's text.
Run as a program it prints the path of the file.
"""

import hashlib
import os
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Final

import gguf
import numpy as np

__all__ = ["CONTEXT_TOK", "tiny_model"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SEED: Final = 20261130
HIDDEN: Final = 64
HEADS: Final = 2
LAYERS: Final = 2
FEED_FORWARD: Final = 128
CONTEXT_TOK: Final = 32_768
"""Longest context the model declares, tokens."""
MERGES: Final = 400
SPECIAL: Final = ("<|begin|>", "<|end|>", "<|role|>")
NORMAL_TOKEN: Final = 1
CONTROL_TOKEN: Final = 3
PIN: Final = 4.0
"""Size of the first dimension of every embedding: it survives the layers and serves as a bias of the logits."""
BARRED: Final = -40.0
"""What the bias does to tokens that must never come: bytes that are no ASCII text, and special tokens."""

WORDS: Final = (
    "the", "a", "of", "and", "to", "in", "is", "that", "for", "it", "as", "with", "on", "be", "at", "by",
    "this", "from", "or", "an", "are", "not", "have", "one", "all", "can", "more", "time", "which", "each",
    "when", "their", "there", "will", "about", "out", "up", "other", "into", "some", "could", "them", "then",
    "so", "these", "two", "may", "first", "any", "my", "now", "such", "like", "our", "over", "man", "me",
    "even", "most", "made", "after", "also", "did", "many", "before", "must", "through", "back", "years",
    "where", "much", "your", "way", "well", "down", "should", "because", "long", "people", "server", "request",
    "answer", "token", "model", "prompt", "cache", "memory", "street", "river", "winter", "letter", "garden",
    "bridge", "morning", "question", "number", "value", "return", "class", "function", "import", "string",
    "list", "while", "yield", "print", "error", "index", "count", "total", "result", "measure", "speed",
    "light", "engine", "window", "table", "paper", "house",
)  # fmt: skip
"""Frequent words first: what the tokens are learnt from."""

CHAT_TEMPLATE: Final = (
    "<|begin|>{% for message in messages %}<|role|>{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|role|>assistant: {% endif %}"
)


def _byte_letters() -> dict[int, str]:
    """Return the printable letter that stands for each byte in a GPT-2 vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + len(letters) - len(printable))
    return letters


def _learn_merges() -> list[tuple[str, str]]:
    """Return pairs to merge, most frequent first, as byte-pair encoding learns them from `WORDS`."""
    space = _byte_letters()[ord(" ")]
    weights = Counter({space + word: len(WORDS) - at for at, word in enumerate(WORDS)})
    split = {word: list(word) for word in weights}
    merges: list[tuple[str, str]] = []
    while len(merges) < MERGES:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, parts in split.items():
            for pair in pairwise(parts):
                pairs[pair] += weights[word]
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for parts in split.values():
            _merge(parts, best)
    return merges


def _merge(parts: list[str], pair: tuple[str, str]) -> None:
    """Join each occurrence of the pair, in place."""
    at = 0
    while at < len(parts) - 1:
        if (parts[at], parts[at + 1]) == pair:
            parts[at : at + 2] = ["".join(pair)]
        at += 1


def _write(path: Path) -> None:
    """Write the model."""
    letters, merges = _byte_letters(), _learn_merges()
    tokens = [*letters.values(), *("".join(pair) for pair in merges), *SPECIAL]
    random = np.random.default_rng(SEED)

    def weights(*shape: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        return random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)

    embedding, output = weights(len(tokens), HIDDEN) * 8, weights(len(tokens), HIDDEN) * 3
    embedding[:, 0] = PIN
    plain = [
        text.isascii() or set(text) <= {letters[32], letters[10], *map(chr, range(33, 127))}
        for text in tokens
    ]
    output[:, 0] = [
        0.0 if ok and text not in SPECIAL else BARRED for ok, text in zip(plain, tokens, strict=True)
    ]

    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL_TOKEN if text in SPECIAL else NORMAL_TOKEN for text in tokens])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokens.index(SPECIAL[0]))
    writer.add_eos_token_id(tokens.index(SPECIAL[1]))
    writer.add_chat_template(CHAT_TEMPLATE)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    for layer in range(LAYERS):
        for name, shape in _layer_shapes().items():
            one = np.ones(shape, np.float32) if name.endswith("norm") else weights(*shape)
            if name in {"attn_output", "ffn_down"}:
                one[0] = 0
            writer.add_tensor(f"blk.{layer}.{name}.weight", one)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: gguf.GGUFWriter) -> None:
    """Write the sizes of the model."""
    writer.add_name("tiny random llama")
    writer.add_context_length(CONTEXT_TOK)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_file_type(0)


def _layer_shapes() -> dict[str, tuple[int, ...]]:
    """Return the tensors of one layer, rows first."""
    return {
        "attn_norm": (HIDDEN,),
        "attn_q": (HIDDEN, HIDDEN),
        "attn_k": (HIDDEN, HIDDEN),
        "attn_v": (HIDDEN, HIDDEN),
        "attn_output": (HIDDEN, HIDDEN),
        "ffn_norm": (HIDDEN,),
        "ffn_gate": (FEED_FORWARD, HIDDEN),
        "ffn_up": (FEED_FORWARD, HIDDEN),
        "ffn_down": (HIDDEN, FEED_FORWARD),
    }


def tiny_model() -> Path:
    """Return the path of the model, made on the first call; safe to call from several processes at once."""
    key = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    path = ROOT / "build" / "tiny-model" / key / "tiny.gguf"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        os.close(handle)
        _write(Path(name))
        Path(name).replace(path)
    return path


if __name__ == "__main__":
    print(tiny_model())  # noqa: T201 - a program of its own
