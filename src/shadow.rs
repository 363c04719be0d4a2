//! Shadow mode: the engines held against each other while a program is at work.
//!
//! One record in so many that compiled code serves goes through the interpreter as well. What the two make of it is
//! compared as bytes: the decoded message written by the interpreter with its maps sorted, or the encoded message.
//! A record that they do not agree about is counted in the trace, logged, and handed to a hook with all that is needed to see the
//! same again. So is a record that compiled code refuses and the interpreter does not, whether it was sampled or not.
//!
//! The caller gets what compiled code made of the record. Merges into an existing message are not sampled.

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use crate::trace::Direction;

/// A record that the engines disagree about: a fault of this library. See
/// [`RuntimeBuilder::on_disagreement`](crate::RuntimeBuilder::on_disagreement).
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Disagreement {
    /// Full name of the message.
    pub message: String,
    /// Decode or encode.
    pub direction: Direction,
    /// The options, by the words of [`ProgramTrace::options`](crate::ProgramTrace::options).
    pub options: Vec<&'static str>,
    /// The serialized `FileDescriptorSet` of the schema.
    pub descriptor_set: Vec<u8>,
    /// Decode: the bytes that were decoded. Encode: the message, as the interpreter writes it.
    pub input: Vec<u8>,
    /// What compiled code made of it: bytes (of a decoded message, those that it is encoded to), or the error.
    pub compiled: Result<Vec<u8>, String>,
    /// What the interpreter made of it.
    pub interpreted: Result<Vec<u8>, String>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = if self.direction == Direction::Decode { "decode" } else { "encode" };
        write!(f, "the engines disagree about the {way} of a {} of {} bytes: ", self.message, self.input.len())?;
        match (&self.compiled, &self.interpreted) {
            (Ok(_), Ok(_)) => f.write_str("the results differ"),
            (Err(error), _) => write!(f, "compiled code alone says {error:?}"),
            (_, Err(error)) => write!(f, "the interpreter alone says {error:?}"),
        }
    }
}

/// What a program wants done about a disagreement.
#[derive(Clone)]
pub(crate) struct Hook(
    #[cfg_attr(not(feature = "jit"), expect(dead_code, reason = "one engine agrees with itself"))]
    pub  Arc<dyn Fn(&Disagreement) + Send + Sync>,
);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// Whether this record is one of those sampled, by chance: a count could keep step with what the program does.
#[cfg_attr(not(feature = "jit"), expect(dead_code, reason = "there is nothing to compare with"))]
pub(crate) fn is_due(one_in: u32) -> bool {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1);
    }
    // The thread may be ending.
    let drawn = STATE.try_with(|state| {
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    });
    // The product is evenly distributed over as many values as there are; the high half of it is the draw.
    one_in != 0 && (drawn.unwrap_or(1) * u64::from(one_in)) >> 32 == 0
}

#[cfg(feature = "jit")]
mod compare {
    use std::ptr::NonNull;
    use std::sync::atomic::Ordering;

    use protojit_core::error::{DecodeError, DecodeErrorKind};
    use protojit_core::memory::Arena;
    use protojit_core::program::{EncodeOptions, EncodeProgram};
    use protojit_interp::decode::{self, DISAGREEMENTS, Input};
    use protojit_interp::encode::{self, EncodeBuffer, Framing, Target};

    use super::{Disagreement, is_due};
    use crate::coder::Side;
    use crate::counts::Event;
    use crate::message_type::MessageType;
    use crate::trace::Direction;

    /// A record and what came of it on both engines.
    struct Case {
        input: Vec<u8>,
        compiled: Result<Vec<u8>, String>,
        interpreted: Result<Vec<u8>, String>,
    }

    /// What compiled code says of what it refuses: nothing.
    fn refused() -> Result<Vec<u8>, String> {
        Err("refused, without a reason that the interpreter confirms".to_owned())
    }

    impl MessageType {
        /// After a decode that compiled code refused and the interpreter did not. The driver has counted it.
        pub(crate) fn refused_decode(&self, input: &[u8]) {
            let interpreted = self.decoded_again(input).unwrap_or_else(|error| Err(error.to_string()));
            self.report(Direction::Decode, Case { input: input.to_vec(), compiled: refused(), interpreted });
        }

        /// After a decode by compiled code: compares where that is due.
        pub(crate) fn shadow_decode(&self, input: &[u8], root: NonNull<u8>) {
            if !is_due(self.one_in()) {
                return;
            }
            self.inner.shadowed[0].fetch_add(1, Ordering::Relaxed);
            // SAFETY: the message was decoded just now, in this type's layout.
            let compiled = unsafe { self.canonical(root) };
            // The scratch memory is no measure of what the caller allows.
            let Ok(interpreted) = self.decoded_again(input) else { return };
            if compiled != interpreted {
                self.inner.decode_counts[DISAGREEMENTS].fetch_add(1, Ordering::Relaxed);
                self.report(Direction::Decode, Case { input: input.to_vec(), compiled, interpreted });
            }
        }

        /// What the interpreter makes of these bytes; an error only where memory is short.
        fn decoded_again(&self, input: &[u8]) -> Result<Result<Vec<u8>, String>, DecodeError> {
            let arena = Arena::with_limit(usize::MAX);
            let limits = &self.schema().runtime().inner.options.limits;
            match decode::decode(&self.inner.decode.program, input, &arena, limits, Input::Copy) {
                // SAFETY: the message was decoded just now, in this type's layout.
                Ok(root) => Ok(unsafe { self.canonical(root) }),
                Err(error) if error.kind() == DecodeErrorKind::MemoryLimit => Err(error),
                Err(error) => Ok(Err(error.to_string())),
            }
        }

        /// A message as bytes that are equal for equal messages.
        ///
        /// # Safety
        /// A live message of this type's layout.
        unsafe fn canonical(&self, root: NonNull<u8>) -> Result<Vec<u8>, String> {
            let options = EncodeOptions { deterministic: true, check_required: false };
            let schema = self.schema().inner();
            let program = schema.programs.encode_shape(self.shape(), options);
            let mut out = Vec::new();
            // SAFETY: as promised to this function; the program is one for this layout.
            let written =
                unsafe { encode::append(&program, root.as_ptr(), &mut out, &schema.runtime.inner.options.limits) };
            written.map(|bytes| bytes.to_vec()).map_err(|error| error.to_string())
        }

        /// After an encode that compiled code refused and the interpreter did not.
        ///
        /// # Safety
        /// `message` is a live message of this type's layout.
        #[cold]
        pub(crate) unsafe fn refused_encode(&self, program: &EncodeProgram, message: *const u8, framing: Framing) {
            self.inner.encode_counts.count(Event::Disagreement);
            // SAFETY: as promised to this function.
            let interpreted = unsafe { self.encoded_again(program, message, framing) };
            let input = interpreted.clone().unwrap_or_default();
            self.report(Direction::Encode, Case { input, compiled: refused(), interpreted });
        }

        /// After an encode by compiled code: compares where that is due.
        ///
        /// # Safety
        /// As [`MessageType::refused_encode`].
        pub(crate) unsafe fn shadow_encode(
            &self,
            program: &EncodeProgram,
            message: *const u8,
            framing: Framing,
            compiled: &[u8],
        ) {
            if !is_due(self.one_in()) {
                return;
            }
            self.inner.shadowed[1].fetch_add(1, Ordering::Relaxed);
            // SAFETY: as promised to this function.
            let interpreted = unsafe { self.encoded_again(program, message, framing) };
            if interpreted.as_deref() != Ok(compiled) {
                self.inner.encode_counts.count(Event::Disagreement);
                let input = interpreted.clone().unwrap_or_default();
                self.report(Direction::Encode, Case { input, compiled: Ok(compiled.to_vec()), interpreted });
            }
        }

        /// What the interpreter writes.
        ///
        /// # Safety
        /// As [`MessageType::refused_encode`].
        unsafe fn encoded_again(
            &self,
            program: &EncodeProgram,
            message: *const u8,
            framing: Framing,
        ) -> Result<Vec<u8>, String> {
            let limits = &self.schema().runtime().inner.options.limits;
            let mut buffer = EncodeBuffer::new();
            // SAFETY: as promised to this function.
            let again =
                unsafe { encode::encode_framed(program, message, Target::Buffer(&mut buffer), framing, limits) };
            again.map(|bytes| bytes.to_vec()).map_err(|error| error.to_string())
        }

        fn one_in(&self) -> u32 {
            self.schema().runtime().inner.options.shadow
        }

        fn report(&self, direction: Direction, case: Case) {
            let Case { input, compiled, interpreted } = case;
            let inner = &self.inner;
            let found = Disagreement {
                message: self.full_name().to_owned(),
                direction,
                options: match direction {
                    Direction::Decode => Side::options(&*inner.decode.program),
                    Direction::Encode => Side::options(&*inner.encode().program),
                },
                descriptor_set: self.schema().descriptor_set().to_vec(),
                input,
                compiled,
                interpreted,
            };
            tracing::error!(message = found.message, ?direction, "{found}");
            if let Some(hook) = &self.schema().runtime().inner.options.on_disagreement {
                (hook.0)(&found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_due;

    #[test]
    fn one_in_so_many() {
        assert!((0..1000).all(|_| is_due(1)));
        assert!((0..1000).all(|_| !is_due(0)));
        let due = (0..100_000).filter(|_| is_due(10)).count();
        assert!((9_000..11_000).contains(&due), "{due}");
    }
}
