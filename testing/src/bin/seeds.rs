//! Writes the first inputs of each fuzz target: `seeds DIRECTORY` fills `DIRECTORY/decode` and so on.

use std::fs;
use std::path::Path;

use protojit_testing::bodies;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os().nth(1).expect("a directory");
    for (target, _) in bodies::ALL {
        let directory = Path::new(&directory).join(target);
        fs::create_dir_all(&directory)?;
        for (at, seed) in bodies::seeds(target).into_iter().enumerate() {
            fs::write(directory.join(format!("seed-{at:04}")), seed)?;
        }
    }
    Ok(())
}
