//! The committed header is what cbindgen makes of the source, and the C test program uses every function of it, built
//! with warnings as errors; under valgrind too where `PROTOJIT_VALGRIND` is set.

use std::path::{Path, PathBuf};
use std::process::Command;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(HERE).join(path)).unwrap()
}

#[test]
fn header_is_up_to_date() {
    let config = cbindgen::Config::from_file(Path::new(HERE).join("cbindgen.toml")).unwrap();
    let source = Path::new(HERE).join("src/lib.rs");
    let mut made = Vec::new();
    cbindgen::Builder::new().with_config(config).with_src(source).generate().unwrap().write(&mut made);
    let path = Path::new(HERE).join("include/protojit.h");
    if std::env::var_os("PROTOJIT_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), String::from_utf8(made).unwrap());
}

#[test]
fn c_program_uses_every_function() {
    let (source, program) = (read("src/lib.rs"), read("tests/test.c"));
    let names: Vec<&str> = source.split("extern \"C\" fn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
    assert!(names.len() > 10, "{names:?}");
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
            .args(["-q", "--leak-check=full", "--error-exitcode=9"])
            .arg(&out)
            .arg("2")
            .status()
            .unwrap();
        assert!(valgrind.success());
    }
}
