//! Links the library under its name.

fn main() {
    cushim_front::build::front("libcudart.so.13", Some("libcudart.so.13"));
}
