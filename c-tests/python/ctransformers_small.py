"""ctransformers (llama.cpp of 2023): a small language model with random weights, its layers on the device, beside the processor."""

import os
import tempfile

import gguf
import numpy as np
import wheels

wheels.load("libcudart.so.12", "libcublas.so.12")
from ctransformers import AutoModelForCausalLM  # noqa: E402

WIDTH, HEADS, LAYERS, INNER, WORDS = 256, 4, 2, 512, 300
KINDS = {"f16": ("F16", 0.02), "q8_0": ("Q8_0", 0.2), "q4_0": ("Q4_0", 0.5), "q5_1": ("Q5_1", 0.5)}


def write(path, kind):
    rng = np.random.default_rng(0)
    to = gguf.GGUFWriter(path, "llama")
    to.add_context_length(512)
    to.add_embedding_length(WIDTH)
    to.add_block_count(LAYERS)
    to.add_feed_forward_length(INNER)
    to.add_head_count(HEADS)
    to.add_head_count_kv(HEADS)
    to.add_layer_norm_rms_eps(1e-5)
    to.add_rope_dimension_count(WIDTH // HEADS)
    words = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % n for n in range(256)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (WORDS - 259)
    to.add_tokenizer_model("llama")
    to.add_token_list(words + [b"w%d" % n for n in range(259, WORDS)])
    to.add_token_scores([0.0] * WORDS)
    to.add_token_types(kinds)

    def tensor(name, *shape):
        values = rng.standard_normal(shape).astype(np.float32)
        if len(shape) == 1:
            return to.add_tensor(name, 1 + 0.1 * values)
        return to.add_tensor(name, gguf.quants.quantize(values / np.float32(np.sqrt(shape[-1])), kind), raw_dtype=kind)

    tensor("token_embd.weight", WORDS, WIDTH)
    tensor("output_norm.weight", WIDTH)
    tensor("output.weight", WORDS, WIDTH)
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            tensor("blk.%d.%s.weight" % (layer, name), WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor("blk.%d.%s.weight" % (layer, name), WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            tensor("blk.%d.%s.weight" % (layer, name), INNER, WIDTH)
        tensor("blk.%d.ffn_down.weight" % layer, WIDTH, INNER)
    to.write_header_to_file()
    to.write_kv_data_to_file()
    to.write_tensors_to_file()
    to.close()


def answers(path, layers):
    """The logits after 1, 5 and 40 words."""
    model = AutoModelForCausalLM.from_pretrained(path, model_type="llama", gpu_layers=layers, lib="cuda" if layers else None,
                                                 context_length=512)
    found = []
    for length in (1, 5, 40):
        model.reset()
        model.eval([1 + 7 * n % 290 for n in range(length)])
        found.append([model.logits[n] for n in range(WORDS)])
    return np.array(found)


with tempfile.TemporaryDirectory() as folder:
    for name, (kind, near) in KINDS.items():
        path = os.path.join(folder, name + ".gguf")
        write(path, gguf.GGMLQuantizationType[kind])
        here, there = answers(path, 0), answers(path, 50)
        # The device rounds the activations to eight bits for quantised weights.
        print(name, bool(np.abs(here - there).max() < near), bool(here.std() > 0.5))
