/* Tools of cushim: shared libraries that are asked at every device image and every kernel launch of a program.

       cushim trace --tool ./libmine.so ./app

   And libraries for programs on a GPU (docs/load.md): what begins with cushim_rpc.

       cushim load --rpc ./libmine.so program.ptx

   A tool exports one function, cushim_tool, which is called once in each process that uses CUDA. Generated from
   crates/tool of cushim's sources; docs/tools.md explains it, c-tests/tools holds examples.

   Compatible changes add to the end of a structure; its `size` says how much of it is there. A tool that was
   compiled with an older header of the same CUSHIM_ABI goes on working. */

#ifndef CUSHIM_H
#define CUSHIM_H

#include <stdint.h>

// The version of this interface. A tool of another version is not loaded.
#define CUSHIM_ABI 1

// Lanes that a conversation has at most.
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

// Where a parameter lies in the parameter block.
typedef struct cushim_param {
  // Bytes from the block's beginning.
  uint32_t offset;
  // Bytes that it takes.
  uint32_t bytes;
} cushim_param;

// A device image that the program registers or loads. Pointers are valid during the callback.
typedef struct cushim_image {
  // Bytes of this structure.
  uint32_t size;
  // Not used.
  uint32_t reserved;
  // The image: a fat binary, a cubin, or PTX text; null where it cannot be read.
  const void *data;
  // Bytes of it.
  uint64_t bytes;
  // The file that it is part of; empty for memory.
  const char *owner;
  // The CUDA function that takes it.
  const char *call;
  // To be set: another image (PTX, cubin, fat binary, or a container that holds such), which takes its place.
  // It is copied. Null: the image stays.
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
  // The file that its image is part of; empty for memory.
  const char *owner;
  // The host stub or handle by which it is launched.
  uint64_t handle;
} cushim_function;

// A launch. Pointers are valid during the callback.
typedef struct cushim_launch {
  // Bytes of this structure.
  uint32_t size;
  // To be set in `launch_begin`: not 0, and the launch does not happen and answers success.
  uint32_t skip;
  // The kernel's symbol; empty where it is not known.
  const char *name;
  // The CUDA function that launches.
  const char *call;
  // The file that the kernel's image is part of; empty for memory.
  const char *owner;
  // The host stub or handle that is launched.
  uint64_t handle;
  // The launch's number in this process, from 1.
  uint64_t number;
  // Blocks; may be changed in `launch_begin`.
  struct cushim_dim3 grid;
  // Threads of a block; may be changed in `launch_begin`.
  struct cushim_dim3 block;
  // Dynamic shared memory, bytes; may be changed in `launch_begin`.
  uint32_t shared;
  // How many parameters there are; 0 where they are not known, too.
  uint32_t param_count;
  // The stream: a CUDA handle; 0, 1 and 2 are the special ones.
  uint64_t stream;
  // The parameters.
  const struct cushim_param *params;
  // A copy of the parameter block: its bytes may be changed in `launch_begin`. Null where it is not known.
  void *args;
  // Bytes of the parameter block.
  uint64_t args_bytes;
  // The image that holds the kernel; null where it cannot be read.
  const void *image;
  // Bytes of the image.
  uint64_t image_bytes;
  // To be set in `launch_begin`: an image of `add_image`, from which another kernel is launched; 0: none.
  uint64_t other_image;
  // To be set in `launch_begin`: the symbol of the kernel in `other_image`; null for the same symbol.
  const char *other_kernel;
  // The tool's own: what it puts here in `launch_begin` it finds in `launch_end`. Null at first.
  void *user;
} cushim_launch;

// A call that came back: of any class but launches. Pointers are valid during the callback.
typedef struct cushim_call {
  // Bytes of this structure.
  uint32_t size;
  // What it answered: 0 for success.
  int status;
  // What it is about: `memory`, `copy`, `stream`, `event`, `sync`, `graph`, `module`, `register` or
  // `profiler`.
  const char *class_name;
  // The function, such as `cudaMemcpyAsync`.
  const char *function;
  // Its arguments, a word for each (a structure that is passed by value takes several).
  const uint64_t *words;
  // How many words there are.
  uint32_t word_count;
  // Bit `n`: word `n` points to a value that the call wrote, and `outs[n]` is that value.
  uint32_t out_mask;
  // The written values.
  const uint64_t *outs;
} cushim_call;

// What cushim does for a tool. All of it may be called from callbacks only.
typedef struct cushim_host {
  // `CUSHIM_ABI` of cushim.
  uint32_t abi;
  // Bytes of this structure.
  uint32_t size;
  // cushim's version, for messages.
  const char *version;
  // Writes a line to where cushim's own messages go.
  void (*say)(const char *text);
  // Puts a mark with this text into the recording. Answers 0, or -1 where nothing is recorded.
  int (*mark)(const char *text);
  // The address of CUDA's own function of this name, past cushim: such calls are not seen. Null if it is
  // not loaded.
  void *(*symbol)(const char *name);
  // Writes a symbol's readable name to `to`, NUL-terminated and cut where `room` bytes are not enough.
  void (*readable)(const char *symbol, char *to, uint64_t room);
  // The allocation that device address `at` lies in. Answers 0, or CUDA's error.
  int (*range)(uint64_t at, uint64_t *base, uint64_t *bytes);
  // Copies device memory to the host, when the copy may happen: see `synchronize`. Answers 0, or CUDA's error.
  int (*read)(void *to, uint64_t from, uint64_t bytes);
  // Copies host memory to the device. Answers 0, or CUDA's error.
  int (*write)(uint64_t to, const void *from, uint64_t bytes);
  // Waits for all work of a launch's stream. Answers 0, or CUDA's error.
  int (*synchronize)(const struct cushim_launch *launch);
  // Whether a launch's stream is being captured: then nothing may be waited for or copied.
  int (*capturing)(const struct cushim_launch *launch);
  // Keeps a copy of an image for `other_image`. Answers its number, or 0 where it cannot be used, which is
  // said.
  uint64_t (*add_image)(const void *data, uint64_t bytes);
} cushim_host;

// A tool: what it wants to be asked. Null callbacks are not called. Callbacks come from any thread, several at
// once; what CUDA calls a tool makes inside one is not shown to tools.
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
  // A launch is about to happen; it may be changed, left out, or go to another kernel.
  void (*launch_begin)(struct cushim_launch *launch);
  // The call that launches came back with `status`; the kernel itself may not have run yet.
  void (*launch_end)(const struct cushim_launch *launch, int status);
  // Another call came back: memory, copies, streams, …
  void (*call)(const struct cushim_call *call);
  // The process ends through `exit`; no callback comes after it.
  void (*end)(void);
} cushim_tool_table;

// What a lane of a GPU sends or gets at once.
typedef struct cushim_rpc_packet {
  // 64 bytes.
  uint64_t data[CUSHIM_RPC_WORDS];
} cushim_rpc_packet;

// A conversation that device code began with an opcode of the library's. It begins with a packet of the device's, which
// `receive` or `receive_bytes` takes. All functions answer 0, or -1 where the conversation cannot go on: then the handler
// must return. Valid until then.
typedef struct cushim_rpc_port {
  // Bytes of this structure.
  uint32_t size;
  // What the device asks for.
  uint32_t opcode;
  // Which lanes ask, bit by bit.
  uint64_t mask;
  // cushim's own.
  void *own;
  // The next packet of each lane that asks, by lane: `packets` has room for `CUSHIM_RPC_LANES`.
  int (*receive)(struct cushim_rpc_port *port, struct cushim_rpc_packet *packets);
  // A packet to each lane that asks, by lane.
  int (*send)(struct cushim_rpc_port *port, const struct cushim_rpc_packet *packets);
  // A message of each lane that asks: where it is and how many bytes, by lane. The bytes are the port's.
  int (*receive_bytes)(struct cushim_rpc_port *port, const void **bytes, uint64_t *sizes);
  // A message to each lane that asks, by lane.
  int (*send_bytes)(struct cushim_rpc_port *port, const void *const *bytes, const uint64_t *sizes);
} cushim_rpc_port;

// Serves a conversation: 0, or another number, which ends the program with a message.
typedef int (*cushim_rpc_handler)(struct cushim_rpc_port *port, void *user);

// A host function that device code calls.
typedef uint64_t (*cushim_rpc_function)(void *arguments);

// What `cushim load` does for a library of `--rpc`, while its `cushim_rpc` runs.
typedef struct cushim_rpc_host {
  // `CUSHIM_ABI` of cushim.
  uint32_t abi;
  // Bytes of this structure.
  uint32_t size;
  // cushim's own.
  void *own;
  // Has `handler` serve an opcode, also one of LLVM's. Answers 0, or -1 where another library has it.
  int (*serve)(const struct cushim_rpc_host *host,
               uint32_t opcode,
               cushim_rpc_handler handler,
               void *user);
  // Writes the address of `function` to the image's variable `symbol` (a pointer), so that device code can have it
  // called (`LIBC_HOST_CALL`): it gets a copy of the arguments. Answers 0, or -1 where there is no such variable.
  int (*give)(const struct cushim_rpc_host *host, const char *symbol, cushim_rpc_function function);
} cushim_rpc_host;

// What a library of `--rpc` exports, under the name `cushim_rpc`: called once, after the image was loaded and before it
// runs. Answers 0, or another number where the program must not run.
typedef int (*cushim_rpc_main)(const struct cushim_rpc_host *host);

#endif  /* CUSHIM_H */

#ifdef __cplusplus
extern "C" {
#endif
/* What a tool exports: is given cushim's functions, which stay, and answers its own table, which must stay, too;
   null where it does not want to work. */
const cushim_tool_table *cushim_tool(const cushim_host *host);
/* What a library of --rpc exports: called once, after the image was loaded and before it runs. Answers 0, or another
   number where the program must not run. */
int cushim_rpc(const cushim_rpc_host *host);
#ifdef __cplusplus
}
#endif
