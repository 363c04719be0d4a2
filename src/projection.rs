//! Some fields instead of all, and the records of other versions of a schema.
//!
//! A reader says once what it wants: all fields of a message ([`MessageType::shape`]) or some of them
//! ([`MessageType::project`]). That is a [`Shape`]; it owns the layout in memory, and field handles are made of it.
//! Whatever writes records is then *bound* to the shape ([`MessageType::bind`]): the message that the shape was made
//! of, or the same message in another version of the schema. A bound type decodes bytes of its own schema into the
//! reader's shape, by code compiled for this pair, and what of the two schemas does not fit together is an error
//! before the first record.

use protojit_core::program::{BindError, ProjectError, Rest, Shape};

use crate::message_type::MessageType;

impl MessageType {
    /// The shape of some of this message's fields, those at `paths`. Everything else is skipped when bytes are
    /// decoded into it: its framing is checked, nothing of it is kept.
    ///
    /// The parts of a path are names, JSON names, numbers, or extensions' full names in brackets. A path leads through
    /// messages, lists of messages, and maps to messages (into their values); what it ends at is taken whole. See
    /// [`Programs::project`](protojit_core::program::Programs::project) for oneofs and well-known types.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// use protojit::{Arena, Runtime};
    ///
    /// let person = Runtime::new().register(set)?.message("hello.Person")?;
    /// let shape = person.project(["name", "address.zip", "emails"])?;
    /// let (name, zip, emails) = (shape.str("name")?, shape.i32("address.zip")?, shape.list_str("emails")?);
    ///
    /// let reader = person.bind(&shape)?;
    /// let arena = Arena::new();
    /// let message = reader.decode(b"\x0a\x03Ada\x10\x24\x2a\x0a\x12\x06London\x18\x07", &arena)?;
    /// assert_eq!(message.get(name), "Ada");
    /// assert_eq!(message.get(zip), 7);
    /// assert!(message.get(emails).is_empty());
    /// assert!(message.get_by_name("age").is_none()); // left out, and skipped
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no such field, or a path goes on behind what has no fields.
    pub fn project<S: AsRef<str>>(&self, paths: impl IntoIterator<Item = S>) -> Result<Shape, ProjectError> {
        self.project_with(paths, Rest::Drop)
    }

    /// As [`MessageType::project`]; `rest` says what becomes of the fields that are left out. With [`Rest::Keep`] they
    /// are unknown fields, and encoded again with the others: a proxy reads and changes what it knows, and passes on
    /// the rest without a look.
    ///
    /// ```
    /// # let set = &protojit_source::ProtoSources::new().include("examples").compile(["hello.proto"])?;
    /// use protojit::{Arena, Rest, Runtime};
    ///
    /// let person = Runtime::new().register(set)?.message("hello.Person")?;
    /// let proxy = person.bind(&person.project_with(["name"], Rest::Keep)?)?;
    /// let arena = Arena::new();
    /// let message = proxy.decode(b"\x10\x07\x0a\x03Ada", &arena)?;
    /// assert_eq!(proxy.encode_to_vec(message)?, b"\x0a\x03Ada\x10\x07");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageType::project`].
    pub fn project_with<S: AsRef<str>>(
        &self,
        paths: impl IntoIterator<Item = S>,
        rest: Rest,
    ) -> Result<Shape, ProjectError> {
        self.schema().inner().programs.project(self.inner.message, paths, rest)
    }

    /// This message as the writer of a reader's shape: a type that decodes bytes of this message into that shape, and
    /// encodes messages of the shape.
    ///
    /// Fields go together by number, whatever they are called. Where the types differ the reader's must be wider
    /// (`int32` read as `int64`, `string` as `bytes`, one value as a list). A field that only the reader has is never
    /// set; one that only the writer has is an unknown field, kept or dropped as for any type. Encoding writes the
    /// fields as the reader's schema declares them.
    ///
    /// ```
    /// # let old = b"\x0a\x1b\x0a\x01f\x22\x0e\x0a\x01P\x12\x09\x0a\x01n\x18\x01 \x01(\x05b\x06proto3";
    /// # let new = b"\x0a\x1e\x0a\x01f\x22\x11\x0a\x01P\x12\x0c\x0a\x04size\x18\x01 \x01(\x03b\x06proto3";
    /// use protojit::{Arena, Runtime};
    ///
    /// let runtime = Runtime::new();
    /// // Old: message P { int32 n = 1; }   New: message P { int64 size = 1; }
    /// let (old, new) = (runtime.register(old)?.message("P")?, runtime.register(new)?.message("P")?);
    /// let size = new.shape().i64("size")?;
    ///
    /// let (of_old, of_new) = (old.bind(new.shape())?, new.bind(new.shape())?);
    /// let arena = Arena::new();
    /// for writer in [&of_old, &of_new] {
    ///     assert_eq!(writer.decode(b"\x08\x2a", &arena)?.get(size), 42);
    /// }
    ///
    /// let error = new.bind(old.shape()).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "P does not fit the reader's shape: P.n (number 1) is int64, which cannot be read as int32"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The types of some fields do not go together, or the reader requires a field that the writer does not know.
    pub fn bind(&self, shape: &Shape) -> Result<MessageType, BindError> {
        let program = &self.inner.decode.program;
        let message = self.inner.message;
        let bound = self.schema().inner().programs.bind(message, shape, program.options)?;
        Ok(self.schema().message_type_of(message, bound, self.inner.encode_options))
    }
}
