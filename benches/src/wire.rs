//! A small wire writer for payloads: what it writes depends on nothing but its calls, unlike messages with hash maps.

/// Writes fields one after the other. As proto3 does, the methods named after types leave zeros and empty values out.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LEN: u64 = 2;
const START_GROUP: u64 = 3;
const END_GROUP: u64 = 4;
const FIXED32: u64 = 5;

impl Writer {
    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// How many bytes were written.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One message's fields after another's.
    pub fn joined(mut first: Writer, second: Writer) -> Writer {
        first.0.extend(second.0);
        first
    }

    /// A varint, without a tag.
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, number: u32, wire_type: u64) {
        self.varint(u64::from(number) << 3 | wire_type);
    }

    /// `int32`, `int64`, or an enum.
    pub fn int(&mut self, number: u32, value: i64) {
        self.uint(number, value as u64);
    }

    /// `uint32`, `uint64` or `bool`.
    pub fn uint(&mut self, number: u32, value: impl Into<u64>) {
        let value = value.into();
        if value != 0 {
            self.tag(number, VARINT);
            self.varint(value);
        }
    }

    /// `sint32` or `sint64`.
    pub fn sint(&mut self, number: u32, value: i64) {
        self.uint(number, zigzag(value));
    }

    /// `fixed32`, `sfixed32` (as bits).
    pub fn fixed32(&mut self, number: u32, value: u32) {
        if value != 0 {
            self.tag(number, FIXED32);
            self.0.extend(value.to_le_bytes());
        }
    }

    /// `fixed64`, `sfixed64` (as bits).
    pub fn fixed64(&mut self, number: u32, value: u64) {
        if value != 0 {
            self.tag(number, FIXED64);
            self.0.extend(value.to_le_bytes());
        }
    }

    /// `float`
    pub fn float(&mut self, number: u32, value: f32) {
        self.fixed32(number, value.to_bits());
    }

    /// `double`
    pub fn double(&mut self, number: u32, value: f64) {
        self.fixed64(number, value.to_bits());
    }

    /// `string` or `bytes`
    pub fn bytes(&mut self, number: u32, value: impl AsRef<[u8]>) {
        if !value.as_ref().is_empty() {
            self.element(number, value);
        }
    }

    /// An element of a list of strings or bytes, written even if it is empty.
    pub fn element(&mut self, number: u32, value: impl AsRef<[u8]>) {
        self.tag(number, LEN);
        self.varint(value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
    }

    /// A message, with its length before it.
    pub fn message(&mut self, number: u32, write: impl FnOnce(&mut Writer)) {
        let mut inner = Writer::default();
        write(&mut inner);
        self.element(number, inner.0);
    }

    /// A group.
    pub fn group(&mut self, number: u32, write: impl FnOnce(&mut Writer)) {
        self.tag(number, START_GROUP);
        write(self);
        self.tag(number, END_GROUP);
    }

    /// A packed list of varints; nothing if it is empty.
    pub fn packed(&mut self, number: u32, values: impl IntoIterator<Item = u64>) {
        let mut inner = Writer::default();
        values.into_iter().for_each(|value| inner.varint(value));
        self.bytes(number, inner.0);
    }
}

/// The zigzag form of a number.
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}
