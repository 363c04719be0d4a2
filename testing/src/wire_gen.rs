//! Wire bytes for a message: valid, but in every form that the specification allows.

use protojit_core::schema::model::{EnumId, FieldDef, FieldKind, MessageId, Presence, SchemaData};
use protojit_core::wire::{MAX_VARINT_LEN, WireType, push_varint, tag, zigzag};

use crate::rng::Rng;

/// What the generator does, in percent of the occasions.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Varints, tags and lengths longer than needed.
    pub overlong: u32,
    /// Fields out of the order of their numbers.
    pub shuffled: u32,
    /// Unknown fields, also groups in groups.
    pub unknown: u32,
    /// Known numbers with another wire type.
    pub wrong_type: u32,
    /// Packed lists unpacked and the reverse, in pieces.
    pub repacked: u32,
    /// Singular fields more than once: scalars replace, messages merge.
    pub again: u32,
    /// Map entries without key or value, with both twice, in the wrong order, with other fields.
    pub odd_entries: u32,
    /// Numbers that their enum does not declare.
    pub undeclared: u32,
    /// Strings that are not UTF-8, where that is allowed or not.
    pub not_utf8: u32,
    /// Required fields left out.
    pub missing: u32,
}

impl Style {
    /// As an encoder would write it.
    pub const PLAIN: Style = Style {
        overlong: 0,
        shuffled: 0,
        unknown: 0,
        wrong_type: 0,
        repacked: 0,
        again: 0,
        odd_entries: 0,
        undeclared: 0,
        not_utf8: 0,
        missing: 0,
    };
    /// Everything that may come, and often.
    pub const ODD: Style = Style {
        overlong: 8,
        shuffled: 50,
        unknown: 8,
        wrong_type: 4,
        repacked: 40,
        again: 15,
        odd_entries: 30,
        undeclared: 15,
        not_utf8: 1,
        missing: 3,
    };
    /// Fields in order, with a few surprises between them: what a fast path leaves and comes back to.
    pub const MIXED: Style = Style {
        overlong: 3,
        shuffled: 5,
        unknown: 3,
        wrong_type: 1,
        repacked: 10,
        again: 5,
        odd_entries: 5,
        undeclared: 5,
        not_utf8: 0,
        missing: 0,
    };
}

/// Writes messages of one schema.
pub struct WireGen<'s> {
    data: &'s SchemaData,
    style: Style,
    rng: Rng,
    /// Fields that may still be written: messages refer to themselves.
    budget: usize,
    fields: Vec<Option<Vec<&'s FieldDef>>>,
}

impl<'s> WireGen<'s> {
    /// A generator of messages of this schema.
    pub fn new(data: &'s SchemaData, rng: Rng) -> WireGen<'s> {
        let fields = data.messages.iter().map(|_| None).collect();
        WireGen { data, style: Style::PLAIN, rng, budget: 0, fields }
    }

    /// A message of at most about `budget` fields, all levels counted.
    pub fn message(&mut self, id: MessageId, style: Style, budget: usize) -> Vec<u8> {
        (self.style, self.budget) = (style, budget);
        let mut out = Vec::new();
        self.fields(id, 0, &mut out);
        out
    }

    /// A message with this field alone, by its position in the order of numbers, as an encoder would write it; with the required
    /// ones besides.
    pub fn single(&mut self, id: MessageId, field: usize) -> Vec<u8> {
        (self.style, self.budget) = (Style::PLAIN, 12);
        let mut fields = self.fields_of(id);
        let number = fields[field].number;
        fields.retain(|field| field.number == number || field.presence == Presence::Required);
        let mut out = Vec::new();
        for field in fields {
            if self.data.message(id).is_message_set {
                self.item(field, b"23", 0, &mut out);
            } else {
                self.field(field, 0, &mut out);
            }
        }
        out
    }

    /// A field of a number that the message may or may not have, with any content.
    pub fn unknown_field(&mut self, style: Style) -> Vec<u8> {
        (self.style, self.budget) = (style, 8);
        let number = self.any_number();
        let mut out = Vec::new();
        self.unknown(number, 0, &mut out);
        out
    }

    fn fields_of(&mut self, id: MessageId) -> Vec<&'s FieldDef> {
        let data = self.data;
        let cached = &mut self.fields[id.index()];
        cached.get_or_insert_with(|| data.fields_of(id).into_iter().map(|(_, field)| field).collect()).clone()
    }

    fn fields(&mut self, id: MessageId, depth: u32, out: &mut Vec<u8>) {
        if self.data.message(id).is_message_set {
            return self.message_set(id, depth, out);
        }
        let all = self.fields_of(id);
        let most = (self.budget / 2).clamp(1, 24);
        let count = if depth > 40 { 0 } else { self.rng.below(most + 1) };
        let mut picks: Vec<&FieldDef> = Vec::new();
        if !all.is_empty() {
            // Neighbours often: runs that a decoder predicts.
            let mut at = self.rng.below(all.len());
            for _ in 0..count {
                at = if self.rng.chance(60) { (at + 1) % all.len() } else { self.rng.below(all.len()) };
                picks.push(all[at]);
            }
        }
        for field in &all {
            let required =
                field.presence == Presence::Required && !picks.iter().any(|other| other.number == field.number);
            // A message that requires itself never ends well.
            let goes_on = self.budget > 0 || depth < 6 || !matches!(field.kind, FieldKind::Message(_));
            if required && goes_on && !self.rng.chance(self.style.missing) {
                picks.push(field);
            }
        }
        if !self.rng.chance(self.style.shuffled) {
            picks.sort_by_key(|field| field.number);
        }
        self.budget = self.budget.saturating_sub(picks.len());
        for field in picks {
            if self.rng.chance(self.style.unknown) {
                let number = self.any_number();
                self.unknown(number, depth, out);
            }
            if self.rng.chance(self.style.wrong_type) {
                self.unknown(field.number, depth, out);
            }
            self.field(field, depth, out);
            if self.rng.chance(self.style.again) {
                self.field(field, depth, out);
            }
        }
    }

    fn field(&mut self, field: &'s FieldDef, depth: u32, out: &mut Vec<u8>) {
        if field.is_map {
            let few = self.rng.below(3);
            return (0..=few).for_each(|_| self.entry(field, depth, out));
        }
        if field.presence != Presence::Repeated {
            return self.tagged(field, depth, out);
        }
        let count = match self.rng.below(20) {
            0 => 0,
            1 => self.rng.below(70),
            2..8 => 1,
            _ => self.rng.below(6),
        };
        if !field.kind.is_packable() {
            let most = if self.budget == 0 { 1 } else { count };
            return (0..most).for_each(|_| self.tagged(field, depth, out));
        }
        let mut left = count;
        let pieces = self.rng.chance(self.style.repacked);
        loop {
            let now = if pieces { self.rng.below(left + 1) } else { left };
            left -= now;
            if field.packed != self.rng.chance(self.style.repacked) {
                let mut packed = Vec::new();
                (0..now).for_each(|_| self.scalar(field.kind, &mut packed));
                self.tag(field.number, WireType::Len, out);
                self.bytes(&packed, out);
            } else {
                for _ in 0..now {
                    self.tagged(field, depth, out);
                }
            }
            if left == 0 || !pieces {
                break;
            }
        }
    }

    /// One value with its tag.
    fn tagged(&mut self, field: &'s FieldDef, depth: u32, out: &mut Vec<u8>) {
        match field.kind {
            FieldKind::Message(id) if field.delimited => {
                self.tag(field.number, WireType::StartGroup, out);
                self.fields(id, depth + 1, out);
                self.tag(field.number, WireType::EndGroup, out);
            }
            FieldKind::Message(id) => {
                let mut inner = Vec::new();
                self.fields(id, depth + 1, &mut inner);
                self.tag(field.number, WireType::Len, out);
                self.bytes(&inner, out);
            }
            FieldKind::String | FieldKind::Bytes => {
                let text = self.text(field.kind == FieldKind::String);
                self.tag(field.number, WireType::Len, out);
                self.bytes(&text, out);
            }
            kind => {
                self.tag(field.number, wire_type(kind), out);
                self.scalar(kind, out);
            }
        }
    }

    fn entry(&mut self, field: &'s FieldDef, depth: u32, out: &mut Vec<u8>) {
        let FieldKind::Message(id) = field.kind else { return };
        let fields = self.fields_of(id);
        let mut order: Vec<usize> = vec![0, 1];
        if self.rng.chance(self.style.odd_entries) {
            order = match self.rng.below(7) {
                0 => vec![],
                1 => vec![0],
                2 => vec![1],
                3 => vec![1, 0],
                4 => vec![0, 1, 0],
                5 => vec![0, 1, 1],
                _ => vec![0, 2, 1],
            };
        }
        let mut inner = Vec::new();
        for at in order {
            match fields.get(at) {
                // Few keys, so that they repeat.
                Some(key) if at == 0 && self.rng.chance(70) => self.small_key(key, &mut inner),
                Some(part) => self.tagged(part, depth + 1, &mut inner),
                None => {
                    let number = self.any_number();
                    self.unknown(number, depth + 1, &mut inner);
                }
            }
        }
        self.tag(field.number, WireType::Len, out);
        self.bytes(&inner, out);
    }

    fn small_key(&mut self, key: &FieldDef, out: &mut Vec<u8>) {
        let small = self.rng.below(4) as u64;
        self.tag(1, wire_type(key.kind), out);
        match wire_type(key.kind) {
            WireType::Varint => self.varint(small, out),
            WireType::Fixed32 => out.extend_from_slice(&(small as u32).to_le_bytes()),
            WireType::Fixed64 => out.extend_from_slice(&small.to_le_bytes()),
            _ => self.bytes(&b"key"[..small as usize], out),
        }
    }

    /// Extensions as items, and sometimes in the ordinary form.
    fn message_set(&mut self, id: MessageId, depth: u32, out: &mut Vec<u8>) {
        let all = self.fields_of(id);
        let count = if depth > 40 || self.budget == 0 { 0 } else { self.rng.below(4) };
        for _ in 0..count {
            self.budget = self.budget.saturating_sub(1);
            let odd = self.rng.chance(self.style.odd_entries);
            let Some(&field) = all.get(self.rng.below(all.len() + 1)).filter(|_| !all.is_empty()) else {
                let number = self.any_number();
                self.unknown(number, depth, out);
                continue;
            };
            if odd && self.rng.chance(30) && field.number < 1 << 29 {
                self.tagged(field, depth, out);
                continue;
            }
            let parts: &[u8] = match odd {
                true => [&b"32"[..], b"2", b"3", b"", b"232", b"323", b"2u3", b"2u", b"x3"][self.rng.below(9)],
                false => b"23",
            };
            self.item(field, parts, depth, out);
        }
    }

    /// An item of a MessageSet: `2` is its id, `x` another one, `3` its message, and `u` something else.
    fn item(&mut self, field: &'s FieldDef, parts: &[u8], depth: u32, out: &mut Vec<u8>) {
        self.tag(1, WireType::StartGroup, out);
        for part in parts {
            match part {
                b'2' => {
                    self.tag(2, WireType::Varint, out);
                    self.varint(field.number.into(), out);
                }
                b'x' => {
                    self.tag(2, WireType::Varint, out);
                    let other = 1 + self.rng.below(100);
                    self.varint(other as u64, out);
                }
                b'3' => {
                    let mut inner = Vec::new();
                    match field.kind {
                        FieldKind::Message(id) => self.fields(id, depth + 2, &mut inner),
                        _ => self.unknown(7, depth, &mut inner),
                    }
                    self.tag(3, WireType::Len, out);
                    self.bytes(&inner, out);
                }
                _ => {
                    let number = 4 + self.rng.below(1000) as u32;
                    self.unknown(number, depth + 1, out);
                }
            }
        }
        self.tag(1, WireType::EndGroup, out);
    }

    fn unknown(&mut self, number: u32, depth: u32, out: &mut Vec<u8>) {
        match self.rng.below(if depth > 60 { 4 } else { 5 }) {
            0 => {
                self.tag(number, WireType::Varint, out);
                let value = self.rng.bits() >> self.rng.below(64);
                self.varint(value, out);
            }
            1 => {
                self.tag(number, WireType::Fixed32, out);
                out.extend_from_slice(&(self.rng.bits() as u32).to_le_bytes());
            }
            2 => {
                self.tag(number, WireType::Fixed64, out);
                out.extend_from_slice(&self.rng.bits().to_le_bytes());
            }
            3 => {
                self.tag(number, WireType::Len, out);
                let text = self.text(false);
                self.bytes(&text, out);
            }
            _ => {
                self.tag(number, WireType::StartGroup, out);
                let count = self.rng.below(3);
                for _ in 0..count {
                    let inner = self.any_number();
                    self.unknown(inner, depth + 1, out);
                }
                self.tag(number, WireType::EndGroup, out);
            }
        }
    }

    fn any_number(&mut self) -> u32 {
        match self.rng.below(4) {
            0 => 1 + self.rng.below(20) as u32,
            1 => 1 + self.rng.below(3000) as u32,
            2 => *self.rng.pick(&[15, 16, 127, 2047, 2048, 262_143, 262_144, 33_554_431, 33_554_432, 536_870_911]),
            _ => 1 + (self.rng.bits() as u32 >> 3 >> self.rng.below(29)).min((1 << 29) - 2),
        }
    }

    // The parts of a field.

    fn tag(&mut self, number: u32, wire_type: WireType, out: &mut Vec<u8>) {
        let begin = out.len();
        push_varint(tag(number, wire_type).into(), out);
        if self.rng.chance(self.style.overlong / 2) {
            let most = 5 - (out.len() - begin);
            let more = self.rng.below(most + 1);
            stretch(out, more);
        }
    }

    fn varint(&mut self, value: u64, out: &mut Vec<u8>) {
        let begin = out.len();
        push_varint(value, out);
        if self.rng.chance(self.style.overlong) {
            let most = MAX_VARINT_LEN - (out.len() - begin);
            let more = self.rng.below(most + 1);
            stretch(out, more);
        }
    }

    fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.varint(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }

    fn scalar(&mut self, kind: FieldKind, out: &mut Vec<u8>) {
        match kind {
            FieldKind::Bool => {
                let value = if self.rng.chance(90) { self.rng.below(2) as u64 } else { self.any_bits() };
                self.varint(value, out);
            }
            FieldKind::Enum(id) => {
                let number = self.enum_number(id);
                let wide = i64::from(number) as u64;
                // The high bits are cut off.
                let value = if self.rng.chance(self.style.undeclared / 3) { wide & 0xffff_ffff } else { wide };
                self.varint(value, out);
            }
            FieldKind::Sint32 | FieldKind::Sint64 => {
                let value = self.any_bits() as i64;
                let value = if kind == FieldKind::Sint32 && !self.rng.chance(5) { value as i32 as i64 } else { value };
                self.varint(zigzag(value), out);
            }
            FieldKind::Int32 | FieldKind::Uint32 => {
                let value = self.any_bits();
                let value = match kind {
                    _ if self.rng.chance(5) => value,
                    FieldKind::Int32 => value as i32 as i64 as u64,
                    _ => value as u32 as u64,
                };
                self.varint(value, out);
            }
            kind => {
                let value = self.any_bits();
                match wire_type(kind) {
                    WireType::Fixed32 => out.extend_from_slice(&(value as u32).to_le_bytes()),
                    WireType::Fixed64 => out.extend_from_slice(&value.to_le_bytes()),
                    _ => self.varint(value, out),
                }
            }
        }
    }

    fn any_bits(&mut self) -> u64 {
        match self.rng.below(8) {
            0 => 0,
            1..3 => self.rng.below(128) as u64,
            3 => self.rng.below(1 << 14) as u64,
            4 => (self.rng.below(256) as u64).wrapping_neg(),
            5 => *self.rng.pick(&[
                127,
                128,
                16_383,
                16_384,
                0x7fff_ffff,
                0x8000_0000,
                0xffff_ffff,
                1 << 32,
                (1 << 56) - 1,
                1 << 56,
                1 << 62,
                1 << 63,
                u64::MAX,
            ]),
            _ => self.rng.bits() >> self.rng.below(64),
        }
    }

    fn enum_number(&mut self, id: EnumId) -> i32 {
        let def = self.data.enum_(id);
        let number = self.rng.pick(&def.values).number;
        if !self.rng.chance(self.style.undeclared) {
            return number;
        }
        match self.rng.below(3) {
            0 => number.wrapping_add(1),
            1 => number.wrapping_sub(1),
            _ => self.any_bits() as i32,
        }
    }

    fn text(&mut self, utf8: bool) -> Vec<u8> {
        let len = match self.rng.below(12) {
            0 => 0,
            1 => 30 + self.rng.below(6),
            2 => 60 + self.rng.below(10),
            3 => 120 + self.rng.below(16),
            4 if self.budget > 0 && self.rng.chance(10) => 16_380 + self.rng.below(8),
            5 => self.rng.below(400),
            _ => self.rng.below(24),
        };
        let mut text: Vec<u8> = Vec::with_capacity(len + 4);
        if utf8 {
            let plain = self.rng.chance(70);
            while text.len() < len {
                match self.rng.below(if plain { 1 } else { 5 }) {
                    0 => text.push(b' ' + self.rng.below(95) as u8),
                    1 => text.extend_from_slice("é".as_bytes()),
                    2 => text.extend_from_slice("漢".as_bytes()),
                    3 => text.extend_from_slice("🦀".as_bytes()),
                    _ => text.push(b'a'),
                }
            }
            if self.rng.chance(self.style.not_utf8) && !text.is_empty() {
                let at = self.rng.below(text.len());
                text[at] = 0x80 | self.rng.bits() as u8;
            }
        } else {
            text.extend((0..len).map(|_| self.rng.bits() as u8));
        }
        text
    }
}

/// Makes the varint at the end of `out` longer by `more` bytes.
fn stretch(out: &mut Vec<u8>, more: usize) {
    for _ in 0..more {
        *out.last_mut().expect("a varint has a byte") |= 0x80;
        out.push(0);
    }
}

fn wire_type(kind: FieldKind) -> WireType {
    match kind {
        FieldKind::Fixed32 | FieldKind::Sfixed32 | FieldKind::Float => WireType::Fixed32,
        FieldKind::Fixed64 | FieldKind::Sfixed64 | FieldKind::Double => WireType::Fixed64,
        FieldKind::String | FieldKind::Bytes | FieldKind::Message(_) => WireType::Len,
        _ => WireType::Varint,
    }
}
