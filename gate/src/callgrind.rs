//! Runs this program under callgrind, and reads what that counted.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::baseline::{Baseline, Count};
use crate::benches;

/// Counts all benches.
pub fn measure(degraded: bool) -> Result<Baseline, String> {
    let folder = Folder::new()?;
    let out = folder.0.join("counts");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no", "--dump-line=no"])
        .args(["--zero-before=protojit_gate_measured", "--dump-after=protojit_gate_measured"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg("run")
        .args(degraded.then_some("degraded"))
        .env_clear();
    let ran = command.output().map_err(|error| format!("valgrind cannot be run: {error}"))?;
    if !ran.status.success() {
        return Err(format!("under valgrind: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    let said = String::from_utf8_lossy(&ran.stdout);
    let cpu = said.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or("any").to_owned();
    // Each bench leaves a file, numbered from 1 in the order that they ran.
    let mut counts = Vec::new();
    for (at, name) in benches::names().into_iter().enumerate() {
        let file = format!("{}.{}", out.display(), at + 1);
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{name} left no counts: {error}"))?;
        let count = read(&text).ok_or_else(|| format!("{name}: these are no counts of callgrind's"))?;
        counts.push((name, count));
    }
    Ok(Baseline { made_with: crate::baseline::toolchain(&cpu), counts })
}

/// A folder of its own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("protojit-gate-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.0));
    }
}

/// Instructions of one call: all, and those that lie in no file: compiled code.
fn read(text: &str) -> Option<Count> {
    let (mut all, mut compiled) = (0, 0);
    let (mut in_code, mut of_callee) = (false, false);
    for line in text.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            in_code = object == "???";
        } else if line.starts_with("calls=") {
            // The next line is the inclusive cost of what was called, which is counted there.
            of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) && !std::mem::take(&mut of_callee) {
            let cost: u64 = line.split(' ').nth(1)?.parse().ok()?;
            all += cost;
            compiled += if in_code { cost } else { 0 };
        }
    }
    (all > 0).then_some(Count { all: all / benches::CALLS, compiled: compiled / benches::CALLS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_are_not_counted_twice() {
        let text = "# callgrind format\nevents: Ir\n\nob=/bin/a\nfl=a.rs\nfn=f\n0 320\ncfn=g\ncob=???\ncalls=32 0\n0 6400\n0 32\n\n\
                    ob=???\nfl=???\nfn=0x0\n0 6400\n\ntotals: 6752\n";
        let count = read(text).unwrap();
        assert_eq!((count.all, count.compiled), (6752 / 32, 200));
        assert!(read("no counts").is_none());
    }
}
