//! Handlers of graph calls that carry kernels: nodes and their parameters, on both faces.
//!
//! A kernel node is recorded like a launch whose stream is the graph (or executable graph), with name, shape and
//! argument values at the time they are set, after the rules were applied ([`ruled`]). Captured launches are ordinary
//! launches.

use cushim_abi::structs::*;
use cushim_abi::types::*;
use cushim_trace::layout::LAUNCH_ARGS_BUFFER;

use crate::arguments::Arguments;
use crate::arguments::arguments;
use crate::direct;
use crate::forward::observed;
use crate::record::Observed;
use crate::record::launch::LaunchRecord;
use crate::redirect::launch as redirected;
use crate::registry::{self, Kernel};
use crate::site::Site;

mod ruled;

/// A kernel node's parameters as a launch.
struct NodeParams {
    kernel: &'static Kernel,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    args: Arguments,
}

impl NodeParams {
    unsafe fn of_runtime(at: usize) -> Option<Self> {
        // SAFETY: the caller has `cudaKernelNodeParams` there, or null.
        let p = (at != 0).then(|| unsafe { (at as *const KernelNodeParams).read_unaligned() })?;
        Some(NodeParams {
            kernel: registry::find_or_unknown(p.func),
            grid: p.grid,
            block: p.block,
            shared: p.shared as usize,
            // SAFETY: CUDA's own lists.
            args: unsafe { arguments(p.args, p.extra) },
        })
    }

    unsafe fn of_driver(at: usize, has_kernel: bool) -> Option<Self> {
        // SAFETY: the caller has CUDA_KERNEL_NODE_PARAMS there, or null; the first version's fields are
        // the same as the runtime's.
        let mut p =
            (at != 0).then(|| unsafe { (at as *const KernelNodeParams).read_unaligned() })?;
        if p.func == 0 && has_kernel {
            // SAFETY: later versions have the kernel behind them.
            p.func = unsafe {
                ((at + std::mem::offset_of!(DriverKernelNodeParams, kern)) as *const usize)
                    .read_unaligned()
            };
        }
        Some(NodeParams {
            kernel: crate::names::kernel_of(p.func),
            grid: p.grid,
            block: p.block,
            shared: p.shared as usize,
            // SAFETY: CUDA's own lists.
            args: unsafe { arguments(p.args, p.extra) },
        })
    }

    fn launch(self, graph: usize) -> LaunchRecord {
        let flags = match self.args {
            Arguments::Buffer(..) => LAUNCH_ARGS_BUFFER,
            _ => 0,
        };
        LaunchRecord {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            cluster: [0; 3],
            shared: self.shared,
            stream: graph,
            args: self.args,
            flags,
        }
    }
}

/// Records `params` for `graph` around `call`.
fn node(
    site: &'static Site,
    stack: usize,
    graph: usize,
    params: Option<NodeParams>,
    call: impl FnOnce() -> i32,
) -> i32 {
    let Some(params) = params else { return call() };
    let Some(observed) = Observed::enter(site, stack) else { return call() };
    let launch = params.launch(graph);
    // SAFETY: read from the program's parameters, which CUDA is about to read, as the callers of `of_runtime` and
    // `of_driver` promised.
    let stored = unsafe { observed.launch(&launch) };
    let status = call();
    // SAFETY: they are still there.
    unsafe { observed.finish_launch(stored, status, &launch) };
    status
}

/// `cudaGraphNodeTypeKernel`, `CU_GRAPH_NODE_TYPE_KERNEL`.
const NODE_KERNEL: i32 = 0;

/// Where a kernel's parameters begin in `cudaGraphNodeParams` and `CUgraphNodeParams`.
///
/// # Safety
/// `params` is null or points to such a structure.
unsafe fn kernel_params(params: usize) -> usize {
    // SAFETY: as the caller promises.
    let is_kernel = params != 0
        && unsafe { (params as *const GraphNodeParams).read_unaligned() }.kind == NODE_KERNEL;
    if is_kernel { params + GENERIC } else { 0 }
}

/// Where a kernel's parameters begin in the generic structure.
const GENERIC: usize = size_of::<GraphNodeParams>();

/// Makes `$params` point to the node's parameters as the rules change them, for the rest of the function.
macro_rules! ruled {
    ($site:expr, $params:ident, $before:expr, $has_kernel:expr) => {
        let mut copy = ruled::Copy::default();
        let here = stack!();
        let _outermost = match redirected::enabled() {
            true => redirected::outermost(here),
            false => None,
        };
        let $params = match _outermost {
            Some(_) => {
                let (at, copy) = ($params, &mut copy);
                // SAFETY: the program's parameters, which CUDA is about to read.
                let ruled = unsafe { ruled::params($site, at, $before, $has_kernel, copy) };
                match ruled {
                    Ok(params) => params,
                    Err(status) => return status,
                }
            }
            None => $params,
        };
    };
}

type AddNode5 = unsafe extern "C-unwind" fn(Out<Node>, Graph, Ptr, usize, Ptr) -> i32;
type AddNode6 = unsafe extern "C-unwind" fn(Out<Node>, Graph, Ptr, Ptr, usize, Ptr) -> i32;
type SetParams = unsafe extern "C-unwind" fn(Node, Ptr) -> i32;
type ExecSetParams = unsafe extern "C-unwind" fn(GraphExec, Node, Ptr) -> i32;

/// `…StreamBeginCapture`: launches into the stream must go through the runtime.
pub unsafe fn stream_begin_capture(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Stream, i32) -> i32,
    stream: Stream,
    mode: i32,
) -> i32 {
    let begun = direct::begun(site, stream.0);
    let status = observed!(site, [stream, mode], real(stream, mode));
    if status != 0 && begun {
        direct::ended(site, stream.0);
    }
    status
}

/// `…StreamBeginCaptureToGraph`.
pub unsafe fn stream_begin_capture_to_graph(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Stream, Graph, Ptr, Ptr, usize, i32) -> i32,
    stream: Stream,
    graph: Graph,
    dependencies: Ptr,
    edges: Ptr,
    count: usize,
    mode: i32,
) -> i32 {
    let begun = direct::begun(site, stream.0);
    let status = observed!(
        site,
        [stream, graph, dependencies, edges, count, mode],
        real(stream, graph, dependencies, edges, count, mode)
    );
    if status != 0 && begun {
        direct::ended(site, stream.0);
    }
    status
}

/// `…StreamEndCapture`: a call that fails ends the capture, too.
pub unsafe fn stream_end_capture(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Stream, Out<Graph>) -> i32,
    stream: Stream,
    out: Out<Graph>,
) -> i32 {
    let status = observed!(site, [stream, out], real(stream, out));
    direct::ended(site, stream.0);
    status
}

macro_rules! face {
    ($face:ident, $doc:literal, |$at:ident, $site:ident| $read:expr, |$of:ident| $has:expr) => {
        #[doc = $doc]
        pub mod $face {
            use super::*;
            use crate::forward::stack;

            fn read($at: usize, $site: &Site) -> Option<NodeParams> {
                // SAFETY: the program's node parameters, which CUDA is about to read.
                unsafe { $read }
            }

            /// Whether the parameters hold a kernel handle behind the fields common to all
            /// versions.
            fn has_kernel($of: &Site) -> bool {
                $has
            }

            pub use super::{
                stream_begin_capture, stream_begin_capture_to_graph, stream_end_capture,
            };

            /// `…GraphAddKernelNode`.
            pub unsafe fn graph_add_kernel_node(
                site: &'static Site,
                real: AddNode5,
                out: Out<Node>,
                graph: Graph,
                dependencies: Ptr,
                count: usize,
                params: Ptr,
            ) -> i32 {
                if params.0 == 0 {
                    return observed!(
                        site,
                        [out, graph, dependencies, count, params],
                        real(out, graph, dependencies, count, params)
                    );
                }
                ruled!(site, params, 0, has_kernel(site));
                // SAFETY: forwarded as it came, or as the rules want it.
                let call = || unsafe { real(out, graph, dependencies, count, params) };
                node(site, stack!(), graph.0, read(params.0, site), call)
            }

            /// `…GraphKernelNodeSetParams`.
            pub unsafe fn graph_kernel_node_set_params(
                site: &'static Site,
                real: SetParams,
                handle: Node,
                params: Ptr,
            ) -> i32 {
                if params.0 == 0 {
                    return observed!(site, [handle, params], real(handle, params));
                }
                ruled!(site, params, 0, has_kernel(site));
                // SAFETY: forwarded as it came.
                let call = || unsafe { real(handle, params) };
                node(site, stack!(), handle.0, read(params.0, site), call)
            }

            /// `…GraphExecKernelNodeSetParams`.
            pub unsafe fn graph_exec_kernel_node_set_params(
                site: &'static Site,
                real: ExecSetParams,
                exec: GraphExec,
                handle: Node,
                params: Ptr,
            ) -> i32 {
                if params.0 == 0 {
                    return observed!(site, [exec, handle, params], real(exec, handle, params));
                }
                ruled!(site, params, 0, has_kernel(site));
                // SAFETY: forwarded as it came.
                let call = || unsafe { real(exec, handle, params) };
                node(site, stack!(), exec.0, read(params.0, site), call)
            }

            /// `…GraphNodeSetParams`.
            pub unsafe fn graph_node_set_params(
                site: &'static Site,
                real: SetParams,
                handle: Node,
                params: Ptr,
            ) -> i32 {
                // SAFETY: the program's node parameters.
                let kernel = unsafe { kernel_params(params.0) };
                if kernel == 0 {
                    return observed!(site, [handle, params], real(handle, params));
                }
                ruled!(site, params, GENERIC, has_kernel(site));
                let kernel = params.0 + GENERIC;
                // SAFETY: forwarded as it came.
                let call = || unsafe { real(handle, params) };
                node(site, stack!(), handle.0, read(kernel, site), call)
            }

            /// `…GraphExecNodeSetParams`.
            pub unsafe fn graph_exec_node_set_params(
                site: &'static Site,
                real: ExecSetParams,
                exec: GraphExec,
                handle: Node,
                params: Ptr,
            ) -> i32 {
                // SAFETY: the program's node parameters.
                let kernel = unsafe { kernel_params(params.0) };
                if kernel == 0 {
                    return observed!(site, [exec, handle, params], real(exec, handle, params));
                }
                ruled!(site, params, GENERIC, has_kernel(site));
                let kernel = params.0 + GENERIC;
                // SAFETY: forwarded as it came.
                let call = || unsafe { real(exec, handle, params) };
                node(site, stack!(), exec.0, read(kernel, site), call)
            }

            /// `…GraphAddNode` with edge data (runtime 13, `_v2` elsewhere).
            pub unsafe fn graph_add_node(
                site: &'static Site,
                real: AddNode6,
                out: Out<Node>,
                graph: Graph,
                dependencies: Ptr,
                edges: Ptr,
                count: usize,
                params: Ptr,
            ) -> i32 {
                // SAFETY: the program's node parameters.
                let kernel = unsafe { kernel_params(params.0) };
                if kernel == 0 {
                    return observed!(
                        site,
                        [out, graph, dependencies, edges, count, params],
                        real(out, graph, dependencies, edges, count, params)
                    );
                }
                ruled!(site, params, GENERIC, has_kernel(site));
                let kernel = params.0 + GENERIC;
                // SAFETY: forwarded as it came.
                let call = || unsafe { real(out, graph, dependencies, edges, count, params) };
                node(site, stack!(), graph.0, read(kernel, site), call)
            }

            /// `…GraphAddNode` without edge data (runtime 12, the driver's first form).
            pub unsafe fn graph_add_node_5(
                site: &'static Site,
                real: AddNode5,
                out: Out<Node>,
                graph: Graph,
                dependencies: Ptr,
                count: usize,
                params: Ptr,
            ) -> i32 {
                // SAFETY: the program's node parameters.
                let kernel = unsafe { kernel_params(params.0) };
                if kernel == 0 {
                    return observed!(
                        site,
                        [out, graph, dependencies, count, params],
                        real(out, graph, dependencies, count, params)
                    );
                }
                ruled!(site, params, GENERIC, has_kernel(site));
                let kernel = params.0 + GENERIC;
                // SAFETY: forwarded as it came.
                let call = || unsafe { real(out, graph, dependencies, count, params) };
                node(site, stack!(), graph.0, read(kernel, site), call)
            }
        }
    };
}

face!(
    runtime,
    "Graph handlers of the runtime face.",
    |at, _site| NodeParams::of_runtime(at),
    |_site| false
);
// `_v2` structures and the generic node parameters carry the kernel handle behind the function.
face!(
    driver,
    "Graph handlers of the driver face.",
    |at, site| NodeParams::of_driver(at, has_kernel(site)),
    |site| !matches!(
        site.name.to_bytes(),
        b"cuGraphAddKernelNode" | b"cuGraphKernelNodeSetParams" | b"cuGraphExecKernelNodeSetParams"
    )
);
