//! CUDA's own types, error codes and function signatures, each declared once.
