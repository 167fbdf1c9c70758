"""Triton's own tutorials 1 to 6, as they are: triton_tutorials.py FOLDER, which is python/tutorials of its repository.

Left out are their benchmarks; automatic tuning takes the first configuration that fits; PyTorch's own kernels, which they compare with, are
computed on the host (eager_on_host.py). Attention is run with the smallest of its sizes.
"""
import contextlib
import io
import os
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin"))

import eager_on_host
import torch
import triton


class NoBenchmark:
    def __init__(self, *_):
        pass

    def __call__(self, _function):
        return self

    def run(self, **_):
        pass



def autotune(configs, key, prune_configs_by=None, **others):
    return tuned(configs=configs[:1], key=key, **others)


tuned, triton.autotune = triton.autotune, autotune
triton.testing.perf_report = NoBenchmark
eager_on_host.on_host()


def matches(path):
    """Runs one tutorial; returns whether its own checks pass."""
    said = io.StringIO()
    scope = {"__name__": "tutorial", "__file__": path}
    with contextlib.redirect_stdout(said), open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), scope)
    if path.endswith("01-vector-add.py"):
        assert (scope["output_torch"] == scope["output_triton"]).all().item()
    if path.endswith("04-low-memory-dropout.py"):
        assert scope["output"].tolist() == scope["output2"].tolist() != scope["output3"].tolist()
    if path.endswith("06-fused-attention.py"):
        for causal in (False, True):
            scope["test_op"](1, 2, 128, 64, causal, False, "bwd", "triton-fp16")
            scope["test_op"](1, 2, 128, 64, causal, False, "fwd", "triton-fp8")
    return "❌" not in said.getvalue()


names = sys.argv[2:] or ["01-vector-add", "02-fused-softmax", "03-matrix-multiplication", "04-low-memory-dropout", "05-layer-norm",
                         "06-fused-attention"]
for name in names:
    torch.manual_seed(0)
    try:
        print(name, matches(os.path.join(sys.argv[1], name + ".py")), flush=True)
    except Exception as error:
        traceback.print_exc()
        print(name, "failed:", str(error).strip().splitlines()[:1], "False", flush=True)
