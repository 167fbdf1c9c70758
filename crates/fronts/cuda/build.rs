//! Links the library under its name.

fn main() {
    cushim_front::build::front("libcuda.so.1", None);
}
