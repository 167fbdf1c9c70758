//! libcudart.so.12: one jump into libvcuda.so for each function. No state, no logic.

cushim_front::runtime_front!(12 "libcudart.so.12");
