//! What is decoded and encoded.
//!
//! A workload is a message type and a set of payloads: sixteen of them at least, sixty-four where they are small, since
//! one repeated payload flatters branch prediction. A pass takes each of them once, in turn. Payloads come from
//! generators with a fixed seed: the same bytes in every run.

mod numbers;
mod people;
mod records;
mod text;
mod traces;
mod trees;
mod unknown;

use std::sync::OnceLock;

use crate::rng::Rng;

/// The serialized descriptor set of all schemas here.
pub static DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.binpb"));

/// Makes a payload.
type Make = Box<dyn Fn(&mut Rng) -> Vec<u8> + Send + Sync>;

/// One workload.
pub struct Workload {
    /// Its name, such as `person/1KB`.
    pub name: String,
    /// Full name of the message type.
    pub message: &'static str,
    /// Whether a part of the input is unknown to the message type, so that what becomes of it is a choice.
    pub has_unknown: bool,
    variants: usize,
    make: Make,
    payloads: OnceLock<&'static [Vec<u8>]>,
}

/// The least number of payloads of a workload.
pub const LEAST_VARIANTS: usize = 16;
/// The number of payloads of a workload of small messages: together they stay in the second-level cache.
pub const SMALL_VARIANTS: usize = 64;

impl Workload {
    fn new(
        name: impl Into<String>,
        message: &'static str,
        variants: usize,
        make: impl Fn(&mut Rng) -> Vec<u8> + Send + Sync + 'static,
    ) -> Workload {
        Workload {
            name: name.into(),
            message,
            has_unknown: false,
            variants,
            make: Box::new(make),
            payloads: OnceLock::new(),
        }
    }

    /// The payloads. They are made on first use and stay for the rest of the process: views borrow them.
    pub fn payloads(&self) -> &'static [Vec<u8>] {
        self.payloads.get_or_init(|| {
            let made = (0..self.variants).map(|variant| (self.make)(&mut Rng::of(&self.name, variant)));
            made.collect::<Vec<_>>().leak()
        })
    }

    /// Mean bytes of a payload.
    pub fn wire_bytes(&self) -> f64 {
        let payloads = self.payloads();
        payloads.iter().map(Vec::len).sum::<usize>() as f64 / payloads.len() as f64
    }
}

/// All workloads, in the order of the table.
pub fn all() -> Vec<Workload> {
    let mut all = people::workloads();
    all.extend(numbers::workloads());
    all.extend(records::maps());
    all.extend(trees::workloads());
    all.extend(records::workloads());
    all.extend(traces::workloads());
    all.extend(unknown::workloads());
    all.extend(text::workloads());
    all
}

/// The workloads whose names contain one of these, all where there are none.
pub fn matching(filters: &[String]) -> Vec<Workload> {
    let wanted = |workload: &Workload| filters.iter().any(|filter| workload.name.contains(filter.as_str()));
    all().into_iter().filter(|workload| filters.is_empty() || wanted(workload)).collect()
}

#[cfg(test)]
mod tests {
    use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage};

    use super::*;

    /// Whether a message, or one in it, has unknown fields.
    fn has_unknown(message: &DynamicMessage) -> bool {
        fn in_value(value: &prost_reflect::Value) -> bool {
            match value {
                prost_reflect::Value::Message(message) => has_unknown(message),
                prost_reflect::Value::List(list) => list.iter().any(in_value),
                prost_reflect::Value::Map(map) => map.values().any(in_value),
                _ => false,
            }
        }
        message.unknown_fields().next().is_some() || message.fields().any(|(_, value)| in_value(value))
    }

    #[test]
    fn payloads_are_what_their_schema_says() {
        let pool = DescriptorPool::decode(DESCRIPTOR_SET).unwrap();
        for workload in all() {
            let payloads = workload.payloads();
            assert!(payloads.len() >= LEAST_VARIANTS, "{}", workload.name);
            let distinct: std::collections::HashSet<_> = payloads.iter().collect();
            assert!(distinct.len() * 10 >= payloads.len() * 9, "{} repeats payloads", workload.name);
            let message = pool.get_message_by_name(workload.message).unwrap();
            for payload in payloads.iter().take(4) {
                let decoded = DynamicMessage::decode(message.clone(), payload.as_slice()).unwrap();
                assert_eq!(has_unknown(&decoded), workload.has_unknown, "{}", workload.name);
                let again = prost::Message::encode_to_vec(&decoded);
                assert_eq!(again.len(), payload.len(), "{} of {}", workload.name, decoded.descriptor().full_name());
            }
        }
    }

    #[test]
    fn sizes_are_what_names_say() {
        for workload in all() {
            let Some(size) = workload.name.split('/').nth(1) else { continue };
            let wanted = match size {
                "10B" => 10.0,
                "30B" => 30.0,
                "100B" => 100.0,
                "1KB" => 1_000.0,
                "10KB" => 10_000.0,
                "100KB" => 100_000.0,
                "1MB" => 1_000_000.0,
                _ => continue,
            };
            let ratio = workload.wire_bytes() / wanted;
            assert!((0.85..1.15).contains(&ratio), "{}: {} bytes", workload.name, workload.wire_bytes());
        }
    }
}
