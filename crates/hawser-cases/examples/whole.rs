//! Prints a saved case whole, as a check would have written it:
//! `cargo run -p hawser-cases --example whole two-faults | hawser explain /dev/stdin`.

fn main() -> Result<(), String> {
    let name = std::env::args().nth(1).ok_or("which case?")?;
    println!("{:#}", hawser_cases::value(&name)?);
    Ok(())
}
