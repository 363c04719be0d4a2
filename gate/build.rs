//! Compiles the schemas to descriptor sets, so that nothing of that is measured.

use std::path::Path;

use prost::Message as _;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    for (dir, name) in [("../examples", "hello"), ("../examples", "proto2_basic"), (".", "gate")] {
        let dir = here.join(dir);
        let file = dir.join(format!("{name}.proto"));
        println!("cargo::rerun-if-changed={}", file.display());
        let set = protox::compile([&file], [&dir]).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(Path::new(&out).join(format!("{name}.binpb")), set.encode_to_vec())
            .expect("a folder to write to");
    }
}
