//! The committed header is what cbindgen makes of the source, and the C test program uses every function of it, built
//! with warnings as errors; under valgrind too where `PROTOJIT_VALGRIND` is set.

use std::path::{Path, PathBuf};
use std::process::Command;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The files with functions, in the order of the header.
const SOURCES: [&str; 6] = ["error", "buffer", "runtime", "layout", "arena", "message"];

fn source(name: &str) -> PathBuf {
    Path::new(HERE).join("src").join(name).with_extension("rs")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(HERE).join(path)).unwrap()
}

#[test]
fn header_is_up_to_date() {
    let config = cbindgen::Config::from_file(Path::new(HERE).join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    let builder = SOURCES.iter().fold(cbindgen::Builder::new(), |builder, name| builder.with_src(source(name)));
    builder.with_config(config).generate().unwrap().write(&mut made);
    let path = Path::new(HERE).join("include/protojit.h");
    if std::env::var_os("PROTOJIT_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), String::from_utf8(made).unwrap());
}

#[test]
fn c_program_uses_every_function() {
    let (header, program) = (read("include/protojit.h"), read("tests/test.c"));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let calls =
        header.lines().filter(|line| !line.starts_with(['/', '#', ' ', '}'])).filter_map(|line| line.split_once('('));
    let names: Vec<&str> = calls.filter_map(|(before, _)| before.rsplit(|c| !is_name(c)).next()).collect();
    assert!(names.len() > 30 && names.iter().all(|name| name.starts_with("pj_")), "{names:?}");
    for name in names {
        assert!(program.contains(&format!("{name}(")), "test.c does not call {name}");
    }
}

#[test]
fn c_program_runs() {
    // The test binary lies in `deps`, where cargo leaves the library before it runs the tests.
    let deps: PathBuf = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let library = deps.join("libprotojit_c.a");
    let out = deps.join("protojit_c_test");
    let built = Command::new("cc")
        .args(["-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(Path::new(HERE).join("include"))
        .arg(Path::new(HERE).join("tests/test.c"))
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&out)
        .status()
        .unwrap();
    assert!(built.success());
    for engine in ["0", "2"] {
        assert!(Command::new(&out).arg(engine).status().unwrap().success(), "engine {engine}");
    }
    if std::env::var_os("PROTOJIT_VALGRIND").is_some() {
        let valgrind = Command::new("valgrind")
            .args(["-q", "--leak-check=full", "--error-exitcode=9", "--num-callers=60"])
            .arg(format!("--suppressions={HERE}/tests/valgrind.supp"))
            .arg(&out)
            .arg("2")
            .status()
            .unwrap();
        assert!(valgrind.success());
    }
}
