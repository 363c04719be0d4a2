//! Compiles the example schemas, with the verifier on.

use std::path::Path;

use prost::Message as _;
use protojit_core::program::{DecodeOptions, EncodeOptions, Programs};
use protojit_core::schema::Schema;
use protojit_jit::compile::{Compiler, clif};
use protojit_jit::host::Cpu;
use protojit_jit::mcode::MachineCodeArena;

fn schema(file: &str) -> Schema {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let set = protox::compile([dir.join(file)], [dir]).unwrap();
    Schema::from_descriptor_set(set.encode_to_vec()).unwrap()
}

#[test]
fn every_message_of_the_examples_compiles() {
    let compiler = Compiler::new(MachineCodeArena::reserve(4 << 20).unwrap(), true).unwrap();
    for file in ["hello.proto", "proto2_basic.proto"] {
        let schema = schema(file);
        let programs = Programs::new(schema.shared().clone());
        for message in schema.messages() {
            let program = programs.decode(message.id(), DecodeOptions::default());
            assert!(clif(program.unit(), program.index(), Cpu::Host).unwrap().contains("br_table"));
            // SAFETY: `compiler` outlives the unit, and nothing calls the code.
            let unit = unsafe { compiler.compile(program.unit()) }.unwrap();
            for stats in unit.stats() {
                println!("{}: {stats:?}", message.full_name());
                assert!(stats.code_bytes > 0);
            }
            let program = programs.encode(message.id(), EncodeOptions::default());
            assert!(clif(program.unit(), program.index(), Cpu::Host).unwrap().contains("brif"));
            // SAFETY: as above.
            let unit = unsafe { compiler.compile(program.unit()) }.unwrap();
            for stats in unit.stats() {
                println!("{} encode: {stats:?}", message.full_name());
            }
        }
    }
}
