"""The tiny Llama as a folder of Hugging Face files, which vLLM loads: nothing is downloaded.

Tokens, words and weights are those of `tests.support.tiny_model`, with heads of a size that vLLM has kernels for.
Run as a program it prints the path of the folder.
"""

import hashlib
import json
import shutil
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.support import tiny_model as tiny

__all__ = ["CONTEXT_TOK", "hf_model"]

HIDDEN: Final = 128
HEADS: Final = 2
LAYERS: Final = 2
FEED_FORWARD: Final = 256
CONTEXT_TOK: Final = 32_768


def hf_model() -> Path:
    """Return the folder of the model, made on the first call; safe to call from several processes at once."""
    texts = (Path(__file__).read_bytes(), Path(tiny.__file__).read_bytes())
    key = hashlib.sha256(b"".join(texts)).hexdigest()[:16]
    folder = tiny.ROOT / "build" / "tiny-model" / f"{key}-hf"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent, suffix=".part"))
        _write(draft)
        try:
            draft.rename(folder)
        except OSError:
            shutil.rmtree(draft)
    return folder


def _write(folder: Path) -> None:
    tokens, merges = _vocabulary()
    files = {
        "config.json": _config(tokens),
        "generation_config.json": {"bos_token_id": _id(tokens, 0), "eos_token_id": _id(tokens, 1)},
        "tokenizer.json": _tokenizer(tokens, merges),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tiny.SPECIAL[0],
            "eos_token": tiny.SPECIAL[1],
            "model_max_length": CONTEXT_TOK,
            "clean_up_tokenization_spaces": False,
            "chat_template": tiny.CHAT_TEMPLATE,
        },
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    _write_safetensors(folder / "model.safetensors", _weights(tokens))


def _vocabulary() -> tuple[list[str], list[tuple[str, str]]]:
    letters, merges = tiny._byte_letters(), tiny._learn_merges()
    return [*letters.values(), *("".join(pair) for pair in merges), *tiny.SPECIAL], merges


def _id(tokens: list[str], special: int) -> int:
    return tokens.index(tiny.SPECIAL[special])


def _config(tokens: list[str]) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HIDDEN // HEADS,
        "max_position_embeddings": CONTEXT_TOK,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0,
        "vocab_size": len(tokens),
        "bos_token_id": _id(tokens, 0),
        "eos_token_id": _id(tokens, 1),
        "tie_word_embeddings": False,
        "dtype": "float32",
    }


def _tokenizer(tokens: list[str], merges: list[tuple[str, str]]) -> dict[str, Any]:
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    ordinary = [text for text in tokens if text not in tiny.SPECIAL]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": tokens.index(text), "content": text, **plain} for text in tiny.SPECIAL],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: tokens.index(text) for text in ordinary},
            "merges": [list(pair) for pair in merges],
        },
    }


def _weights(tokens: list[str]) -> Mapping[str, "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]:
    """Return random weights that make printable text: the first dimension passes the layers and biases the logits."""
    random = np.random.default_rng(tiny.SEED)

    def weights(*shape: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        return random.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)

    letters = tiny._byte_letters()
    printable = {letters[32], letters[10], *map(chr, range(33, 127))}
    embedding, output = weights(len(tokens), HIDDEN) * 8, weights(len(tokens), HIDDEN) * 3
    embedding[:, 0] = tiny.PIN
    output[:, 0] = [
        0.0 if text not in tiny.SPECIAL and set(text) <= printable else tiny.BARRED for text in tokens
    ]
    made = {
        "model.embed_tokens.weight": embedding,
        "lm_head.weight": output,
        "model.norm.weight": np.ones(HIDDEN, np.float32),
    }
    for layer in range(LAYERS):
        for name, shape in _layer_shapes().items():
            one = np.ones(shape, np.float32) if name.endswith("norm") else weights(*shape)
            if name in {"self_attn.o_proj", "mlp.down_proj"}:
                one[0] = 0
            made[f"model.layers.{layer}.{name}.weight"] = one
    return made


def _layer_shapes() -> dict[str, tuple[int, ...]]:
    """Return the tensors of one layer, rows first."""
    return {
        "input_layernorm": (HIDDEN,),
        "self_attn.q_proj": (HIDDEN, HIDDEN),
        "self_attn.k_proj": (HIDDEN, HIDDEN),
        "self_attn.v_proj": (HIDDEN, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HIDDEN),
        "post_attention_layernorm": (HIDDEN,),
        "mlp.gate_proj": (FEED_FORWARD, HIDDEN),
        "mlp.up_proj": (FEED_FORWARD, HIDDEN),
        "mlp.down_proj": (HIDDEN, FEED_FORWARD),
    }


def _write_safetensors(
    path: Path, tensors: Mapping[str, "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]
) -> None:
    """Write the format by hand: length of a JSON head, the head, and the numbers one behind the other."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, tensor in tensors.items():
        head[name] = {
            "dtype": "F32",
            "shape": list(tensor.shape),
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.astype("<f4").tobytes())


if __name__ == "__main__":
    print(hf_model())  # noqa: T201 - a program of its own
