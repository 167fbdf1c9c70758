"""CTranslate2: a small Transformer with random weights translates by beam search and greedily, on the device as on the processor."""

import os
import tempfile

import numpy as np
import wheels

wheels.load("libcublas.so.12")
import ctranslate2  # noqa: E402
from ctranslate2.specs import TransformerSpec  # noqa: E402

LAYERS, HEADS, WIDTH, WORDS = 2, 4, 64, 50
rng = np.random.default_rng(0)
spec = TransformerSpec.from_config((LAYERS, LAYERS), HEADS)


def linear(of, outputs, inputs):
    of.weight = (rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32)
    of.bias = (0.1 * rng.standard_normal(outputs)).astype(np.float32)


def norm(of):
    of.gamma = (1 + 0.1 * rng.standard_normal(WIDTH)).astype(np.float32)
    of.beta = (0.1 * rng.standard_normal(WIDTH)).astype(np.float32)


def attention(of, sizes):
    norm(of.layer_norm)
    for part, outputs in zip(of.linear, sizes):
        linear(part, outputs, WIDTH)


def feed(of):
    norm(of.layer_norm)
    linear(of.linear_0, 4 * WIDTH, WIDTH)
    linear(of.linear_1, WIDTH, 4 * WIDTH)


places = rng.standard_normal((128, WIDTH)).astype(np.float32)
words = rng.standard_normal((WORDS, WIDTH)).astype(np.float32)
encoder, decoder = spec.encoder, spec.decoder
(encoder.embeddings[0] if isinstance(encoder.embeddings, list) else encoder.embeddings).weight = words
decoder.embeddings.weight = words
for side in (encoder, decoder):
    side.position_encodings.encodings = places
    norm(side.layer_norm)
    for layer in side.layer:
        attention(layer.self_attention, (3 * WIDTH, WIDTH))
        if side is decoder:
            attention(layer.attention, (WIDTH, 2 * WIDTH, WIDTH))
        feed(layer.ffn)
linear(decoder.projection, WORDS, WIDTH)
names = ["<blank>", "<s>", "</s>"] + ["t%d" % n for n in range(WORDS - 3)]
spec.register_source_vocabulary(names)
spec.register_target_vocabulary(names)
spec.validate()
spec.optimize()
sources = [["t%d" % rng.integers(WORDS - 3) for _ in range(length)] for length in (5, 9, 3, 12)]


def translated(folder, device, kind, **how):
    model = ctranslate2.Translator(folder, device=device, compute_type=kind)
    found = model.translate_batch(sources, return_scores=True, max_decoding_length=12, **how)
    return [one.hypotheses for one in found], np.array([one.scores for one in found])


with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "model")
    os.mkdir(model)
    spec.save(model)
    for name, how in (("beams", {"beam_size": 3, "num_hypotheses": 2}), ("greedy", {"beam_size": 1, "repetition_penalty": 1.2})):
        texts, scores = translated(model, "cpu", "float32", **how)
        for kind, near in (("float32", 1e-4), ("float16", 0.01), ("int8", 0.1)):
            other, others = translated(model, "cuda", kind, **how)
            same = other == texts if kind == "float32" else other[0][0][:3] == texts[0][0][:3]
            print(name, kind, bool(same), bool(np.abs(scores - others).max() < near))
