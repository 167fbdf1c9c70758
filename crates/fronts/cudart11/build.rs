//! Links the library under its name.

fn main() {
    cushim_front::build::front("libcudart.so.11.0", Some("libcudart.so.11.0"));
}
