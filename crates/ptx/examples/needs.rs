//! Writes every form of the table as one module to the standard output, one statement a line, to ask assemblers which
//! versions and targets accept it: `scripts/record-needs` replaces `VERSION` and `TARGET` by these.

#[path = "../tests/cases/mod.rs"]
mod cases;

fn main() {
    let all = cases::needs::all();
    let statements: Vec<&str> = all.iter().map(|s| s.code.as_str()).collect();
    print!("{}", cases::needs::module("VERSION", "TARGET", &statements));
}
