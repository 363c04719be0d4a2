//! Inputs and messages of 2 and 4 GiB, in memory that is reserved but never written: lengths around the ends of 31 and 32 bits, where
//! arithmetic in 32 bits would go wrong.

#![cfg(all(feature = "jit", target_pointer_width = "64"))]

use memmap2::{Mmap, MmapOptions};
use protojit::{Arena, DecodeErrorKind, EncodeBuffer, EncodeErrorKind, MessageType};
use protojit_core::wire::push_varint;
use protojit_testing::pair::{Pair, Types};
use protojit_testing::schemas;

const GIB: usize = 1 << 30;
/// The largest message.
const MOST: usize = (2 * GIB) - 1;

const SCHEMA: &str = r#"syntax = "proto2";
message Big {
  optional bytes data = 1;
  optional string text = 2;
  repeated bytes list = 3;
  optional Big big = 4;
  repeated bool flags = 5 [packed = true];
  repeated fixed64 wide = 6 [packed = true];
  map<int32, bytes> map = 7;
  oneof either { bytes left = 8; Big right = 9; }
  repeated int64 numbers = 10 [packed = true];
  extensions 100 to max;
}
extend Big { optional bytes far = 536870911; }
"#;

fn types() -> Types {
    Pair::new("huge", &schemas::descriptor_set_of(SCHEMA)).types("Big")
}

/// `len` bytes, zeros but for the first ones: they take no memory.
fn sparse(len: usize, first: &[u8]) -> Mmap {
    let mut map = MmapOptions::new().len(len).no_reserve_swap().map_anon().expect("addresses can be reserved");
    map[..first.len()].copy_from_slice(first);
    map.make_read_only().expect("a mapping can be protected")
}

/// A tag and a length.
fn head(number: u32, len: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(u64::from(number) << 3 | 2, &mut out);
    push_varint(len, &mut out);
    out
}

/// Both engines, in an arena of at most a GiB.
fn outcomes(types: &Types, input: &[u8]) -> Result<usize, (DecodeErrorKind, usize)> {
    let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
        let arena = Arena::with_limit(GIB);
        let outcome = ty.decode(input, &arena).map_err(|error| (error.kind(), error.offset()));
        let len = outcome.map(|message| ty.encoded_len(message).expect("what was read can be written"));
        assert!(arena.reserved() < 8 << 20, "{} bytes of arena", arena.reserved());
        len
    });
    assert_eq!(interp, jit);
    interp
}

#[test]
fn inputs_beyond_the_limit() {
    let types = types();
    let all = sparse(4 * GIB + (64 << 10), &[]);
    for len in [MOST + 1, MOST + 2, 3 * GIB, 4 * GIB - 1, 4 * GIB, 4 * GIB + 1, 4 * GIB + 5000] {
        let too_large = Err((DecodeErrorKind::MessageTooLarge, MOST));
        assert_eq!(outcomes(&types, &all[..len]), too_large, "{len}");
        for ty in [&types.interp, &types.jit] {
            let arena = Arena::new();
            let copied = ty.decode_copied(&all[..len], &arena).map(drop).map_err(|error| error.kind());
            assert_eq!(copied, Err(DecodeErrorKind::MessageTooLarge));
            let owned = ty.decode_owned(&all[..len]).map(drop).map_err(|error| error.kind());
            assert_eq!(owned, Err(DecodeErrorKind::MessageTooLarge));
            assert!(arena.reserved() < 1 << 20);
        }
    }
    // Not too large for a message, but for a copy in this arena.
    for ty in [&types.interp, &types.jit] {
        let arena = Arena::with_limit(GIB);
        let copied = ty.decode_copied(&all[..MOST], &arena).map(drop).map_err(|error| error.kind());
        assert_eq!(copied, Err(DecodeErrorKind::MemoryLimit));
    }
}

/// A field that fills the largest message, of each kind that keeps what it finds where it lies; also inside of others.
#[test]
fn fields_of_two_gib() {
    let types = types();
    for number in [1, 2, 3, 8, 77, 100, 536_870_911] {
        let len = MOST - head(number, MOST as u64).len();
        let map = sparse(MOST, &head(number, len as u64));
        assert_eq!(outcomes(&types, &map), Ok(MOST), "field {number}");
        for around in [4, 9] {
            let inner = MOST - head(around, MOST as u64).len();
            let len = inner - head(number, MOST as u64).len();
            let map = sparse(MOST, &[head(around, inner as u64), head(number, len as u64)].concat());
            assert_eq!(outcomes(&types, &map), Ok(MOST), "field {number} in {around}");
        }
    }
    // In a map.
    let inner = MOST - head(7, MOST as u64).len();
    let len = inner - 2 - head(2, MOST as u64).len();
    let map = sparse(MOST, &[head(7, inner as u64), vec![8, 1], head(2, len as u64)].concat());
    assert_eq!(outcomes(&types, &map), Ok(MOST));
}

#[test]
fn lengths_beyond_the_input() {
    let types = types();
    for number in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 77, 100] {
        let head_len = head(number, MOST as u64).len();
        let room = (MOST - head_len) as u64;
        // One byte too many, then what is right when it is cut to 31 or 32 bits, or negative.
        for len in [
            room + 1,
            1 << 31,
            (1 << 31) + 1,
            (1 << 32) - 1,
            1 << 32,
            (1 << 32) + 2,
            (1 << 32) + room,
            1 << 63,
            u64::MAX,
        ] {
            let map = sparse(MOST, &head(number, len));
            let tag_len = head(number, 0).len() - 1;
            let expected = Err((DecodeErrorKind::LengthOutOfBounds, tag_len));
            assert_eq!(outcomes(&types, &map), expected, "field {number}, {len:x}");
        }
    }
}

/// What would take more memory than there may be is refused before it is taken.
#[test]
fn lists_of_two_gib() {
    let types = types();
    for number in [6, 10] {
        let len = (MOST - head(number, MOST as u64).len()) / 8 * 8;
        let map = sparse(MOST, &head(number, len as u64));
        let input = &map[..head(number, MOST as u64).len() + len];
        let found = outcomes(&types, input).map_err(|(kind, _)| kind);
        assert_eq!(found, Err(DecodeErrorKind::MemoryLimit), "field {number}");
    }
}

/// Messages whose bytes are more than a message may have: each string is one GiB of a mapping that all of them share.
#[test]
fn messages_beyond_the_limit() {
    let types = types();
    let bytes = sparse(GIB, &[]);
    for ty in [&types.interp, &types.jit] {
        for (count, nested) in [(2, false), (4, false), (5, false), (3, true), (4, true)] {
            let arena = Arena::new();
            let message = huge(ty, &arena, &bytes, count, nested);
            let error = ty.encoded_len(message).unwrap_err();
            assert_eq!(error.kind(), EncodeErrorKind::MessageTooLarge, "{count}");
            let error = ty.encode_to_slice(message, &mut [0; 100]).map(<[u8]>::len).unwrap_err();
            assert!(
                matches!(error.kind(), EncodeErrorKind::MessageTooLarge | EncodeErrorKind::BufferTooSmall { .. }),
                "{count}: {error}"
            );
            // Into room that grows a GiB is copied first: enough to be shown once.
            if count == 2 {
                let error = ty.encode_into(message, &mut EncodeBuffer::new()).map(<[u8]>::len).unwrap_err();
                assert_eq!(error.kind(), EncodeErrorKind::MessageTooLarge, "{count}");
            }
        }
    }
}

fn huge<'a>(
    ty: &'a MessageType,
    arena: &'a Arena,
    bytes: &[u8],
    count: usize,
    nested: bool,
) -> protojit::MessageRef<'a> {
    let mut message = ty.new_in(arena).unwrap();
    let slots = [1, 8, 536_870_911].map(|number| ty.shape().slot(number).unwrap());
    for (at, slot) in slots.iter().enumerate() {
        let mut target = message.reborrow();
        if nested && at > 0 {
            target = message.mutable(ty.shape().slot(4).unwrap()).unwrap();
        }
        if at < count {
            // SAFETY: the caller keeps the mapping until the message is gone.
            unsafe { target.set_str_borrowed(slot, bytes) }.unwrap();
        }
    }
    for _ in slots.len()..count {
        let mut big = message.mutable(ty.shape().slot(4).unwrap()).unwrap();
        let mut big = big.mutable(ty.shape().slot(4).unwrap()).unwrap();
        let slot = if big.as_ref().has(slots[0]) { slots[2] } else { slots[0] };
        // SAFETY: as above.
        unsafe { big.set_str_borrowed(slot, bytes) }.unwrap();
    }
    message.freeze()
}
