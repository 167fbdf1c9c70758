//! Prints the LLVM IR of a PTX file: `cargo run -p cushim-translate --example emit FILE [TARGET]`.

use cushim_translate::{Target, amdgpu};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("a PTX file is wanted")?;
    let target = arguments.next().unwrap_or_else(|| "gfx90a".into());
    let target = Target::from_name(&target).ok_or("no such target")?;
    let text = std::fs::read_to_string(path)?;
    let mut module = cushim_ptx::check(&cushim_ptx::parse(&text)?)?;
    cushim_ptx::contract(&mut module);
    let made = amdgpu::emit(&module, &target);
    for refusal in &made.refused {
        eprintln!("{refusal}");
    }
    print!("{}", made.ir);
    Ok(())
}
