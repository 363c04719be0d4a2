//! Benchmarks of protojit beside its peers.
//!
//! * [`workloads`]: what is decoded and encoded: at least sixteen different payloads each, taken in turn, made from a
//!   fixed seed;
//! * [`peers`]: who decodes and encodes it, behind the trait [`Codec`](peers::Codec), checked against prost before
//!   anything is measured;
//! * [`measure`]: all engines interleaved in one run, medians over rounds;
//! * [`report`]: the table and the JSON.
//!
//! The binary `table` prints the table, `once` runs one workload on one engine for instruction counts, and `cargo bench`
//! has the criterion groups.

pub mod generated;
pub mod measure;
pub mod peers;
pub mod read;
pub mod report;
pub mod rng;
pub mod wire;
pub mod workloads;
