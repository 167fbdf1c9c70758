r"""A plugin of pytest for the tests of FlagGems (flagos-ai/FlagGems), whose operators replace PyTorch's inside `flag_gems.use_gems()`.

PyTorch's other operators are computed on the host (eager_on_host.py), also those that FlagGems' own call. Automatic tuning takes the smallest
configuration. SUITE_PICK=N takes N of the cases of each test function, chosen by a hash of their names.

    PYTHONPATH=c-tests/python/plugin:FLAGGEMS/src GEMS_VENDOR=nvidia cushim run --backend cpu python -m pytest -p flag_gems_on_host \
        --quick --ref cpu tests/test_add.py

This module knows FlagGems' registrar and nothing of its operators.
"""
import functools
import hashlib
import math
import os

import torch
from triton.runtime import autotuner

made = autotuner.Autotuner.__init__


def size(config):
    return math.prod([max(1, config.num_stages)] + [v for v in config.kwargs.values() if isinstance(v, int) and v > 0])


def smallest(self, function, names, configs, *others, **named):
    return made(self, function, names, sorted(configs, key=size)[:1], *others, **named)


# FlagGems makes its tuners as it is imported.
autotuner.Autotuner.__init__ = smallest

import eager_on_host  # noqa: E402
import flag_gems  # noqa: E402
from cushim_suites import pytest_itemcollected, pytest_runtest_logreport  # noqa: E402, F401
from flag_gems.runtime.op_registrar import GeneralOpRegistrar  # noqa: E402

replaced, inside = set(), [0]


class OnHost(eager_on_host.OnHost):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        # Not `default`, which keys of FlagGems leave out.
        name = function._schema.name + ("" if function._overloadname == "default" else "." + function._overloadname)
        if not inside[0] and name in replaced:
            return function(*args, **(kwargs or {}))
        return super().__torch_dispatch__(function, types, args, kwargs)


mode, registers, leaves = OnHost(), GeneralOpRegistrar.register_impl, flag_gems.use_gems.__exit__


def register(self, key, function, *others):
    @functools.wraps(function)
    def call(*args, **kwargs):
        inside[0] += 1
        try:
            # PyTorch leaves the mode while it calls an operator of another's.
            with mode:
                return function(*args, **kwargs)
        finally:
            inside[0] -= 1

    replaced.add("aten::" + key)
    return registers(self, key, call, *others)


def leave(self, *error):
    replaced.clear()
    return leaves(self, *error)


GeneralOpRegistrar.register_impl, flag_gems.use_gems.__exit__ = register, leave
shown = torch.Tensor.__repr__
torch.Tensor.__repr__ = lambda self, **how: shown(self.detach().cpu() if self.is_cuda else self, **how)
mode.__enter__()


def pytest_runtest_setup(item):
    torch.manual_seed(0)


def pytest_collection_modifyitems(config, items):
    most, functions = int(os.environ.get("SUITE_PICK", 0)), {}
    for item in items:
        functions.setdefault(item.nodeid.split("[")[0], []).append(item)
    chosen = set(items) if not most else {
        item for cases in functions.values() for item in sorted(cases, key=lambda i: hashlib.md5(i.nodeid.encode()).hexdigest())[:most]}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
