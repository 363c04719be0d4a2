//! Descriptors by hand: what no compiler would write, and editions.

use protojit_core::schema::{Schema, SchemaError, SchemaErrorKind, SchemaLimits};

/// A message under construction, in its wire format.
#[derive(Clone, Default)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    fn uint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn int(mut self, number: u32, value: i64) -> Self {
        self.uint(u64::from(number) << 3);
        self.uint(value as u64);
        self
    }

    pub fn bytes(mut self, number: u32, value: impl AsRef<[u8]>) -> Self {
        self.uint(u64::from(number) << 3 | 2);
        self.uint(value.as_ref().len() as u64);
        self.0.extend_from_slice(value.as_ref());
        self
    }
}

impl AsRef<[u8]> for Raw {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub fn raw() -> Raw {
    Raw::default()
}

/// A `FileDescriptorProto`, in package `p`.
pub fn file(name: &str) -> Raw {
    raw().bytes(1, name).bytes(2, "p")
}

pub fn proto3(name: &str) -> Raw {
    file(name).bytes(12, "proto3")
}

pub fn edition(name: &str, edition: i64) -> Raw {
    file(name).bytes(12, "editions").int(14, edition)
}

pub fn message(name: &str) -> Raw {
    raw().bytes(1, name)
}

/// An optional field.
pub fn field(name: &str, number: i64, kind: i64) -> Raw {
    raw().bytes(1, name).int(3, number).int(4, 1).int(5, kind)
}

pub fn repeated(name: &str, number: i64, kind: i64) -> Raw {
    raw().bytes(1, name).int(3, number).int(4, 3).int(5, kind)
}

pub fn enum_(name: &str, values: &[(&str, i64)]) -> Raw {
    values
        .iter()
        .fold(raw().bytes(1, name), |raw_enum, (name, number)| raw_enum.bytes(2, raw().bytes(1, name).int(2, *number)))
}

pub fn range(start: i64, end: i64) -> Raw {
    raw().int(1, start).int(2, end)
}

/// A `FeatureSet`.
pub fn features(features: &[(u32, i64)]) -> Raw {
    features.iter().fold(raw(), |set, &(number, value)| set.int(number, value))
}

pub fn set(files: &[Raw]) -> Vec<u8> {
    files.iter().fold(raw(), |set, file| set.bytes(1, file)).0
}

pub fn link(files: &[Raw]) -> Result<Schema, SchemaError> {
    Schema::from_descriptor_set(set(files))
}

pub fn link_with(files: &[Raw], change: impl FnOnce(&mut SchemaLimits)) -> Result<Schema, SchemaError> {
    let mut limits = SchemaLimits::default();
    change(&mut limits);
    Schema::from_descriptor_set_with(set(files), &limits)
}

/// The error of linking these, whole and by kind.
pub fn refuse(files: &[Raw]) -> (String, SchemaErrorKind) {
    let error = link(files).expect_err("this must not link");
    (error.to_string(), error.kind().clone())
}

pub const INT32: i64 = 5;
pub const STRING: i64 = 9;
pub const GROUP: i64 = 10;
pub const MESSAGE: i64 = 11;
pub const ENUM: i64 = 14;
