//! libcuda.so.1: one jump into libvcuda.so for each function. No state, no logic.

cushim_front::driver_front!();
