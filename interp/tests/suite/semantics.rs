//! One rule of the wire format each.

use std::collections::BTreeMap;

use protojit_core::error::{DecodeError, DecodeErrorKind, EncodeErrorKind};
use protojit_core::limits::Limits;
use protojit_core::memory::slots::StrSlot;
use protojit_core::memory::{Arena, parts};
use protojit_core::program::{DecodeOptions, DecodeRef, EncodeOptions};
use protojit_core::wire::{WireType, push_varint, tag};
use protojit_interp::decode::{Input, decode, merge};
use protojit_interp::encode::{EncodeBuffer, encode};

use crate::support::*;

/// Wire bytes, written by hand.
#[derive(Clone, Default)]
struct Wire(Vec<u8>);

impl Wire {
    fn tag(mut self, number: u32, wire_type: WireType) -> Wire {
        push_varint(tag(number, wire_type).into(), &mut self.0);
        self
    }
    fn varint(self, number: u32, value: u64) -> Wire {
        let mut out = self.tag(number, WireType::Varint);
        push_varint(value, &mut out.0);
        out
    }
    fn len(self, number: u32, bytes: impl AsRef<[u8]>) -> Wire {
        let mut out = self.tag(number, WireType::Len);
        push_varint(bytes.as_ref().len() as u64, &mut out.0);
        out.raw(bytes)
    }
    fn group(self, number: u32, inner: Wire) -> Wire {
        self.tag(number, WireType::StartGroup).raw(inner).tag(number, WireType::EndGroup)
    }
    fn raw(mut self, bytes: impl AsRef<[u8]>) -> Wire {
        self.0.extend_from_slice(bytes.as_ref());
        self
    }
}

impl AsRef<[u8]> for Wire {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn w() -> Wire {
    Wire::default()
}

fn bits(value: u64) -> Tree {
    Tree::Bits(value)
}
fn text(value: &str) -> Tree {
    Tree::Bytes(value.as_bytes().to_vec())
}
fn list<const N: usize>(values: [u64; N]) -> Tree {
    Tree::List(values.map(Tree::Bits).to_vec())
}
fn message<const N: usize>(fields: [(u32, Tree); N]) -> Tree {
    with_unknown(fields, [])
}
fn with_unknown<const N: usize>(fields: [(u32, Tree); N], unknown: impl AsRef<[u8]>) -> Tree {
    Tree::Message(BTreeMap::from(fields), unknown.as_ref().to_vec())
}

fn file(source: &str) -> Fixture {
    Fixture::new(&[("t.proto", source)])
}

fn ok(program: &DecodeRef, bytes: impl AsRef<[u8]>) -> Tree {
    let bytes = bytes.as_ref();
    // Also where it does not fit into a small input: an unknown field in front.
    let pad = Wire::default().len(90_000, vec![0; 2000]);
    let mut padded = tree_of(program, &[&pad.0, bytes].concat()).unwrap();
    let tree = tree_of(program, bytes).unwrap();
    if let Tree::Message(_, unknown) = &mut padded {
        unknown.drain(..pad.0.len().min(unknown.len()));
    }
    if program.options.keep_unknown {
        assert_eq!(tree, padded);
    }
    tree
}

fn err(program: &DecodeRef, bytes: impl AsRef<[u8]>) -> (DecodeErrorKind, usize, String) {
    let bytes = bytes.as_ref();
    let describe = |error: DecodeError| (error.kind(), error.offset(), error.path().to_string());
    let pad = Wire::default().len(90_000, vec![0; 2000]);
    let padded = describe(tree_of(program, &[&pad.0, bytes].concat()).unwrap_err());
    let error = describe(tree_of(program, bytes).unwrap_err());
    assert_eq!((error.0, error.1 + pad.0.len(), &error.2), (padded.0, padded.1, &padded.2));
    error
}

const MIXED: &str = r#"syntax = "proto2"; package t;
    enum E { A = 0; B = 1; C = 5; }
    message M {
        optional int32 i = 1; optional string s = 2; optional M m = 3; repeated int32 li = 4; repeated E le = 5;
        repeated E pe = 6 [packed = true]; optional E e = 7; optional bool b = 8; optional sint32 z = 9;
        oneof o { int32 oi = 11; string os = 12; M om = 13; E oe = 14; bool ob = 15; }
        map<int32, E> me = 20; map<string, M> mm = 21; map<int32, int32> mi = 22;
        optional group G = 30 { optional int32 x = 1; }
        repeated fixed32 f = 31; repeated fixed64 f8 = 32 [packed = true]; optional uint64 u = 33; optional fixed32 f1 = 34;
        repeated bool bools = 35; repeated sint64 zs = 36; optional bytes bin = 1000;
    }"#;

#[test]
fn another_wire_type_makes_an_unknown_field() {
    let fixture = file(MIXED);
    let program = fixture.decoder("t.M");
    for field in [
        w().len(1, "abc"),
        w().varint(2, 7),
        w().varint(3, 7),
        w().group(3, w().varint(1, 1)),
        w().varint(20, 1),
        w().len(30, w().varint(1, 1)),
        w().tag(4, WireType::Fixed32).raw([1, 2, 3, 4]),
        w().tag(1, WireType::Fixed64).raw([1; 8]),
        w().varint(31, 3),
        w().len(77, "unknown"),
        w().group(77, w().group(78, w().varint(1, 1)).len(5, "x")),
    ] {
        assert_eq!(ok(&program, &field), with_unknown([], &field));
        let around = w().varint(1, 3).raw(&field).varint(33, 9);
        assert_eq!(ok(&program, &around), with_unknown([(1, bits(3)), (33, bits(9))], &field));
        let discard = fixture.decoder_with("t.M", DecodeOptions { keep_unknown: false, ..DecodeOptions::default() });
        assert_eq!(ok(&discard, &around), message([(1, bits(3)), (33, bits(9))]));
    }
}

#[test]
fn numbers_come_packed_and_unpacked() {
    let program = file(MIXED).decoder("t.M");
    let bytes = w().varint(4, 1).len(4, [2, 3, 0xac, 2]).len(4, []).varint(4, 4).varint(4, u64::MAX);
    let minus = u32::MAX as u64;
    assert_eq!(ok(&program, bytes), message([(4, list([1, 2, 3, 300, 4, minus]))]));
    let bytes = w().tag(32, WireType::Fixed64).raw(7u64.to_le_bytes()).len(32, 8u64.to_le_bytes());
    assert_eq!(ok(&program, bytes), message([(32, list([7, 8]))]));
    let bytes = w().len(31, [[1, 0, 0, 0], [2, 0, 0, 0]].concat()).tag(31, WireType::Fixed32).raw([3, 0, 0, 0]);
    assert_eq!(ok(&program, bytes), message([(31, list([1, 2, 3]))]));
    let bytes = w().len(35, [0, 1, 0x82, 0, 0x80, 0]).varint(35, 1 << 40).varint(35, 0);
    assert_eq!(ok(&program, bytes), message([(35, list([0, 1, 1, 0, 1, 0]))]));
    let bytes = w().len(36, [1, 2, 0x81, 1]).varint(36, u64::MAX);
    let zigzag = list([u64::MAX, 1, -65i64 as u64, i64::MIN as u64]);
    assert_eq!(ok(&program, bytes), message([(36, zigzag)]));
    assert_eq!(err(&program, w().varint(1, 1).len(32, [0; 9])).0, DecodeErrorKind::PackedLength);
    let cut = w().varint(1, 1).len(4, [1, 0x80]);
    assert_eq!(err(&program, &cut), (DecodeErrorKind::Truncated, 5, "M.li".into()));
    let endless = w().len(4, [&[1u8][..], &[0xff; 11], &[1]].concat());
    assert_eq!(err(&program, &endless), (DecodeErrorKind::MalformedVarint, 3, "M.li".into()));
    // Many of them, of all widths.
    let values: Vec<u64> = (0..2000u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (n % 64)).collect();
    let mut packed = Vec::new();
    values.iter().for_each(|&value| push_varint(value, &mut packed));
    let expected = values.iter().map(|&value| Tree::Bits((value >> 1) ^ (value & 1).wrapping_neg())).collect();
    assert_eq!(ok(&program, w().len(36, &packed)), message([(36, Tree::List(expected))]));
}

#[test]
fn numbers_longer_than_needed() {
    let program = file(MIXED).decoder("t.M");
    let padded = |number: u32, bytes: &[u8]| w().tag(number, WireType::Varint).raw(bytes);
    assert_eq!(ok(&program, padded(1, &[0x81, 0x80, 0x80, 0])), message([(1, bits(1))]));
    assert_eq!(ok(&program, padded(8, &[0x80, 0x80, 0])), message([(8, bits(0))]));
    assert_eq!(ok(&program, padded(8, &[0x80, 0x80, 0x80, 0x80, 0x80, 1])), message([(8, bits(1))]));
    assert_eq!(ok(&program, w().varint(1, 0x1_2345_6789)), message([(1, bits(0x2345_6789))]));
    assert_eq!(ok(&program, w().varint(9, 0xf_0000_0003)), message([(9, bits(0xffff_fffe))]));
    assert_eq!(ok(&program, w().varint(33, u64::MAX)), message([(33, bits(u64::MAX))]));
    let longest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
    assert_eq!(err(&program, padded(33, &longest)), (DecodeErrorKind::MalformedVarint, 2, "M.u".into()));
    assert_eq!(err(&program, padded(77, &longest)), (DecodeErrorKind::MalformedVarint, 2, "M".into()));
    assert_eq!(err(&program, padded(33, &[0x80; 11])), (DecodeErrorKind::MalformedVarint, 2, "M.u".into()));
    // Tags and lengths, too.
    assert_eq!(ok(&program, [0x88, 0x80, 0x80, 0x80, 0, 5]), message([(1, bits(5))]));
    assert_eq!(ok(&program, [0x92, 0, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0, b'x']), message([(2, text("x"))]));
    assert_eq!(err(&program, [0x88, 0x80, 0x80, 0x80, 0x80, 0, 5]), (DecodeErrorKind::InvalidTag, 0, "M".into()));
    assert_eq!(err(&program, [8, 1, 0x88, 0x80, 0x80, 0x80, 0x10, 5]), (DecodeErrorKind::InvalidTag, 2, "M".into()));
    for bad in [0, 1, 5, 4, 0x0e, 0x0f, 0x3e] {
        assert_eq!(
            err(&program, [8, 1, bad, 0, 0, 0, 0, 0, 0, 0, 0]),
            (DecodeErrorKind::InvalidTag, 2, "M".into()),
            "{bad}"
        );
    }
}

#[test]
fn lengths_stay_inside() {
    let program = file(MIXED).decoder("t.M");
    let out = DecodeErrorKind::LengthOutOfBounds;
    assert_eq!(err(&program, [8, 1, 0x12, 2, b'x']), (out, 3, "M.s".into()));
    assert_eq!(err(&program, [0x1a, 2, 0x12, 1, b'x']), (out, 3, "M.m.s".into()));
    assert_eq!(err(&program, w().raw([0x12]).raw([0xff; 9]).raw([1])), (out, 1, "M.s".into()));
    assert_eq!(err(&program, w().raw([0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f])), (out, 1, "M.m".into()));
    assert_eq!(err(&program, w().raw([0x22, 0x7f, 1])), (out, 1, "M.li".into()));
    assert_eq!(err(&program, w().len(22, [8, 1, 0x12, 9])), (out, 6, "M.mi".into()));
    let truncated = DecodeErrorKind::Truncated;
    assert_eq!(err(&program, [0x1a, 1, 8]), (truncated, 3, "M.m.i".into()));
    assert_eq!(err(&program, [0x1a, 1, 0xc3, 1]), (truncated, 2, "M.m".into()));
    assert_eq!(
        err(&program, w().len(3, w().tag(34, WireType::Fixed32).raw([1, 2, 3]))),
        (truncated, 4, "M.m.f1".into())
    );
}

#[test]
fn oneofs() {
    let program = file(MIXED).decoder("t.M");
    let inner = |n| w().varint(1, n);
    assert_eq!(ok(&program, w().varint(11, 5).len(12, "x")), message([(12, text("x"))]));
    assert_eq!(ok(&program, w().len(12, "xxxxxxxxx").varint(15, 0)), message([(15, bits(0))]));
    // Messages merge in place, and begin anew behind another member.
    let bytes = w().len(13, inner(1)).len(13, w().len(2, "s"));
    assert_eq!(ok(&program, bytes), message([(13, message([(1, bits(1)), (2, text("s"))]))]));
    let bytes = w().len(13, inner(1)).varint(11, 0x4141_4141).len(13, w().len(2, "s"));
    assert_eq!(ok(&program, bytes), message([(13, message([(2, text("s"))]))]));
    let bytes = w().len(12, "aaaaaaaaaaaaaaaa").len(13, []);
    assert_eq!(ok(&program, bytes), message([(13, message([]))]));
    // A number that is not declared leaves the oneof alone.
    let stray = w().varint(14, 3);
    assert_eq!(ok(&program, w().len(12, "x").raw(&stray)), with_unknown([(12, text("x"))], &stray));
    assert_eq!(ok(&program, w().len(12, "x").varint(14, 5)), message([(14, bits(5))]));
}

#[test]
fn closed_enums() {
    let program = file(MIXED).decoder("t.M");
    let minus_two = -2i64 as u64;
    let stray = w().varint(7, 2);
    assert_eq!(ok(&program, w().varint(7, 1).raw(&stray)), with_unknown([(7, bits(1))], &stray));
    assert_eq!(ok(&program, &stray), with_unknown([], &stray));
    // What is declared is compared after cutting to 32 bits.
    assert_eq!(ok(&program, w().varint(7, 0xf_0000_0005)), message([(7, bits(5))]));
    let bytes = w().varint(5, 1).varint(5, 9).varint(5, 5).varint(5, minus_two);
    let unknown = w().varint(5, 9).varint(5, minus_two);
    assert_eq!(ok(&program, bytes), with_unknown([(5, list([1, 5]))], unknown));
    let mut packed = vec![1, 9, 5];
    push_varint(minus_two, &mut packed);
    let unknown = |number| w().varint(number, 9).varint(number, minus_two);
    assert_eq!(ok(&program, w().len(6, &packed)), with_unknown([(6, list([1, 5]))], unknown(6)));
    assert_eq!(ok(&program, w().len(5, &packed)), with_unknown([(5, list([1, 5]))], unknown(5)));
    let bytes = w().len(77, "a").len(6, &packed).len(77, "b").len(6, [9]);
    let expected = w().len(77, "a").raw(unknown(6)).len(77, "b").varint(6, 9);
    assert_eq!(ok(&program, bytes), with_unknown([(6, list([1, 5]))], expected));
    // In maps the whole entry.
    let good = w().len(20, w().varint(1, 1).varint(2, 5));
    let stray = w().len(20, w().varint(2, 6).varint(1, 1));
    let map = Tree::Map(BTreeMap::from([(bits(1), bits(5))]));
    assert_eq!(ok(&program, good.clone().raw(&stray)), with_unknown([(20, map.clone())], &stray));
    // The last value of an entry counts.
    let twice = w().len(20, w().varint(1, 1).varint(2, 6).varint(2, 5));
    assert_eq!(ok(&program, twice), message([(20, map)]));
}

#[test]
fn maps() {
    let program = file(MIXED).decoder("t.M");
    let entry = |bytes: Wire| w().len(22, bytes);
    let map = |pairs: &[(u64, u64)]| {
        message([(22, Tree::Map(pairs.iter().map(|&(key, value)| (bits(key), bits(value))).collect()))])
    };
    assert_eq!(ok(&program, entry(w().varint(2, 7).varint(1, 3))), map(&[(3, 7)]));
    assert_eq!(ok(&program, entry(w().varint(1, 1).varint(2, 7).varint(1, 3).varint(2, 8))), map(&[(3, 8)]));
    assert_eq!(ok(&program, entry(w())), map(&[(0, 0)]));
    assert_eq!(ok(&program, entry(w().varint(2, 7))), map(&[(0, 7)]));
    assert_eq!(ok(&program, entry(w().varint(1, 7))), map(&[(7, 0)]));
    let noise = w().len(1, "x").varint(9, 1).group(3, w().varint(1, 1)).varint(1, 3).len(2, "y").varint(2, 4);
    assert_eq!(ok(&program, entry(noise)), map(&[(3, 4)]));
    let bytes = entry(w().varint(1, 1).varint(2, 2)).raw(entry(w().varint(1, 1)));
    assert_eq!(ok(&program, bytes), map(&[(1, 0)]));
    // Messages: a new one for each entry, merged within it, empty where absent.
    let entry = |key: &str, bytes: Wire| w().len(21, w().len(1, key).raw(bytes));
    let map = |key: &str, value: Tree| message([(21, Tree::Map(BTreeMap::from([(text(key), value)])))]);
    let (one, two) = (w().len(2, w().varint(1, 1)), w().len(2, w().len(2, "s")));
    assert_eq!(ok(&program, entry("k", one.clone().raw(&two))), map("k", message([(1, bits(1)), (2, text("s"))])));
    assert_eq!(ok(&program, entry("k", one).raw(entry("k", two))), map("k", message([(2, text("s"))])));
    assert_eq!(ok(&program, entry("k", w())), map("k", message([])));
    // Errors name the key or the value.
    let truncated = DecodeErrorKind::Truncated;
    assert_eq!(err(&program, w().len(22, [8, 0x80])), (truncated, 4, "M.mi.key".into()));
    assert_eq!(err(&program, w().len(22, [0x10, 0x80])), (truncated, 4, "M.mi.value".into()));
    assert_eq!(err(&program, w().len(21, [0x12, 2, 8, 0x80])), (truncated, 6, "M.mm.value.i".into()));
    assert_eq!(err(&program, w().len(22, [0x0c])), (DecodeErrorKind::UnmatchedEndGroup, 3, "M.mi".into()));
    // More of them than are searched in line.
    let many: Vec<(u64, u64)> = (0..500).map(|n| (n * 7 % 500, n)).collect();
    let bytes = many.iter().fold(w(), |out, &(key, value)| out.len(22, w().varint(1, key).varint(2, value)));
    let expected = Tree::Map(many.iter().map(|&(key, value)| (bits(key), bits(value))).collect());
    assert_eq!(ok(&program, bytes.clone().raw(bytes)), message([(22, expected)]));
}

#[test]
fn text_is_checked_where_the_schema_says_so() {
    let fixture = file(
        r#"syntax = "proto3"; package t;
        message M { string s = 1; repeated string l = 2; map<string, string> m = 3; oneof o { string os = 4; } bytes b = 5; M n = 6; }"#,
    );
    let program = fixture.decoder("t.M");
    let lax = fixture.decoder_with("t.M", DecodeOptions { check_utf8: false, ..DecodeOptions::default() });
    let old = file(r#"syntax = "proto2"; package t; message M { optional string s = 1; }"#).decoder("t.M");
    let utf8 = DecodeErrorKind::InvalidUtf8;
    for bad in
        [&b"\xff"[..], b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3", b"\xed\xa0\x80", b"abc\xc0\x80", &[0x80; 300]]
    {
        let length = if bad.len() < 128 { 1 } else { 2 };
        assert_eq!(err(&program, w().len(1, bad)), (utf8, 1, "M.s".into()));
        assert_eq!(err(&program, w().len(2, "fine").len(2, bad)), (utf8, 7, "M.l".into()));
        assert_eq!(err(&program, w().len(4, bad)), (utf8, 1, "M.os".into()));
        assert_eq!(err(&program, w().len(3, w().len(1, bad))), (utf8, 2 + length, "M.m.key".into()));
        assert_eq!(err(&program, w().len(3, w().len(2, bad))), (utf8, 2 + length, "M.m.value".into()));
        assert_eq!(err(&program, w().len(6, w().len(1, bad))), (utf8, 2 + length, "M.n.s".into()));
        let bytes = Tree::Bytes(bad.to_vec());
        assert_eq!(ok(&program, w().len(5, bad)), message([(5, bytes.clone())]));
        assert_eq!(ok(&lax, w().len(1, bad)), message([(1, bytes.clone())]));
        assert_eq!(ok(&old, w().len(1, bad)), message([(1, bytes)]));
    }
    let good = "añ€😀".repeat(20);
    assert_eq!(ok(&program, w().len(1, &good)), message([(1, text(&good))]));
}

#[test]
fn groups() {
    let program = file(MIXED).decoder("t.M");
    let bytes = w().group(30, w().varint(1, 5)).group(30, w().len(9, "x")).varint(1, 1);
    let group = with_unknown([(1, bits(5))], w().len(9, "x"));
    assert_eq!(ok(&program, bytes), message([(1, bits(1)), (30, group)]));
    let unmatched = DecodeErrorKind::UnmatchedEndGroup;
    assert_eq!(err(&program, w().varint(1, 1).tag(30, WireType::EndGroup)), (unmatched, 2, "M".into()));
    assert_eq!(err(&program, w().len(3, w().tag(30, WireType::EndGroup))), (unmatched, 2, "M.m".into()));
    assert_eq!(
        err(&program, w().tag(30, WireType::StartGroup).tag(3, WireType::EndGroup)),
        (unmatched, 2, "M.g".into())
    );
    let nested = w().tag(77, WireType::StartGroup).tag(78, WireType::StartGroup).tag(77, WireType::EndGroup);
    assert_eq!(err(&program, nested), (unmatched, 4, "M".into()));
    let unclosed = DecodeErrorKind::UnclosedGroup;
    assert_eq!(err(&program, w().varint(1, 1).tag(30, WireType::StartGroup).varint(1, 1)), (unclosed, 2, "M.g".into()));
    assert_eq!(err(&program, w().varint(1, 1).tag(77, WireType::StartGroup)), (unclosed, 2, "M".into()));
    let inside = w().len(3, w().tag(30, WireType::StartGroup)).tag(30, WireType::EndGroup);
    assert_eq!(err(&program, inside), (unclosed, 2, "M.m.g".into()));
}

#[test]
fn depth_is_limited() {
    let program = file(MIXED).decoder("t.M");
    let encoder = file(MIXED).encoder("t.M");
    fn nest(levels: usize, wrap: impl Fn(Wire) -> Wire) -> Wire {
        (0..levels).fold(w(), |inner, _| wrap(inner))
    }
    let deep = DecodeErrorKind::DepthLimit;
    let wraps: [&dyn Fn(Wire) -> Wire; 3] =
        [&|inner| w().len(3, inner), &|inner| w().group(77, inner), &|inner| w().len(13, inner)];
    for wrap in wraps {
        ok(&program, nest(100, wrap));
        assert_eq!(err(&program, nest(101, wrap)).0, deep);
    }
    // An entry is a level, and the message in it another.
    let wrap = |inner| w().len(21, w().len(2, inner));
    let bytes = nest(50, wrap);
    ok(&program, &bytes);
    assert_eq!(err(&program, nest(51, wrap)).0, deep);
    let limits = Limits { max_depth: 3, ..Limits::default() };
    let arena = Arena::new();
    let decode = |bytes: &Wire, limits: &Limits| decode(&program, &bytes.0, &arena, limits, Input::Copy);
    assert!(decode(&nest(3, |inner| w().len(3, inner)), &limits).is_ok());
    let error = decode(&nest(4, |inner| w().len(3, inner)), &limits).unwrap_err();
    assert_eq!((error.kind(), error.offset(), error.path().to_string()), (deep, 6, "M.m.m.m.m".into()));
    let none = Limits { max_depth: 0, ..Limits::default() };
    assert!(decode(&w().varint(1, 1), &none).is_ok());
    for bytes in [w().len(3, []), w().group(30, w()), w().group(77, w()), w().len(22, [])] {
        assert_eq!(decode(&bytes, &none).unwrap_err().kind(), deep);
    }
    // What can be decoded can be encoded.
    let root = decode(&bytes, &Limits::default()).unwrap();
    let mut buffer = EncodeBuffer::new();
    // SAFETY: decoded into that shape, and still alive.
    unsafe {
        assert!(encode(&encoder, root.as_ptr(), &mut buffer, &Limits::default()).is_ok());
        let shallow = Limits { max_depth: 99, ..Limits::default() };
        let error = encode(&encoder, root.as_ptr(), &mut buffer, &shallow).unwrap_err();
        assert_eq!(error.kind(), EncodeErrorKind::DepthLimit);
        assert_eq!(error.path().fields().len(), 100);
    }
}

/// A level takes no more stack than the limits reckon with.
#[test]
fn a_level_takes_little_stack() {
    let levels = 3000u32;
    let run = move || {
        let fixture = file(MIXED);
        let program = fixture.decoder("t.M");
        let bytes = (0..levels).fold(w(), |inner, level| match level % 4 {
            0 => w().len(3, inner),
            1 => w().group(30, w()).len(13, inner),
            2 => w().len(3, inner).varint(77, 1),
            _ => w().len(3, w().group(77, w()).raw(inner)),
        });
        let limits = Limits { max_depth: u32::MAX, stack_bytes: levels as usize * 2048, ..Limits::default() };
        let arena = Arena::new();
        let root = decode(&program, &bytes.0, &arena, &limits, Input::Borrow).unwrap();
        let mut buffer = EncodeBuffer::new();
        // SAFETY: decoded into that shape, and still alive.
        let again = unsafe { encode(&fixture.encoder("t.M"), root.as_ptr(), &mut buffer, &limits).unwrap() };
        assert_eq!(again.len(), bytes.0.len());
        let less = Limits { stack_bytes: limits.stack_bytes - 2048, ..limits };
        let error = decode(&program, &bytes.0, &arena, &less, Input::Borrow).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::DepthLimit);
    };
    let stack = levels as usize * 2048 + (256 << 10);
    std::thread::Builder::new().stack_size(stack).spawn(run).unwrap().join().unwrap();
}

#[test]
fn message_sets() {
    let fixture = file(
        r#"syntax = "proto2"; package t;
        message Set { option message_set_wire_format = true; extensions 4 to max; }
        message A { extend Set { optional A ext = 1000; } optional int32 a = 1; optional string s = 2; }
        message B { extend Set { optional B ext = 16; } optional int32 b = 1; }
        message Holder { optional Set set = 1; }"#,
    );
    let program = fixture.decoder("t.Set");
    let item = |id: u64, bytes: Wire| w().group(1, w().varint(2, id).len(3, bytes));
    let a = |value| message([(1, bits(value))]);
    assert_eq!(ok(&program, item(1000, w().varint(1, 7))), message([(1000, a(7))]));
    let swapped = w().group(1, w().len(3, w().varint(1, 7)).varint(2, 1000));
    assert_eq!(ok(&program, swapped), message([(1000, a(7))]));
    let merged = item(1000, w().varint(1, 7)).raw(item(16, w().varint(1, 3))).raw(item(1000, w().len(2, "x")));
    assert_eq!(ok(&program, merged), message([(16, a(3)), (1000, message([(1, bits(7)), (2, text("x"))]))]));
    // The ordinary encoding is understood, what is unknown is kept, what is incomplete is not.
    assert_eq!(ok(&program, w().len(1000, w().varint(1, 7))), message([(1000, a(7))]));
    let unknown = item(5, w().varint(1, 1)).raw(w().len(99, "plain"));
    assert_eq!(ok(&program, &unknown), with_unknown([], &unknown));
    assert_eq!(ok(&program, w().group(1, w().varint(2, 1000)).group(1, w().len(3, "?")).group(1, w())), message([]));
    // The first id and the first message count; other fields do not.
    let odd = w().varint(9, 9).varint(2, 1000).varint(2, 16).group(7, w()).len(3, w().varint(1, 7)).len(3, "?");
    assert_eq!(ok(&program, w().group(1, odd)), message([(1000, a(7))]));
    assert_eq!(err(&program, w().group(1, w().varint(2, 0))), (DecodeErrorKind::InvalidTag, 2, "Set".into()));
    assert_eq!(err(&program, w().raw([0x0b, 0x10, 1])), (DecodeErrorKind::UnclosedGroup, 0, "Set".into()));
    assert_eq!(err(&program, w().raw([0x0b, 0x14])), (DecodeErrorKind::UnmatchedEndGroup, 1, "Set".into()));
    let bad = item(1000, w().raw([8, 0x80]));
    assert_eq!(err(&program, bad), (DecodeErrorKind::Truncated, 7, "Set.[t.A.ext].a".into()));
    // Written as items, unknown ones included.
    let bytes = item(1000, w().varint(1, 7)).raw(item(5, w().varint(1, 1)));
    assert_eq!(round_trip(&program, &fixture.encoder("t.Set"), &bytes.0), bytes.0);
    let held = w().len(1, &bytes);
    assert_eq!(round_trip(&fixture.decoder("t.Holder"), &fixture.encoder("t.Holder"), &held.0), held.0);
}

#[test]
fn unknown_fields_are_limited_and_joined() {
    let program = file(MIXED).decoder("t.M");
    let arena = Arena::new();
    let bytes = w().varint(70, 1).len(71, "abc").varint(1, 5).varint(72, 1);
    for mode in [Input::Borrow, Input::Copy] {
        let root = decode(&program, &bytes.0, &arena, &Limits::default(), mode).unwrap();
        // SAFETY: decoded by this program, and still alive.
        unsafe {
            let runs = parts::unknown(root.as_ptr());
            assert_eq!(runs.elements::<StrSlot>().iter().map(|run| run.len).collect::<Vec<_>>(), [9, 3]);
        }
    }
    let limited = |max_unknown_fields, max_unknown_bytes| {
        let limits = Limits { max_unknown_fields, max_unknown_bytes, ..Limits::default() };
        decode(&program, &bytes.0, &arena, &limits, Input::Copy)
            .map(drop)
            .map_err(|error| (error.kind(), error.offset()))
    };
    let limit = DecodeErrorKind::UnknownFieldLimit;
    assert_eq!(limited(3, 12), Ok(()));
    assert_eq!(limited(2, 12), Err((limit, 11)));
    assert_eq!(limited(3, 11), Err((limit, 11)));
    assert_eq!(limited(0, 11), Err((limit, 0)));
}

#[test]
fn memory_is_limited() {
    let program = file(MIXED).decoder("t.M");
    let bytes = (0..2000).fold(w(), |out, _| out.len(3, w().len(3, w().varint(1, 1))).varint(4, 1).len(1000, "x"));
    for limit in [0, 100, 4096, 5000] {
        let arena = Arena::with_limit(limit);
        let result = decode(&program, &bytes.0, &arena, &Limits::default(), Input::Borrow);
        assert_eq!(result.unwrap_err().kind(), DecodeErrorKind::MemoryLimit);
    }
    let small = Limits { max_message_bytes: 10, ..Limits::default() };
    let error = decode(&program, &bytes.0, &Arena::new(), &small, Input::Borrow).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::MessageTooLarge, 10));
}

const REQUIRED: &str = r#"syntax = "proto2"; package t;
    message R { required int32 a = 1; required N n = 2; optional R r = 3; repeated R l = 4; map<int32, R> m = 5; extensions 100 to 200; }
    message N { required string s = 1; }
    message O { optional int32 a = 1; optional P p = 2; oneof o { R r = 3; int32 i = 4; } }
    message P { optional int32 a = 1; }
    extend R { optional R ext = 100; }"#;

#[test]
fn required_fields_are_found_missing() {
    let fixture = file(REQUIRED);
    let program = fixture.decoder("t.R");
    let n = || w().len(2, w().len(1, "s"));
    let full = || w().varint(1, 1).raw(n());
    ok(&program, full());
    let missing = |bytes: Wire, path: &str| {
        assert_eq!(err(&program, &bytes), (DecodeErrorKind::MissingRequired, bytes.0.len(), path.into()));
    };
    missing(w(), "R.a");
    missing(n(), "R.a");
    missing(w().varint(1, 1), "R.n");
    missing(w().varint(1, 1).len(2, []), "R.n.s");
    missing(full().len(3, n()), "R.r.a");
    missing(full().len(4, full()).len(4, w().varint(1, 1)), "R.l.n");
    missing(full().len(5, w().len(2, full())).len(5, w().varint(1, 1)), "R.m.value.a");
    missing(full().len(100, w()), "R.[t.ext].a");
    // A later occurrence may bring it.
    ok(&program, w().varint(1, 1).len(2, []).len(2, w().len(1, "s")));
    ok(&program, full().len(3, n()).len(3, w().varint(1, 1)));
    ok(&program, full().len(5, w()).len(5, w().len(2, full())));
    let partial = DecodeOptions { check_required: false, ..DecodeOptions::default() };
    assert_eq!(ok(&fixture.decoder_with("t.R", partial), w()), message([]));
    let other = fixture.decoder("t.O");
    ok(&other, w().len(3, w()).varint(4, 1));
    assert_eq!(err(&other, w().varint(4, 1).len(3, w())).2, "O.r.a");
    // Merging looks at the whole message.
    let (arena, limits) = (Arena::new(), Limits::default());
    let lax = fixture.decoder_with("t.R", partial);
    let root = decode(&lax, &w().varint(1, 1).0, &arena, &limits, Input::Copy).unwrap();
    // SAFETY: both programs have the same shape; the message is still alive.
    unsafe {
        let error = merge(&program, root, &[], &arena, &limits, Input::Copy).unwrap_err();
        assert_eq!((error.kind(), error.path().to_string()), (DecodeErrorKind::MissingRequired, "R.n".into()));
        merge(&program, root, &n().0, &arena, &limits, Input::Copy).unwrap();
        // Encoding checks, too.
        let root = decode(&lax, &full().len(4, w().varint(1, 1)).0, &arena, &limits, Input::Copy).unwrap();
        let mut buffer = EncodeBuffer::new();
        let error = encode(&fixture.encoder("t.R"), root.as_ptr(), &mut buffer, &limits).unwrap_err();
        assert_eq!((error.kind(), error.path().to_string()), (EncodeErrorKind::MissingRequired, "R.l.n".into()));
        let partial = EncodeOptions { check_required: false, ..EncodeOptions::default() };
        assert!(encode(&fixture.encoder_with("t.R", partial), root.as_ptr(), &mut buffer, &limits).is_ok());
    }
}

#[test]
fn deterministic_maps_are_sorted() {
    let fixture = file(
        r#"syntax = "proto3"; package t; message M { map<string, int32> s = 1; map<sint32, M> i = 2; map<uint64, bool> u = 3; map<bool, int32> b = 4; }"#,
    );
    let decoder = fixture.decoder("t.M");
    let plain = fixture.encoder("t.M");
    let sorted = fixture.encoder_with("t.M", EncodeOptions { deterministic: true, ..EncodeOptions::default() });
    let text = |key: &str| w().len(1, w().len(1, key).varint(2, 0));
    let number = |key: i64, inner: Wire| w().len(2, w().varint(1, protojit_core::wire::zigzag(key)).len(2, inner));
    let big = |key: u64| w().len(3, w().varint(1, key).varint(2, 1));
    let bool = |key: u64| w().len(4, w().varint(1, key).varint(2, 9));
    let join = |all: &[Wire]| all.iter().fold(w(), |out, bytes| out.raw(bytes));
    let inner = [text("z"), text("a")];
    let mixed = join(&[
        text("b"),
        text(""),
        text("ab"),
        text("a"),
        number(5, join(&inner)),
        number(-3, w()),
        number(0, w()),
        big(u64::MAX),
        big(1),
        bool(1),
        bool(0),
    ]);
    assert_eq!(round_trip(&decoder, &plain, &mixed.0), mixed.0);
    let expected = join(&[
        text(""),
        text("a"),
        text("ab"),
        text("b"),
        number(-3, w()),
        number(0, w()),
        number(5, join(&[text("a"), text("z")])),
        big(1),
        big(u64::MAX),
        bool(0),
        bool(1),
    ]);
    assert_eq!(round_trip(&decoder, &sorted, &mixed.0), expected.0);
}

#[test]
fn implicit_presence_is_of_bits() {
    let fixture = file(
        r#"syntax = "proto3"; package t; message M { double d = 1; float f = 2; int32 i = 3; optional int32 o = 4; string s = 5; }"#,
    );
    let (decoder, encoder) = (fixture.decoder("t.M"), fixture.encoder("t.M"));
    let written = |bytes: Wire| round_trip(&decoder, &encoder, &bytes.0);
    let double = |value: f64| w().tag(1, WireType::Fixed64).raw(value.to_le_bytes());
    assert_eq!(written(double(-0.0)), double(-0.0).0);
    assert_eq!(written(double(0.0)), []);
    assert_eq!(written(w().varint(3, 0).len(5, "").varint(4, 0)), w().varint(4, 0).0);
    assert_eq!(written(w().varint(3, -1i64 as u64)).len(), 11);
}
