//! Generates the peers' code and the code that reads every field, from the .proto files. No `protoc` is needed.

mod handles;
mod readers;
mod versions;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;

/// The schemas, without their extension.
const SCHEMAS: [&str; 12] = [
    "hello",
    "proto2_basic",
    "scalars",
    "packed",
    "maps",
    "tree",
    "logs",
    "analytics",
    "otel",
    "unknown",
    "texts",
    "ticks",
];

/// The one that pb-rs cannot read: it has a group.
const NOT_FOR_QUICK: &str = "proto2_basic";

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let includes = [here.join("proto"), here.join("../examples")];
    for folder in &includes {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    println!("cargo::rerun-if-changed=build");
    versions::export(&here.join("../Cargo.lock"))?;

    let files = SCHEMAS.map(|name| format!("{name}.proto"));
    let set = protox::compile(files.iter(), &includes)?;
    let set_path = out.join("schemas.binpb");
    fs::write(&set_path, set.encode_to_vec())?;

    let prost_out = fresh(&out.join("prost"))?;
    prost_build::Config::new().out_dir(&prost_out).include_file("mod.rs").compile_fds(set.clone())?;

    let buffa_out = fresh(&out.join("buffa"))?;
    buffa_build::Config::new()
        .descriptor_set(&set_path)
        .files(&files)
        .out_dir(&buffa_out)
        .include_file("mod.rs")
        .compile()?;

    let quick_out = fresh(&out.join("quick"))?;
    for name in SCHEMAS.iter().filter(|&&name| name != NOT_FOR_QUICK) {
        let found = includes.iter().map(|folder| folder.join(format!("{name}.proto"))).find(|path| path.exists());
        let path = found.ok_or("no such schema")?;
        let folders: Vec<_> = path.parent().map(Path::to_path_buf).into_iter().collect();
        let config = pb_rs::ConfigBuilder::new(&[path], None, Some(&quick_out), &folders)?.headers(false);
        pb_rs::types::FileDescriptor::run(&config.build())?;
    }

    let reader_out = fresh(&out.join("readers"))?;
    let borrowing = readers::Borrowing::scan(&quick_out)?;
    for peer in readers::Peer::ALL {
        fs::write(reader_out.join(peer.file()), readers::generate(&set, peer, &borrowing))?;
    }
    fs::write(reader_out.join("protojit.rs"), handles::generate(&set))?;
    Ok(())
}

/// An empty folder, made anew.
fn fresh(path: &Path) -> std::io::Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path)?;
    Ok(path.to_path_buf())
}
