//! Device-image containers: bytes in, borrowed views out.
