//! Equality. Without recursion: messages may be nested as deep as they like.

use super::{ListRef, MapRef, MessageRef, ValueRef};

/// How floats compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Floats {
    Numbers,
    Bits,
}

/// Equal layouts, the same fields set to equal values, maps in any order, equal bytes of unknown fields. Floats compare
/// as numbers do: NaN is not equal to itself, 0 is to -0 (where the field tracks presence: there an implicit
/// -0 is set and an implicit 0 is not). [`MessageRef::same_as`] compares their bits.
impl PartialEq for MessageRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        Comparison::new(Floats::Numbers).messages(*self, *other)
    }
}

impl<'a> MessageRef<'a> {
    /// As `==`, but floats are equal when their bits are: NaN to itself, and 0 not to -0.
    pub fn same_as(self, other: MessageRef<'_>) -> bool {
        Comparison::new(Floats::Bits).messages(self, other)
    }
}

/// As that of [`MessageRef`]: element by element.
impl PartialEq for ListRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        let mut comparison = Comparison::new(Floats::Numbers);
        comparison.lists(*self, *other) && comparison.finish()
    }
}

/// As that of [`MessageRef`]: the same keys with equal values, in any order.
impl PartialEq for MapRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        let mut comparison = Comparison::new(Floats::Numbers);
        comparison.maps(*self, *other) && comparison.finish()
    }
}

struct Comparison<'a, 'b> {
    floats: Floats,
    /// Pairs that are still to be compared.
    work: Vec<(MessageRef<'a>, MessageRef<'b>)>,
}

impl<'a, 'b> Comparison<'a, 'b> {
    fn new(floats: Floats) -> Self {
        Comparison { floats, work: Vec::new() }
    }

    fn messages(mut self, a: MessageRef<'a>, b: MessageRef<'b>) -> bool {
        self.work.push((a, b));
        self.finish()
    }

    /// Compares what is left.
    fn finish(&mut self) -> bool {
        while let Some((a, b)) = self.work.pop() {
            if !self.fields(a, b) {
                return false;
            }
        }
        true
    }

    fn fields(&mut self, a: MessageRef<'a>, b: MessageRef<'b>) -> bool {
        if a.layout().id != b.layout().id || a.unknown_fields() != b.unknown_fields() {
            return false;
        }
        if a.as_ptr() == b.as_ptr() && self.floats == Floats::Bits {
            return true;
        }
        a.layout().fields.iter().all(|slot| match (a.get_set(slot), b.get_set(slot)) {
            (None, None) => true,
            (Some(a), Some(b)) => self.values(a, b),
            _ => false,
        })
    }

    fn values(&mut self, a: ValueRef<'a>, b: ValueRef<'b>) -> bool {
        let bits = self.floats == Floats::Bits;
        match (a, b) {
            (ValueRef::Bool(a), ValueRef::Bool(b)) => a == b,
            (ValueRef::I32(a), ValueRef::I32(b)) | (ValueRef::Enum(a), ValueRef::Enum(b)) => a == b,
            (ValueRef::I64(a), ValueRef::I64(b)) => a == b,
            (ValueRef::U32(a), ValueRef::U32(b)) => a == b,
            (ValueRef::U64(a), ValueRef::U64(b)) => a == b,
            (ValueRef::F32(a), ValueRef::F32(b)) if bits => a.to_bits() == b.to_bits(),
            (ValueRef::F64(a), ValueRef::F64(b)) if bits => a.to_bits() == b.to_bits(),
            (ValueRef::F32(a), ValueRef::F32(b)) => a == b,
            (ValueRef::F64(a), ValueRef::F64(b)) => a == b,
            (ValueRef::Str(a), ValueRef::Str(b)) => a == b,
            (ValueRef::Bytes(a), ValueRef::Bytes(b)) => a == b,
            (ValueRef::List(a), ValueRef::List(b)) => self.lists(a, b),
            (ValueRef::Map(a), ValueRef::Map(b)) => self.maps(a, b),
            (ValueRef::Message(a), ValueRef::Message(b)) => {
                self.work.push((a, b));
                true
            }
            _ => false,
        }
    }

    fn lists(&mut self, a: ListRef<'a>, b: ListRef<'b>) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.values(a, b))
    }

    fn maps(&mut self, a: MapRef<'a>, b: MapRef<'b>) -> bool {
        a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| self.values(a, b)))
    }
}
