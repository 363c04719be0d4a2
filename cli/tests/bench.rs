//! `bench`.

mod common;

use common::{Run, example};
use serde_json::Value;

fn bench() -> Run {
    Run::hello("bench").args(["--iterations", "200"])
}

fn json(run: Run) -> Value {
    serde_json::from_slice(&run.args(["--format", "json"]).ok()).unwrap()
}

#[test]
fn each_engine_and_the_peer() {
    let report = json(bench().arg(example("payloads/person_1k.binpb")).arg(example("payloads/person_100.binpb")));
    assert_eq!((&report["message"], report["inputs"].as_array().unwrap().len()), (&"hello.Person".into(), 2));
    for input in report["inputs"].as_array().unwrap() {
        for who in ["jit", "interp", "prost_reflect"] {
            for way in ["decode_nanos", "encode_nanos"] {
                let nanos = input[who][way].as_f64().unwrap();
                assert!(nanos > 1.0 && nanos < 1e9, "{who} {way}: {nanos}");
            }
        }
    }
    if report["fallback"].is_null() {
        let spent = report["compile"]["decode_nanos"].as_f64().unwrap();
        let input = &report["inputs"][0];
        let gain = input["interp"]["decode_nanos"].as_f64().unwrap() - input["jit"]["decode_nanos"].as_f64().unwrap();
        let paid = input["break_even_decode"].as_f64();
        assert!(spent > 0.0);
        assert_eq!(paid, (gain > 0.0).then(|| (spent / gain).ceil()));
    }
}

#[test]
fn table_and_streams() {
    let table = String::from_utf8(bench().arg("--delimited").arg(example("payloads/people.stream")).ok()).unwrap();
    assert!(table.starts_with("hello.Person: time for a message"), "{table}");
    for word in ["jit", "interp", "prost-reflect", "paid after", "decode", "encode", "people.stream"] {
        assert!(table.contains(word), "no {word} in\n{table}");
    }
}

#[test]
fn what_cannot_be_compiled_or_read() {
    let report = json(bench().args(["--engine", "interp"]).arg(example("payloads/person_100.binpb")));
    assert_eq!((&report["fallback"], &report["inputs"][0]["break_even_decode"]), (&"engine-off".into(), &Value::Null));
    let said = bench().arg(example("payloads/bench_mid.binpb")).fails(1);
    assert!(said.contains("bench_mid.binpb: message 1: "), "{said}");
}
