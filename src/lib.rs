//! The boundary: every exported symbol of libcushim.so, and no logic.
