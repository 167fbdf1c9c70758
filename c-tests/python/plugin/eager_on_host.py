"""PyTorch's own kernels, computed by PyTorch for the CPU and copied to the device.

The wheel of PyTorch has machine code only, which --backend cpu cannot run, and other projects' suites (Triton's) use it to make inputs and
expected results. `on_host()` replaces those kernels; Triton's kernels, memory and copies are still tested.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

# PyTorch for a GPU accumulates halves in single precision, for the CPU it does not. The numbers of results that are halves again:
WIDE = {"native_layer_norm": 1, "native_layer_norm_backward": 3}
# Memory, and copies of plain bytes, need no kernel.
LEFT = ("empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "detach", "set_", "_local_scalar_dense",
        "record_stream", "is_pinned", "pin_memory", "_pin_memory")
# Views by their schemas, which copy by a kernel where the tensor is of another type or not contiguous.
MAY_COPY = ("to", "contiguous")


def on_device(value):
    return isinstance(value, torch.Tensor) and value.is_cuda


class OnHost(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = function._schema.name.split("::")[1]
        home = function._schema.name.split("::")[0] in ("aten", "prims")
        cuda = next((a.device for a in tree_leaves((args, kwargs)) if on_device(a)), None)
        if home and cuda is not None and name in MAY_COPY and not moves(args, kwargs):
            return args[0] if already(name, args, kwargs) else on_cpu(function, args, kwargs, cuda)
        asked = kwargs.get("device")
        makes = asked is not None and torch.device(asked).type == "cuda"
        if not home or name in LEFT or function.is_view or (cuda is None and not makes):
            return function(*args, **kwargs)
        return on_cpu(function, args, kwargs, torch.device(asked) if asked is not None else cuda)


def tree_leaves(tree):
    leaves = []
    tree_map(leaves.append, tree)
    return leaves


def moves(args, kwargs):
    """Whether the arguments name a device or a memory format, or a second tensor that has one."""
    others = tree_leaves((args[1:], kwargs))
    return any(isinstance(other, (str, torch.device, torch.memory_format, torch.Tensor)) for other in others)


def already(name, args, kwargs):
    """Whether `to` or `contiguous` returns its tensor as it is."""
    if name == "contiguous":
        return args[0].is_contiguous()
    types = [a for a in tree_leaves((args[1:], kwargs)) if isinstance(a, torch.dtype)]
    return all(kind == args[0].dtype for kind in types) and True not in args[1:] and not kwargs.get("copy")


def to_type(value, old, new):
    return value.to(new) if isinstance(value, torch.Tensor) and value.dtype == old else value


def on_cpu(function, args, kwargs, target):
    """Calls `function` on host copies of its device tensors, and copies written tensors back."""
    storages, twins = {}, {}

    def to_host(value):
        if not on_device(value):
            return value
        key = value.untyped_storage().data_ptr(), value.untyped_storage().nbytes()
        if key not in storages:
            storages[key] = (value.untyped_storage(), value.untyped_storage().cpu())
        copy = torch.empty(0, dtype=value.dtype).set_(
            storages[key][1], value.storage_offset(), value.size(), value.stride())
        twins[id(copy)] = (copy, value)
        return copy

    def to_device(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in twins:
            return twins[id(value)][1]
        return value.to(target)

    if kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cuda":
        kwargs["device"] = torch.device("cpu")
    if isinstance(kwargs.get("generator"), torch.Generator) and kwargs["generator"].device.type == "cuda":
        kwargs["generator"] = None
    args, kwargs = tree_map(to_host, args), tree_map(to_host, kwargs)
    narrow = WIDE.get(function._schema.name.split("::")[1])
    if narrow and args[0].dtype == torch.half:
        result = function(*tree_map(lambda a: to_type(a, torch.half, torch.float), args), **kwargs)
        result = tuple(to_type(r, torch.float, torch.half) for r in result[:narrow]) + tuple(result[narrow:])
    else:
        result = function(*args, **kwargs)
    if function._schema.is_mutable:
        for device, host in storages.values():
            device.copy_(host)
    return tree_map(to_device, result)


def on_host():
    """Replaces PyTorch's kernels from now on; tensors are printed from copies, as printing leaves such modes."""
    mode, shown = OnHost(), torch.Tensor.__repr__
    torch.Tensor.__repr__ = lambda self, **how: shown(self.detach().cpu() if self.is_cuda else self, **how)
    mode.__enter__()
    return mode
