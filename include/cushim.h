/* Tools of cushim: shared libraries that cushim calls at every device image and every kernel launch of a program.

       cushim trace --tool ./libmine.so ./app

   And libraries for programs on a GPU (docs/load.md): names that begin with cushim_rpc.

       cushim load --rpc ./libmine.so program.ptx

   A tool exports one function, cushim_tool, which is called once in each process that uses CUDA. Generated from
   crates/tool of cushim's sources; docs/tools.md explains it, c-tests/tools holds examples.

   Compatible changes add to the end of a structure; its `size` says how much of it is present. A tool that was
   compiled with an older header of the same CUSHIM_ABI still works. */

#ifndef CUSHIM_H
#define CUSHIM_H

#include <stdint.h>

// The version of this interface. A tool of another version is not loaded.
#define CUSHIM_ABI 1

// The most lanes of a conversation.
#define CUSHIM_RPC_LANES 64

// Words of a packet.
#define CUSHIM_RPC_WORDS 8

// Numbers in x, y and z.
typedef struct cushim_dim3 {
  // In x.
  uint32_t x;
  // In y.
  uint32_t y;
  // In z.
  uint32_t z;
} cushim_dim3;

// The position of a parameter in the parameter block.
typedef struct cushim_param {
  // Bytes from the block's beginning.
  uint32_t offset;
  // Its size in bytes.
  uint32_t bytes;
} cushim_param;

// A device image that the program registers or loads. Pointers are valid during the callback.
typedef struct cushim_image {
  // Bytes of this structure.
  uint32_t size;
  // Not used.
  uint32_t reserved;
  // The image: a fat binary, a cubin, or PTX text; null if it cannot be read.
  const void *data;
  // Bytes of the image.
  uint64_t bytes;
  // The file that contains it; empty for memory.
  const char *owner;
  // The CUDA function that receives it.
  const char *call;
  // To be set: a replacement image (PTX, cubin, fat binary, or a container of these). It is copied. Null: the
  // image stays.
  const void *other;
  // To be set: bytes of `other`.
  uint64_t other_bytes;
} cushim_image;

// A kernel that became known. Pointers are valid during the callback.
typedef struct cushim_function {
  // Bytes of this structure.
  uint32_t size;
  // Not used.
  uint32_t reserved;
  // Its symbol.
  const char *name;
  // The file that contains its image; empty for memory.
  const char *owner;
  // The host stub or handle by which it is launched.
  uint64_t handle;
} cushim_function;

// A launch. Pointers are valid during the callback.
typedef struct cushim_launch {
  // Bytes of this structure.
  uint32_t size;
  // To be set in `launch_begin`: if it is not 0, the launch does not happen, and the call returns success.
  uint32_t skip;
  // The kernel's symbol; empty if unknown.
  const char *name;
  // The CUDA function that launches.
  const char *call;
  // The file that contains the kernel's image; empty for memory.
  const char *owner;
  // The launched host stub or handle.
  uint64_t handle;
  // The launch's number in this process, from 1.
  uint64_t number;
  // Blocks; may be changed in `launch_begin`.
  struct cushim_dim3 grid;
  // Threads of a block; may be changed in `launch_begin`.
  struct cushim_dim3 block;
  // Dynamic shared memory, bytes; may be changed in `launch_begin`.
  uint32_t shared;
  // The number of parameters; 0 also if they are unknown.
  uint32_t param_count;
  // The stream: a CUDA handle; 0, 1 and 2 are the special ones.
  uint64_t stream;
  // The parameters.
  const struct cushim_param *params;
  // A copy of the parameter block: its bytes may be changed in `launch_begin`. Null if unknown.
  void *args;
  // Bytes of the parameter block.
  uint64_t args_bytes;
  // The image that contains the kernel; null if it cannot be read.
  const void *image;
  // Bytes of the image.
  uint64_t image_bytes;
  // To be set in `launch_begin`: the number of an image from `add_image`, whose kernel is launched instead; 0:
  // none.
  uint64_t other_image;
  // To be set in `launch_begin`: the symbol of the kernel in `other_image`; null for the same symbol.
  const char *other_kernel;
  // For the tool: a value that it stores here in `launch_begin` is there in `launch_end`. Null at first.
  void *user;
} cushim_launch;

// A call that returned, of any class except launches. Pointers are valid during the callback.
typedef struct cushim_call {
  // Bytes of this structure.
  uint32_t size;
  // Its status: 0 for success.
  int status;
  // Its class: `memory`, `copy`, `stream`, `event`, `sync`, `graph`, `module`, `register` or `profiler`.
  const char *class_name;
  // The function, such as `cudaMemcpyAsync`.
  const char *function;
  // Its arguments, one word each (a structure passed by value takes several).
  const uint64_t *words;
  // The number of words.
  uint32_t word_count;
  // Bit `n`: word `n` points to a value that the call wrote, and `outs[n]` is that value.
  uint32_t out_mask;
  // The written values.
  const uint64_t *outs;
} cushim_call;

// The functions that cushim offers to a tool. They may only be called from callbacks.
typedef struct cushim_host {
  // cushim's `CUSHIM_ABI`.
  uint32_t abi;
  // Bytes of this structure.
  uint32_t size;
  // cushim's version, for messages.
  const char *version;
  // Writes a line to the destination of cushim's own messages.
  void (*say)(const char *text);
  // Stores a mark with this text in the recording. Returns 0, or -1 if nothing is recorded.
  int (*mark)(const char *text);
  // The address of CUDA's own function of this name; cushim does not see such calls. Null if it is not loaded.
  void *(*symbol)(const char *name);
  // Writes a symbol's readable name to `to`, NUL-terminated, and truncated if `room` bytes are not enough.
  void (*readable)(const char *symbol, char *to, uint64_t room);
  // The allocation that contains device address `at`. Returns 0, or CUDA's error.
  int (*range)(uint64_t at, uint64_t *base, uint64_t *bytes);
  // Copies device memory to the host, when the copy may happen: see `synchronize`. Returns 0, or CUDA's error.
  int (*read)(void *to, uint64_t from, uint64_t bytes);
  // Copies host memory to the device. Returns 0, or CUDA's error.
  int (*write)(uint64_t to, const void *from, uint64_t bytes);
  // Waits for all work of a launch's stream. Returns 0, or CUDA's error.
  int (*synchronize)(const struct cushim_launch *launch);
  // Whether a launch's stream is being captured: then it must not be waited for, and nothing copied.
  int (*capturing)(const struct cushim_launch *launch);
  // Keeps a copy of an image for `other_image`. Returns its number, or 0 with a message if it cannot be used.
  uint64_t (*add_image)(const void *data, uint64_t bytes);
} cushim_host;

// A tool and its callbacks. Null callbacks are not called. Callbacks come from any thread, several at once; tools do
// not see CUDA calls that a tool makes inside a callback.
typedef struct cushim_tool_table {
  // `CUSHIM_ABI` of the header that the tool was compiled with.
  uint32_t abi;
  // Bytes of this structure in that header.
  uint32_t size;
  // Its name, for messages.
  const char *name;
  // A device image is registered or loaded; it may be replaced.
  void (*image)(struct cushim_image *image);
  // A kernel became known.
  void (*function)(const struct cushim_function *function);
  // A launch is about to happen; it may be changed, skipped, or go to another kernel.
  void (*launch_begin)(struct cushim_launch *launch);
  // The launching call returned with `status`; the kernel itself may not have run yet.
  void (*launch_end)(const struct cushim_launch *launch, int status);
  // Another call returned: memory, copies, streams, …
  void (*call)(const struct cushim_call *call);
  // The process ends through `exit`; no callback comes after it.
  void (*end)(void);
} cushim_tool_table;

// The data that one lane of a GPU sends or receives at once.
typedef struct cushim_rpc_packet {
  // 64 bytes.
  uint64_t data[CUSHIM_RPC_WORDS];
} cushim_rpc_packet;

// A conversation that device code began with an opcode of the library. It begins with a packet of the device, which
// `receive` or `receive_bytes` takes. All functions return 0, or -1 if the conversation cannot continue: then the
// handler must return. Valid until then.
typedef struct cushim_rpc_port {
  // Bytes of this structure.
  uint32_t size;
  // The opcode that the device requests.
  uint32_t opcode;
  // The mask of requesting lanes.
  uint64_t mask;
  // For cushim.
  void *own;
  // The next packet of each requesting lane, by lane: `packets` has room for `CUSHIM_RPC_LANES`.
  int (*receive)(struct cushim_rpc_port *port, struct cushim_rpc_packet *packets);
  // A packet to each requesting lane, by lane.
  int (*send)(struct cushim_rpc_port *port, const struct cushim_rpc_packet *packets);
  // A message of each requesting lane: its address and size in bytes, by lane. The port owns the bytes.
  int (*receive_bytes)(struct cushim_rpc_port *port, const void **bytes, uint64_t *sizes);
  // A message to each requesting lane, by lane.
  int (*send_bytes)(struct cushim_rpc_port *port, const void *const *bytes, const uint64_t *sizes);
} cushim_rpc_port;

// Serves a conversation: returns 0, or another number, which ends the program with a message.
typedef int (*cushim_rpc_handler)(struct cushim_rpc_port *port, void *user);

// A host function that device code calls.
typedef uint64_t (*cushim_rpc_function)(void *arguments);

// The functions that `cushim load` offers to a library of `--rpc`, while its `cushim_rpc` runs.
typedef struct cushim_rpc_host {
  // cushim's `CUSHIM_ABI`.
  uint32_t abi;
  // Bytes of this structure.
  uint32_t size;
  // For cushim.
  void *own;
  // Makes `handler` serve an opcode, which may be one of LLVM's. Returns 0, or -1 if another library has it.
  int (*serve)(const struct cushim_rpc_host *host,
               uint32_t opcode,
               cushim_rpc_handler handler,
               void *user);
  // Writes the address of `function` to the image's variable `symbol` (a pointer), so that device code can call it
  // (`LIBC_HOST_CALL`): it gets a copy of the arguments. Returns 0, or -1 if there is no such variable.
  int (*give)(const struct cushim_rpc_host *host, const char *symbol, cushim_rpc_function function);
} cushim_rpc_host;

// The export of a library of `--rpc`, under the name `cushim_rpc`: called once, after the image was loaded and
// before it runs. Returns 0, or another number if the program must not run.
typedef int (*cushim_rpc_main)(const struct cushim_rpc_host *host);

#endif  /* CUSHIM_H */

#ifdef __cplusplus
extern "C" {
#endif
/* The export of a tool: it receives cushim's functions, which stay valid, and returns its own table, which must stay
   valid, too; null if the tool does not want to run. */
const cushim_tool_table *cushim_tool(const cushim_host *host);
/* The export of a library of --rpc: called once, after the image was loaded and before it runs. Returns 0, or another
   number if the program must not run. */
int cushim_rpc(const cushim_rpc_host *host);
#ifdef __cplusplus
}
#endif
