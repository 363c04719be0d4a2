//! `.proto` text to descriptor sets.
//!
//! [`ProtoSources`] says where `.proto` files are found: in memory, in directories, by asking a closure, in descriptor
//! sets. [`ProtoSources::compile`] makes a serialized `google.protobuf.FileDescriptorSet` of them, with all they
//! import, which is what `protojit::Runtime::register` takes. Google's own files (`google/protobuf/*.proto`) are built
//! in.
//!
//! proto2 and proto3 are compiled in this process. Files that use editions (`edition = "2023";`) are compiled by the
//! `protoc` that the environment variable `PROTOC` names or that is found on the `PATH`; without one, the error says
//! so. Nothing else of a compilation depends on the environment.
//!
//! ```
//! use protojit_source::ProtoSources;
//!
//! let set = ProtoSources::new()
//!     .file("acme/order.proto", r#"syntax = "proto3"; package acme; import "acme/money.proto";
//!                                  message Order { Money total = 1; }"#)
//!     .resolver(|import| match import {
//!         "acme/money.proto" => Some(r#"syntax = "proto3"; package acme; message Money { int64 cents = 1; }"#.into()),
//!         _ => None,
//!     })
//!     .compile(["acme/order.proto"])?;
//! assert!(!set.is_empty());
//! # Ok::<(), protojit_source::SourceError>(())
//! ```

mod error;
mod google;
mod protoc;
mod resolve;
mod scan;
mod sources;

pub use error::{SourceError, SourceErrorKind};
pub use google::{GOOGLE_FILES, google_file};
pub use sources::ProtoSources;
