//! libcudart.so.11.0: one jump into libvcuda.so for each function. No state, no logic.

cushim_front::runtime_front!(11 "libcudart.so.11.0");
