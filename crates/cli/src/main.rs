//! The program `cushim`.

fn main() {}
