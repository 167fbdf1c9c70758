//! Demangling, shortening, and printing values by their C++ type.
