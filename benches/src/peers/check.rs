//! Checks an engine before it is measured.

use super::prost::reference;
use super::{Codec, Skip};
use crate::workloads::Workload;

/// What an engine does otherwise than prost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckError {
    /// It reads something else from this payload.
    Read {
        /// The payload.
        payload: usize,
    },
    /// What it encodes this payload's message to is another message.
    Encode {
        /// The payload.
        payload: usize,
    },
    /// A pass gives something else than its payloads one by one.
    Pass,
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckError::Read { payload } => write!(f, "reads payload {payload} otherwise than prost"),
            CheckError::Encode { payload } => {
                write!(f, "encodes the message of payload {payload} otherwise than prost")
            }
            CheckError::Pass => write!(f, "a pass gives something else than its payloads one by one"),
        }
    }
}

impl std::error::Error for CheckError {}

/// Holds an engine against prost: equal sums for each payload, and bytes that decode to an equal message. With
/// `encode`, which [`Codec::prepare_encode`] must precede, for encoding too.
///
/// # Errors
/// It differs.
///
/// # Panics
/// prost does not know the workload.
pub fn check(workload: &Workload, codec: &mut dyn Codec, encode: bool) -> Result<(), CheckError> {
    let mut expected = match reference(workload) {
        Ok(reference) => reference,
        Err(Skip::Cannot(reason)) => panic!("prost does not know {}: {reason}", workload.message),
        Err(Skip::Same) => unreachable!("prost is there for every workload"),
    };
    let payloads = workload.payloads();
    let mut sums = 0u64;
    let mut lengths = 0;
    for (at, payload) in payloads.iter().enumerate() {
        let sum = codec.checksum(at);
        if sum != expected.checksum(at) {
            return Err(CheckError::Read { payload: at });
        }
        sums = sums.wrapping_add(sum);
        if encode {
            let encoded = codec.encoded(at);
            lengths += encoded.len();
            if !expected.equal(&encoded, payload) {
                return Err(CheckError::Encode { payload: at });
            }
        }
    }
    if codec.decode_and_read_all() != sums || (encode && codec.encode_reused() != lengths) {
        return Err(CheckError::Pass);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::ENGINES;
    use crate::workloads::all;

    #[test]
    fn every_engine_agrees_with_prost_on_every_workload() {
        let mut runs = 0;
        // The longest lists take long and differ from the shorter ones in nothing but their length.
        for workload in all().iter().filter(|workload| !workload.name.contains("/100000")) {
            for engine in &ENGINES {
                let Ok(mut codec) = (engine.make)(workload) else { continue };
                codec.prepare_encode();
                if let Err(error) = check(workload, &mut *codec, true) {
                    panic!("{} on {}: {error}", engine.name, workload.name);
                }
                if codec.reuses() {
                    codec.decode_reused();
                }
                runs += 1;
            }
        }
        assert!(runs >= 300, "{runs}");
    }
}
