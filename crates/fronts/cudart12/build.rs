//! Links the library under its name.

fn main() {
    cushim_front::build::front("libcudart.so.12", Some("libcudart.so.12"));
}
