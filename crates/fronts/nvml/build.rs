//! Links the library under its name.

fn main() {
    cushim_front::build::front("libnvidia-ml.so.1", None);
}
