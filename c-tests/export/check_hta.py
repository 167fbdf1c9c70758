"""Loads Chrome exports with Holistic Trace Analysis (PyPI HolisticTraceAnalysis), unmodified.

    python c-tests/export/check_hta.py FOLDER RANKS EVENTS    # FOLDER holds rank-0.json …

HTA must read what was written: every rank, every event, exact names. Analyses
that use GPU events only find none, because the trace has the host's times only.
"""

import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

folder, ranks, events = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
analysis = TraceAnalysis(trace_dir=folder)
assert sorted(analysis.t.traces) == list(range(ranks)), sorted(analysis.t.traces)
for rank in range(ranks):
    frame = analysis.t.get_trace(rank)
    assert len(frame) == events, (rank, len(frame))
    names = analysis.t.symbol_table.get_sym_table()
    count = frame["name"].map(lambda n: names[n]).value_counts()
    kinds = {names[c] for c in frame["cat"].unique()}
    assert kinds == {"cuda_runtime"}, kinds
    assert (frame["correlation"] > 0).all() and frame["correlation"].is_unique
    assert (frame["stream"] == -1).all(), "no event stands on a GPU's track"
    # HTA rounds times inwards to whole microseconds: short calls have no duration there.
    print(f"rank {rank}: {len(frame)} events, " + ", ".join(f"{n} {name}" for name, n in count.items()))
for name in ["get_gpu_kernel_breakdown", "get_comm_comp_overlap", "get_cuda_kernel_launch_stats"]:
    result = getattr(analysis, name)(visualize=False)
    print(f"{name}: {type(result).__name__}, answers without GPU events")
