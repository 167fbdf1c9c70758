//! Event layout, recorder and reader. Knows no CUDA call.
