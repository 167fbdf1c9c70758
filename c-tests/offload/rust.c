/* The descriptor that clang's linker wrapper makes from rustc's table of entries, with an image that nothing runs. */
#include <stdint.h>
#include <stddef.h>
#include "abi.h"
extern struct new_entry __start_llvm_offload_entries[], __stop_llvm_offload_entries[];
static const char bytes[] = ".version 7.0\n.target sm_80\n.address_size 64\n";
static struct image images[] = {{bytes, bytes + sizeof bytes, NULL, NULL}};
static struct descriptor lib = {1, images, __start_llvm_offload_entries, __stop_llvm_offload_entries};
__attribute__((constructor(101))) static void begin(void) { __tgt_register_lib(&lib); }
__attribute__((destructor(101))) static void end(void) { __tgt_unregister_lib(&lib); }
void device_scale(double *x) { (void)x; }
