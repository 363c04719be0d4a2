//! Registered descriptors.

use std::sync::{Arc, Mutex, PoisonError};

use protojit_core::program::{DecodeOptions, EncodeOptions, Programs};
use protojit_core::schema::model::MessageId;
use protojit_core::schema::{MessageDescriptor, Schema as Descriptors, SchemaError};

use crate::message_type::{MessageType, TypeInner};
use crate::runtime::Runtime;

/// Descriptors that could not be registered, or a message that is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The descriptors are not valid.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The schema has no message of this name or index path.
    #[error("the schema has no message {0}")]
    NoMessage(String),
}

/// One linked, immutable set of descriptors with its programs and compiled code. Its own namespace; cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    inner: Arc<SchemaInner>,
}

#[derive(Debug)]
pub(crate) struct SchemaInner {
    // Compiled code goes first when this is dropped; the runtime, which owns the arena, last.
    #[cfg(feature = "jit")]
    pub(crate) decode_code: crate::trace::CodeCache<protojit_core::program::DecodeProgram>,
    #[cfg(feature = "jit")]
    pub(crate) encode_code: crate::trace::CodeCache<protojit_core::program::EncodeProgram>,
    pub(crate) types: Mutex<Vec<std::sync::Weak<TypeInner>>>,
    pub(crate) programs: Programs,
    pub(crate) descriptors: Descriptors,
    pub(crate) runtime: Runtime,
}

impl Schema {
    pub(crate) fn new(runtime: Runtime, descriptors: Descriptors) -> Schema {
        Schema {
            inner: Arc::new(SchemaInner {
                #[cfg(feature = "jit")]
                decode_code: Default::default(),
                #[cfg(feature = "jit")]
                encode_code: Default::default(),
                types: Mutex::default(),
                programs: Programs::new(descriptors.shared().clone()),
                descriptors,
                runtime,
            }),
        }
    }

    pub(crate) fn inner(&self) -> &Arc<SchemaInner> {
        &self.inner
    }

    /// The descriptors: files, messages, enums, services, options.
    pub fn descriptors(&self) -> &Descriptors {
        &self.inner.descriptors
    }

    /// The runtime it is registered with.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// The message type of this full name, such as `hello.Person`, compiled as the runtime's
    /// [`CompileMode`](crate::CompileMode) says.
    ///
    /// # Errors
    /// There is no such message.
    pub fn message(&self, full_name: &str) -> Result<MessageType, RegisterError> {
        let found = self.inner.descriptors.message(full_name);
        let descriptor = found.ok_or_else(|| RegisterError::NoMessage(format!("{full_name:?}")))?;
        Ok(self.message_type(&descriptor))
    }

    /// The message type at an index path in the last file of the set, as schema registries send it: `[1, 0]` is the
    /// first message nested in the second.
    ///
    /// # Errors
    /// There is no such message.
    pub fn message_at(&self, path: &[u32]) -> Result<MessageType, RegisterError> {
        let found = self.inner.descriptors.message_at(path);
        let descriptor = found.ok_or_else(|| RegisterError::NoMessage(format!("at {path:?}")))?;
        Ok(self.message_type(&descriptor))
    }

    /// The message type of a descriptor of this schema.
    pub fn message_type(&self, descriptor: &MessageDescriptor) -> MessageType {
        self.message_type_by_id(descriptor.id(), DecodeOptions::default(), EncodeOptions::default())
    }

    pub(crate) fn message_type_by_id(
        &self,
        message: MessageId,
        decode: DecodeOptions,
        encode: EncodeOptions,
    ) -> MessageType {
        let mut types = self.inner.types.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |found: &Arc<TypeInner>| found.is(message, decode, encode);
        if let Some(found) = types.iter().filter_map(std::sync::Weak::upgrade).find(same) {
            return MessageType::from_inner(found);
        }
        types.retain(|found| found.strong_count() > 0);
        let made = TypeInner::new(self.clone(), message, decode, encode);
        types.push(Arc::downgrade(&made));
        drop(types);
        MessageType::compiled_by_mode(made)
    }
}
