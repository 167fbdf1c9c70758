//! libcudart.so.13: one jump into libvcuda.so for each function. No state, no logic.

cushim_front::runtime_front!(13 "libcudart.so.13");
