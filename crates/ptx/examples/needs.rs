//! Writes every form of the table as one module to the standard output, one statement a line, for assemblers to say which
//! versions and targets know it: `scripts/record-needs` puts them in the place of `VERSION` and `TARGET`.

#[path = "../tests/cases/mod.rs"]
mod cases;

fn main() {
    let all = cases::needs::all();
    let statements: Vec<&str> = all.iter().map(|s| s.code.as_str()).collect();
    print!("{}", cases::needs::module("VERSION", "TARGET", &statements));
}
