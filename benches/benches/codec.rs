//! Criterion groups: Person decoded and encoded by protojit, prost and prost-reflect.
#![allow(missing_docs, reason = "the macros of criterion make functions without")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use protojit_benches::peers::{Op, check, engine};
use protojit_benches::workloads::matching;

const ENGINES: [&str; 4] = ["jit", "interp", "prost", "prost-reflect"];

fn group(criterion: &mut Criterion, op: Op) {
    for workload in matching(&["person/".to_owned()]) {
        let mut group = criterion.benchmark_group(format!("{}/{op}", workload.name));
        // An iteration is a pass over all payloads.
        let payloads = workload.payloads();
        group.throughput(Throughput::Bytes(payloads.iter().map(|payload| payload.len() as u64).sum()));
        for name in ENGINES {
            let engine = engine(name).expect("the name of an engine");
            let Ok(mut codec) = (engine.make)(&workload) else { continue };
            codec.prepare_encode();
            check(&workload, &mut *codec, true).expect("every engine agrees with prost");
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| bencher.iter(|| codec.pass(op)));
        }
        group.finish();
    }
}

fn decode(criterion: &mut Criterion) {
    group(criterion, Op::Decode);
}

fn encode(criterion: &mut Criterion) {
    group(criterion, Op::Encode);
}

criterion_group!(codec, decode, encode);
criterion_main!(codec);
