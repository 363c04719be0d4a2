//! The exact versions of the peers, from the lock file.

use std::error::Error;
use std::path::Path;

/// The crates whose versions are recorded, as environment variables `VERSION_<NAME>` of the compilation.
const CRATES: [&str; 5] = ["prost", "prost-reflect", "buffa", "buffa-descriptor", "quick-protobuf"];

pub fn export(lock: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = std::fs::read_to_string(lock)?;
    for name in CRATES {
        let start = format!("name = \"{name}\"");
        let mut lines = text.lines().skip_while(|line| *line != start);
        let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
        let version = version.ok_or_else(|| format!("the lock file has no {name}"))?;
        println!("cargo::rustc-env=VERSION_{}={version}", name.to_uppercase().replace('-', "_"));
    }
    let compiler = std::process::Command::new(std::env::var("RUSTC")?).arg("--version").output()?;
    println!("cargo::rustc-env=VERSION_RUSTC={}", String::from_utf8(compiler.stdout)?.trim());
    Ok(())
}
