//! The engines that are compared, behind one trait.
//!
//! Each runs as its documentation says one should who cares for speed: code generated with default settings for those
//! that generate code, buffers reused where encoding allows it, size caches kept where there are any. Memory comes from
//! the system's allocator for all of them.
//!
//! | engine | messages | decode again into the same message |
//! |---|---|---|
//! | `prost` | generated, own their contents | yes |
//! | `buffa` | generated, own their contents | yes |
//! | `buffa-view` | generated, borrow strings and bytes of the input | no |
//! | `quick-protobuf` | generated, borrow strings and bytes of the input | no |
//! | `prost-reflect` | dynamic | no |
//! | `buffa-dynamic` | dynamic | no |
//! | `interp`, `jit` | protojit: dynamic, in an arena that is reset before each decode; borrow large inputs | that is how they work |
//!
//! prost drops unknown fields, as does quick-protobuf; the others keep them. `interp-discard` and `jit-discard` are
//! protojit told to drop them too, and run only where there are any.

mod buffa_dynamic;
mod buffa_owned;
mod buffa_view;
mod check;
mod prost;
mod prost_reflect;
mod protojit;

mod quick;

use std::fmt;

pub use check::{CheckError, check};

use crate::workloads::Workload;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Decode into a new message (in protojit: into a reset arena).
    Decode,
    /// Decode into a message that was used before.
    DecodeReused,
    /// Decode into a new message and read every field.
    Read,
    /// Encode into a reused buffer.
    Encode,
}

impl Op {
    /// The name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Decode => "decode",
            Op::DecodeReused => "decode-reused",
            Op::Read => "decode and read all",
            Op::Encode => "encode",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One engine, made ready for one workload. The first four are a pass: each payload once, in turn.
///
/// # Panics
/// All of them panic on what is not valid; the workloads are.
pub trait Codec {
    /// Decodes every payload into a new message.
    fn decode(&mut self);

    /// Decodes every payload into the same message, where the engine can do that and it differs from
    /// [`Codec::decode`].
    fn decode_reused(&mut self) {
        panic!("{}", NO_REUSE);
    }

    /// Decodes every payload and reads every field. Gives the sum of all sums.
    fn decode_and_read_all(&mut self) -> u64;

    /// Decodes what is to be encoded. Called once, before [`Codec::encode_reused`] and [`Codec::encoded`].
    fn prepare_encode(&mut self);

    /// Encodes the messages of all payloads into the same buffer, one after the other. Gives the sum of the lengths.
    fn encode_reused(&mut self) -> usize;

    /// Whether [`Codec::decode_reused`] is there.
    fn reuses(&self) -> bool {
        false
    }

    /// The sum of one payload: see [`read`](crate::read).
    fn checksum(&mut self, payload: usize) -> u64;

    /// The bytes that the message of one payload is encoded to.
    fn encoded(&mut self, payload: usize) -> Vec<u8>;

    /// Mean bytes of arena per decode, for engines that have one.
    fn arena_bytes(&mut self) -> Option<f64> {
        None
    }
}

const NO_REUSE: &str = "this engine has no decode into a used message";

impl dyn Codec + '_ {
    /// Whether the engine can do this.
    pub fn can(&self, op: Op) -> bool {
        op != Op::DecodeReused || self.reuses()
    }

    /// One pass.
    pub fn pass(&mut self, op: Op) {
        match op {
            Op::Decode => self.decode(),
            Op::DecodeReused => self.decode_reused(),
            Op::Read => {
                std::hint::black_box(self.decode_and_read_all());
            }
            Op::Encode => {
                std::hint::black_box(self.encode_reused());
            }
        }
    }
}

/// Why an engine does not run a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Skip {
    /// It could, but there is nothing in it that it would do otherwise than another engine here.
    Same,
    /// It cannot, for this reason.
    Cannot(&'static str),
}

/// What an engine is to the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A peer with generated code.
    Generated,
    /// A peer that learns the schema at run time, as protojit does.
    Dynamic,
    /// protojit.
    Own,
}

/// One engine.
pub struct Engine {
    /// Its name in the table and on the command line.
    pub name: &'static str,
    /// The crate and its exact version.
    pub version: &'static str,
    /// What it is to the comparison.
    pub role: Role,
    /// Makes it ready for a workload.
    pub make: fn(&Workload) -> Result<Box<dyn Codec>, Skip>,
}

macro_rules! version {
    ($name:literal, $variable:literal) => {
        concat!($name, " ", env!(concat!("VERSION_", $variable)))
    };
}

/// All engines, peers first.
pub static ENGINES: [Engine; 10] = [
    Engine { name: "prost", version: version!("prost", "PROST"), role: Role::Generated, make: prost::make },
    Engine { name: "buffa", version: version!("buffa", "BUFFA"), role: Role::Generated, make: buffa_owned::make },
    Engine { name: "buffa-view", version: version!("buffa", "BUFFA"), role: Role::Generated, make: buffa_view::make },
    Engine {
        name: "quick-protobuf",
        version: version!("quick-protobuf", "QUICK_PROTOBUF"),
        role: Role::Generated,
        make: quick::make,
    },
    Engine {
        name: "prost-reflect",
        version: version!("prost-reflect", "PROST_REFLECT"),
        role: Role::Dynamic,
        make: prost_reflect::make,
    },
    Engine {
        name: "buffa-dynamic",
        version: version!("buffa-descriptor", "BUFFA_DESCRIPTOR"),
        role: Role::Dynamic,
        make: buffa_dynamic::make,
    },
    Engine { name: "interp", version: OWN_VERSION, role: Role::Own, make: protojit::make_interp },
    Engine { name: "interp-discard", version: OWN_VERSION, role: Role::Own, make: protojit::make_interp_discard },
    Engine { name: "jit", version: OWN_VERSION, role: Role::Own, make: protojit::make_jit },
    Engine { name: "jit-discard", version: OWN_VERSION, role: Role::Own, make: protojit::make_jit_discard },
];

const OWN_VERSION: &str = concat!("protojit ", env!("CARGO_PKG_VERSION"));

/// The engine of this name.
pub fn engine(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|engine| engine.name == name)
}

/// The codec of a message type's name: `$codec::<messages::hello::Person>::new($payloads)` as a box of the trait,
/// `messages` being what is called so where the macro is used.
macro_rules! codec_of_name {
    ($name:expr, $codec:ident, $payloads:expr, $as:ident) => {
        codec_of_name! { @match $name, $codec, $payloads, $as,
            "hello.Person" => hello::Person,
            "basic.BenchPayload" => basic::BenchPayload,
            "scalars.Scalars" => scalars::Scalars,
            "packed.Packed" => packed::Packed,
            "maps.Counters" => maps::Counters,
            "maps.Inventory" => maps::Inventory,
            "tree.Node" => tree::Node,
            "logs.LogRecord" => logs::LogRecord,
            "analytics.Batch" => analytics::Batch,
            "ticks.Tick" => ticks::Tick,
            "otel.TraceExport" => otel::TraceExport,
            "unknown.Known" => unknown::Known,
            "texts.Document" => texts::Document,
        }
    };
    (@match $searched:expr, $codec:ident, $payloads:expr, $as:ident, $($name:literal => $($path:ident)::+,)*) => {
        match $searched {
            $($name => Ok(Box::new($codec::<messages::$($path)::+>::new($payloads)) as Box<dyn $as>),)*
            _ => Err(Skip::Cannot("its code was not generated")),
        }
    };
}
pub(crate) use codec_of_name;
