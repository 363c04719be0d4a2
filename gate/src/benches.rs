//! What is counted.

use std::fmt::Write;
use std::hint::black_box;

use protojit::json::{self, JsonReadOptions};
use protojit::{Arena, Cpu, EncodeBuffer, Engine, MessageType, Runtime};

/// Calls that are counted of each bench, after some that are not.
pub const CALLS: u64 = 32;

/// A member of a oneof.
const REFUSED: &str = "number";

/// A message to decode and encode.
struct Bench {
    name: &'static str,
    set: &'static [u8],
    message: &'static str,
    payload: Payload,
    /// It has the field that [`run_all`] can refuse to compile.
    refused: bool,
}

enum Payload {
    Wire(&'static [u8]),
    Json(fn() -> String),
}

macro_rules! set {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".binpb"))
    };
}

macro_rules! example {
    ($name:literal) => {
        Payload::Wire(include_bytes!(concat!("../../examples/payloads/", $name, ".binpb")))
    };
}

const fn bench(name: &'static str, set: &'static [u8], message: &'static str, payload: Payload) -> Bench {
    Bench { name, set, message, payload, refused: false }
}

const HELLO: &[u8] = set!("hello");
const BASIC: &[u8] = set!("proto2_basic");
const GATE: &[u8] = set!("gate");

const BENCHES: [Bench; 10] = [
    bench("person/10B", HELLO, "hello.Person", example!("person_10")),
    bench("person/100B", HELLO, "hello.Person", example!("person_100")),
    bench("person/10KB", HELLO, "hello.Person", example!("person_10k")),
    bench("proto2", BASIC, "basic.BenchPayload", example!("bench_mid")),
    bench("unknown", BASIC, "basic.BenchPayload", example!("bench_unknown")),
    bench("scalars", GATE, "gate.Scalars", Payload::Json(scalars)),
    bench("packed", GATE, "gate.Packed", Payload::Json(packed)),
    bench("maps", GATE, "gate.Maps", Payload::Json(maps)),
    Bench { refused: true, ..bench("tree", GATE, "gate.Tree", Payload::Json(|| tree(6))) },
    bench("texts", GATE, "gate.Texts", Payload::Json(texts)),
];

fn scalars() -> String {
    r#"{"a":1.5,"b":2.5,"c":-3,"d":40000,"e":500,"f":6,"g":7,"h":true,"i":900,"j":-10,"k":-11,"l":-12,"m":130000,"n":0,
        "o":false,"p":16,"q":"seventeen"}"#
        .to_owned()
}

/// `count` values, separated by commas.
fn list(count: u64, value: impl Fn(u64) -> String) -> String {
    (0..count).map(value).collect::<Vec<_>>().join(",")
}

fn packed() -> String {
    let mixed = |at: u64| ((at * 7919) % (1 << (at % 28))).to_string();
    format!(
        r#"{{"varints":[{}],"zigzags":[{}],"doubles":[{}],"bools":[{}]}}"#,
        list(200, mixed),
        list(200, |at| format!("{}{}", if at % 2 == 0 { "" } else { "-" }, mixed(at))),
        list(100, |at| format!("{at}.5")),
        list(100, |at| (at % 3 == 0).to_string())
    )
}

fn maps() -> String {
    format!(
        r#"{{"texts":{{{}}},"numbers":{{{}}},"scalars":{{{}}}}}"#,
        list(300, |at| format!(r#""key {at}":"the value of {at}""#)),
        list(300, |at| format!(r#""{}":{}"#, at * at, at << (at % 40))),
        list(8, |at| format!(r#""key {at}":{}"#, scalars()))
    )
}

fn tree(depth: u32) -> String {
    let note =
        if depth.is_multiple_of(2) { format!(r#""text":"level {depth}""#) } else { format!(r#""number":-{depth}"#) };
    let mut out = format!(r#"{{"value":{depth},{note}"#);
    if depth > 0 {
        write!(out, r#","left":{0},"right":{0}"#, tree(depth - 1)).expect("a string takes all");
    }
    out.push('}');
    out
}

fn texts() -> String {
    let text = |at: u64| match at % 4 {
        0 => "ASCII".to_owned(),
        1 => "Grüße, 世界, and a good deal of ASCII besides".to_owned(),
        2 => "x".repeat(at as usize * 9),
        _ => "漢字かな交じり文".repeat(3),
    };
    format!(
        r#"{{"texts":[{}],"blobs":["AAECAwQF","{}"]}}"#,
        list(24, |at| format!("{:?}", text(at))),
        "QUJD".repeat(100)
    )
}

/// The directions and engines of each bench, as they follow its name.
const WAYS: [&str; 4] = ["decode jit", "decode interp", "encode jit", "encode interp"];

/// The names of all that is counted, in the order of [`run_all`].
pub fn names() -> Vec<String> {
    BENCHES.iter().flat_map(|bench| WAYS.map(|way| format!("{} {way}", bench.name))).collect()
}

/// Whether this bench is interpreted in a degraded run although it should not be.
pub fn falls_back(name: &str) -> bool {
    name.ends_with("jit") && BENCHES.iter().any(|bench| bench.refused && name.split(' ').next() == Some(bench.name))
}

/// What callgrind counts: it zeroes its counts when this is entered, and writes them when it is left.
#[unsafe(no_mangle)]
#[inline(never)]
extern "Rust" fn protojit_gate_measured(work: &mut dyn FnMut()) {
    for _ in 0..CALLS {
        work();
    }
}

fn measured(mut work: impl FnMut()) {
    // Compiles, and brings buffers to their size.
    for _ in 0..3 {
        work();
    }
    protojit_gate_measured(&mut work);
}

/// Runs all benches, each with the plainest processor's code. Where `degraded`, messages
/// with the field [`REFUSED`] are not compiled.
pub fn run_all(degraded: bool) -> Result<(), String> {
    // What the Rust parts find at run time: callgrind's processor.
    #[cfg(target_arch = "x86_64")]
    println!(
        "cpu avx2:{} bmi2:{} avx512bw:{}",
        std::is_x86_feature_detected!("avx2"),
        std::is_x86_feature_detected!("bmi2"),
        std::is_x86_feature_detected!("avx512bw")
    );
    for bench in &BENCHES {
        let types = |engine| {
            let mut builder = Runtime::builder().engine(engine).cpu(Cpu::Baseline);
            if degraded {
                builder = builder.refuse_fields(|field| &*field.name == REFUSED);
            }
            let schema = builder.build().register(bench.set).map_err(|error| error.to_string())?;
            schema.message(bench.message).map_err(|error| error.to_string())
        };
        let (jit, interp) = (types(Engine::Jit)?, types(Engine::Interp)?);
        if !(degraded && bench.refused) {
            jit.is_compiled().and(jit.is_encode_compiled()).map_err(|fallback| fallback.to_string())?;
        }
        let wire = wire(bench, &interp)?;
        for ty in [&jit, &interp] {
            decode(ty, &wire)?;
        }
        for ty in [&jit, &interp] {
            encode(ty, &wire)?;
        }
    }
    Ok(())
}

fn wire(bench: &Bench, ty: &MessageType) -> Result<Vec<u8>, String> {
    match bench.payload {
        Payload::Wire(bytes) => Ok(bytes.to_vec()),
        Payload::Json(text) => {
            let mut message = ty.new_message();
            json::read(text().as_bytes(), &mut message.as_mut(), &JsonReadOptions::default(), ty.schema())
                .map_err(|error| format!("{}: {error}", bench.name))?;
            ty.encode_to_vec(message.as_ref()).map_err(|error| format!("{}: {error}", bench.name))
        }
    }
}

fn decode(ty: &MessageType, wire: &[u8]) -> Result<(), String> {
    let mut arena = Arena::new();
    let mut error = None;
    measured(|| {
        arena.reset();
        error = black_box(ty.decode(black_box(wire), &arena)).err();
    });
    error.map_or(Ok(()), |error| Err(error.to_string()))
}

fn encode(ty: &MessageType, wire: &[u8]) -> Result<(), String> {
    let message = ty.decode_owned(wire).map_err(|error| error.to_string())?;
    let mut buffer = EncodeBuffer::new();
    let mut error = None;
    measured(|| error = black_box(ty.encode_into(black_box(message.as_ref()), &mut buffer)).err());
    error.map_or(Ok(()), |error| Err(error.to_string()))
}
