//! Writes the valid inputs of every fuzz target into `fuzz/corpus/<target>/`, where libFuzzer begins.
//!
//! Run: `cargo run -p stillpoint-tests --example fuzz_seeds`
use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for target in &stillpoint_tests::fuzz::TARGETS {
        let folder = corpus.join(target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
