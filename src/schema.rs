//! Registered descriptors.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use protojit_core::program::{DecodeOptions, DecodeRef, EncodeOptions, LayoutId, Programs};
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

type TypeKey = (MessageId, LayoutId, DecodeOptions, EncodeOptions);

/// The message types that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Types {
    found: HashMap<TypeKey, (u64, Weak<TypeInner>)>,
    made: u64,
    /// At how many entries those of dropped types are looked for: twice as many as were left the last time.
    full: usize,
}

impl Types {
    /// Those that are there, in the order in which they were made.
    pub(crate) fn live(&self) -> Vec<Arc<TypeInner>> {
        let mut live: Vec<_> = self.found.values().filter_map(|(number, ty)| Some((*number, ty.upgrade()?))).collect();
        live.sort_unstable_by_key(|(number, _)| *number);
        live.into_iter().map(|(_, ty)| ty).collect()
    }

    fn add(&mut self, key: TypeKey, ty: &Arc<TypeInner>) {
        if self.found.len() >= self.full {
            self.found.retain(|_, (_, ty)| ty.strong_count() > 0);
            self.full = (self.found.len() * 2).max(8);
        }
        self.made += 1;
        self.found.insert(key, (self.made, Arc::downgrade(ty)));
    }
}

#[derive(Debug)]
pub(crate) struct SchemaInner {
    // Compiled code goes first when this is dropped; the runtime, which owns the arena, last.
    #[cfg(feature = "jit")]
    pub(crate) decode_code: crate::code_cache::CodeCache<protojit_core::program::DecodeProgram>,
    #[cfg(feature = "jit")]
    pub(crate) encode_code: crate::code_cache::CodeCache<protojit_core::program::EncodeProgram>,
    pub(crate) types: Mutex<Types>,
    pub(crate) programs: Programs,
    pub(crate) descriptors: Descriptors,
    /// Time to parse and link the descriptors.
    pub(crate) register_time: Duration,
    pub(crate) runtime: Runtime,
}

impl Schema {
    pub(crate) fn new(runtime: Runtime, descriptors: Descriptors, register_time: Duration) -> Schema {
        Schema {
            inner: Arc::new(SchemaInner {
                #[cfg(feature = "jit")]
                decode_code: crate::code_cache::CodeCache::sharing(runtime.inner.decode_code.clone()),
                #[cfg(feature = "jit")]
                encode_code: crate::code_cache::CodeCache::sharing(runtime.inner.encode_code.clone()),
                types: Mutex::default(),
                programs: Programs::sharing(descriptors.shared().clone(), runtime.inner.programs.clone()),
                descriptors,
                register_time,
                runtime,
            }),
        }
    }

    pub(crate) fn from_inner(inner: Arc<SchemaInner>) -> Schema {
        Schema { inner }
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

    /// The message types of several full names, in their order. An eager runtime compiles them on several cores at once.
    ///
    /// # Errors
    /// There is no message of one of the names.
    ///
    /// ```
    /// let runtime = protojit::Runtime::new();
    /// let schema = runtime.register(&[])?;
    /// assert!(schema.messages(&[])?.is_empty());
    /// assert!(schema.messages(&["acme.Order"]).is_err());
    /// # Ok::<(), protojit::RegisterError>(())
    /// ```
    pub fn messages(&self, full_names: &[&str]) -> Result<Vec<MessageType>, RegisterError> {
        for name in full_names {
            if self.inner.descriptors.message(name).is_none() {
                return Err(RegisterError::NoMessage(format!("{name:?}")));
            }
        }
        #[cfg(feature = "jit")]
        if self.inner.runtime.inner.options.mode == crate::CompileMode::Eager {
            let next = std::sync::atomic::AtomicUsize::new(0);
            let compile = || {
                let mut types = Vec::new();
                while let Some(name) = full_names.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    types.extend(self.message(name));
                }
                types
            };
            return std::thread::scope(|scope| {
                let more = crate::background::threads().min(full_names.len()).saturating_sub(1);
                // Where no thread can be started this one does all. What they compiled is kept until it is asked for below.
                let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, compile).ok();
                let helpers: Vec<_> = (0..more).filter_map(spawn).collect();
                let own = compile();
                let theirs: Vec<_> = helpers.into_iter().filter_map(|helper| helper.join().ok()).collect();
                let types = full_names.iter().map(|name| self.message(name)).collect();
                drop((own, theirs));
                types
            });
        }
        full_names.iter().map(|name| self.message(name)).collect()
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
        let program = self.inner.programs.decode(descriptor.id(), DecodeOptions::default());
        self.message_type_of(descriptor.id(), program, EncodeOptions::default())
    }

    /// The message type that decodes bytes of this message by a program that was built for it, and encodes what that fills.
    pub(crate) fn message_type_of(&self, message: MessageId, decode: DecodeRef, encode: EncodeOptions) -> MessageType {
        let mut types = self.inner.types.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (message, decode.shape().id, decode.options, encode);
        let found = types.found.get(&key).and_then(|(_, ty)| ty.upgrade()).unwrap_or_else(|| {
            let made = TypeInner::new(self.clone(), message, decode, encode);
            types.add(key, &made);
            made
        });
        drop(types);
        MessageType::compiled_by_mode(found)
    }
}
