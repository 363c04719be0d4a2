//! Counts in a file, and how they compare.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// Instructions of one call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Count {
    /// All of them.
    pub all: u64,
    /// Those of compiled code.
    pub compiled: u64,
}

/// What was counted, and with what.
#[derive(Clone, PartialEq, Debug)]
pub struct Baseline {
    pub made_with: String,
    pub counts: Vec<(String, Count)>,
}

/// How two of them compare.
pub struct Compared {
    /// For people.
    pub report: String,
    /// The benches that take too many instructions, came or went.
    pub worse: Vec<String>,
}

/// More than this is worse, in percent.
const TOLERANCE: u64 = 3;

/// For Rust code of another compiler, or with another C library.
const OTHER_TOOLS: u64 = 25;

/// What the counts of Rust code depend on.
pub fn toolchain(cpu: &str) -> String {
    let version = |program: &str, argument: &str| {
        let ran = Command::new(program).arg(argument).output().ok()?;
        Some(String::from_utf8_lossy(&ran.stdout).lines().next()?.to_owned())
    };
    let rustc = version("rustc", "--version").unwrap_or_else(|| "rustc unknown".to_owned());
    let libc = version("ldd", "--version").unwrap_or_else(|| "libc unknown".to_owned());
    // "ldd (Distribution GLIBC 2.36-9) 2.36"
    let libc = libc.rsplit(' ').next().unwrap_or_default();
    format!("{rustc}; libc {libc}; {cpu}")
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("baseline.{}.txt", std::env::consts::ARCH))
}

impl Baseline {
    pub fn load() -> Result<Baseline, String> {
        let file = file();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Baseline::parse(&text).ok_or_else(|| format!("{}: not a baseline", file.display()))
    }

    pub fn store(&self) -> Result<(), String> {
        std::fs::write(file(), self.to_text()).map_err(|error| error.to_string())
    }

    fn to_text(&self) -> String {
        let mut out =
            format!("made with: {}\n# bench: instructions per call, of them in compiled code\n", self.made_with);
        for (name, count) in &self.counts {
            writeln!(out, "{name}: {} {}", count.all, count.compiled).expect("a string takes all");
        }
        out
    }

    fn parse(text: &str) -> Option<Baseline> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let made_with = lines.next()?.strip_prefix("made with: ")?.to_owned();
        let counts = lines.map(|line| {
            let (name, counts) = line.split_once(": ")?;
            let (all, compiled) = counts.split_once(' ')?;
            Some((name.to_owned(), Count { all: all.parse().ok()?, compiled: compiled.parse().ok()? }))
        });
        Some(Baseline { made_with, counts: counts.collect::<Option<_>>()? })
    }

    fn get(&self, name: &str) -> Option<Count> {
        self.counts.iter().find(|(other, _)| other == name).map(|(_, count)| *count)
    }

    /// All that changed, and what of it is worse.
    pub fn compare(&self, after: &Baseline) -> Compared {
        let same_tools = self.made_with == after.made_with;
        let tolerance = if same_tools { TOLERANCE } else { OTHER_TOOLS };
        let mut report = String::from("name: before, after, change (instructions per call)\n");
        let mut worse = Vec::new();
        for (name, is) in &after.counts {
            let Some(was) = self.get(name) else {
                worse.push(name.clone());
                writeln!(report, "{name}: none, {}, new", is.all).expect("a string takes all");
                continue;
            };
            let parts = [("", was.all, is.all, tolerance), (" in compiled code", was.compiled, is.compiled, TOLERANCE)];
            let mut too_many = false;
            for (part, was, is, tolerance) in parts {
                let change = (is as f64 / was.max(1) as f64 - 1.0) * 100.0;
                if was == is {
                    continue;
                }
                // A handful of instructions is nothing, whatever part of a small bench it is.
                let bad = is * 100 > was * (100 + tolerance) && is > was + 3;
                too_many |= bad;
                let verdict = if bad { " WORSE" } else { "" };
                writeln!(report, "{name}{part}: {was}, {is}, {change:+.1} %{verdict}").expect("a string takes all");
            }
            if too_many {
                worse.push(name.clone());
            }
        }
        for (name, count) in self.counts.iter().filter(|(name, _)| after.get(name).is_none()) {
            worse.push(name.clone());
            writeln!(report, "{name}: {}, none, gone", count.all).expect("a string takes all");
        }
        if !same_tools {
            writeln!(
                report,
                "The baseline was made with\n  {}\nand this with\n  {}\nRust code is held to {OTHER_TOOLS} % only.",
                self.made_with, after.made_with
            )
            .expect("a string takes all");
        }
        writeln!(report, "{} benches, {} worse", after.counts.len(), worse.len()).expect("a string takes all");
        Compared { report, worse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[(&str, u64, u64)]) -> Baseline {
        let counts = counts.iter().map(|&(name, all, compiled)| (name.to_owned(), Count { all, compiled }));
        Baseline { made_with: "tools; and more".to_owned(), counts: counts.collect() }
    }

    #[test]
    fn text_and_back() {
        let baseline = of(&[("a/1 decode jit", 100, 50), ("b", 7, 0)]);
        assert_eq!(Baseline::parse(&baseline.to_text()), Some(baseline));
        assert!(Baseline::parse("a: 1 2").is_none() && Baseline::parse("made with: x\na: 1").is_none());
    }

    #[test]
    fn three_percent() {
        let before = of(&[("a", 1000, 500)]);
        assert!(before.compare(&before).worse.is_empty());
        assert!(before.compare(&of(&[("a", 1030, 500)])).worse.is_empty());
        assert!(before.compare(&of(&[("a", 10, 5)])).worse.is_empty());
        let worse = before.compare(&of(&[("a", 1031, 500)]));
        assert_eq!(worse.worse, ["a"]);
        assert!(worse.report.contains("a: 1000, 1031, +3.1 % WORSE"), "{}", worse.report);
        // Compiled code alone, hidden by savings elsewhere.
        assert!(before.compare(&of(&[("a", 1000, 516)])).report.contains("a in compiled code: 500, 516, +3.2 % WORSE"));
        // Benches that came or went.
        assert_eq!(before.compare(&of(&[("b", 1, 1)])).worse, ["b", "a"]);
    }

    #[test]
    fn other_tools() {
        let before = of(&[("a", 1000, 500)]);
        let mut after = of(&[("a", 1250, 515)]);
        after.made_with.push('!');
        assert!(before.compare(&after).worse.is_empty());
        assert!(before.compare(&after).report.contains("tools; and more!"));
        after.counts[0].1.compiled = 516;
        assert_eq!(before.compare(&after).worse, ["a"]);
        after.counts[0].1 = Count { all: 1251, compiled: 500 };
        assert_eq!(before.compare(&after).worse, ["a"]);
    }
}
