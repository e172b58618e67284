//! Writes the valid inputs of every target into `corpus/<target>/`, where libFuzzer begins.
use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    for target in &stillpoint_tests::fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
