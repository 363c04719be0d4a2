//! Both engines write the same bytes by every way out, into room of every size, directly before and behind unmapped
//! pages; and they refuse the same messages with the same errors.

#![cfg(feature = "jit")]

use protojit::{
    Arena, DecodeOptions, Direction, EncodeBuffer, EncodeError, EncodeErrorKind, EncodeOptions, Limits, MessageRef,
    MessageType, Runtime,
};
use protojit_testing::again::this_program;
use protojit_testing::dump::dump;
use protojit_testing::guard::Guarded;
use protojit_testing::pair::{Pair, Types};
use protojit_testing::rng::Rng;
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

type Written = Result<Vec<u8>, (EncodeErrorKind, String)>;

fn written(bytes: Result<&[u8], EncodeError>) -> Written {
    bytes.map(<[u8]>::to_vec).map_err(|error| (error.kind(), error.path().to_string()))
}

/// Everything that one engine makes of one message, which it decodes first: the ways out must agree with each other.
fn ways_out(ty: &MessageType, message: MessageRef<'_>, room: &mut Guarded, buffer: &mut EncodeBuffer) -> Written {
    let first = written(ty.encode_into(message, buffer));
    let mut appended = b"before".to_vec();
    let second = written(ty.append_to(message, &mut appended));
    assert_eq!(second, first);
    let len = first.as_ref().map_or(0, Vec::len);
    assert_eq!(appended.len(), 6 + len);
    assert_eq!(&appended[..6], b"before");
    if let Ok(bytes) = &first {
        assert_eq!(ty.encoded_len(message).unwrap(), len);
        let mut out = bytes::BytesMut::new();
        assert_eq!(ty.put_to(message, buffer, &mut out).unwrap(), len);
        assert_eq!(&out[..], bytes);
        if len != 0 {
            let mut short = vec![0; len - 1];
            let error = ty.put_to(message, buffer, &mut &mut short[..]).unwrap_err();
            assert_eq!(error.kind(), EncodeErrorKind::BufferTooSmall { needed: len });
        }
    }
    delimited(ty, message, &first, buffer);
    // Growth from every size.
    for capacity in [0, 1, 7, 8, 31, 32, 33, 40, len / 2, len, len + 31, len + 32, len + 33, len + 64] {
        let mut fresh = EncodeBuffer::with_capacity(capacity);
        assert_eq!(written(ty.encode_into(message, &mut fresh)), first, "capacity {capacity}");
    }
    // Where a message cannot be written at all, that counts only once there is room.
    let least = if first.is_ok() { len } else { 10_000 };
    for more in [0, 1, 2, 7, 8, 15, 31, 32, 33, 64] {
        let len = least;
        let tail = room.tail(len + more);
        assert_eq!(written(ty.encode_to_slice(message, tail)), first, "{more} bytes more");
        let head = room.head(len + more);
        assert_eq!(written(ty.encode_to_slice(message, head)), first, "{more} bytes more");
    }
    if first.is_ok() {
        for less in [1, 2, 5, 9, 33, len / 2, len] {
            let Some(size) = len.checked_sub(less).filter(|&size| size < len) else { continue };
            let slice = room.tail(size);
            let error = ty.encode_to_slice(message, slice).map(<[u8]>::len).unwrap_err();
            assert_eq!(error.kind(), EncodeErrorKind::BufferTooSmall { needed: len }, "{size} of {len} bytes");
        }
    }
    first
}

/// A record of a stream is the length, then the same bytes.
fn delimited(ty: &MessageType, message: MessageRef<'_>, bare: &Written, buffer: &mut EncodeBuffer) {
    let expected = bare.clone().map(|bytes| {
        let mut record = Vec::new();
        prost::encoding::encode_varint(bytes.len() as u64, &mut record);
        record.extend(bytes);
        record
    });
    assert_eq!(written(ty.encode_delimited_into(message, buffer)), expected);
    assert_eq!(written(ty.encode_delimited_into(message, &mut EncodeBuffer::new())), expected);
    let mut stream = b"before".to_vec();
    assert_eq!(written(ty.append_delimited_to(message, &mut stream)), expected);
    assert_eq!(stream.len(), 6 + expected.map_or(0, |record| record.len()));
}

/// Decodes for both engines, and writes what they have got.
fn check(types: &Types, input: &[u8], room: &mut Guarded, buffer: &mut EncodeBuffer) -> Option<Written> {
    let arenas = [Arena::new(), Arena::new()];
    let interp = types.interp.decode(input, &arenas[0]).ok()?;
    let jit = types.jit.decode(input, &arenas[1]).ok()?;
    let expected = ways_out(&types.interp, interp, room, buffer);
    assert_eq!(ways_out(&types.jit, jit, room, buffer), expected, "{}, {}", types.context, dump(interp));
    Some(expected)
}

fn no_disagreements(runtime: &Runtime) {
    for row in runtime.trace().programs {
        assert_eq!(row.disagreements, 0, "{row:?}");
    }
}

#[test]
fn by_every_way_out() {
    let (mut rng, mut room, mut buffer) = (Rng::new(11), Guarded::new(1 << 20), EncodeBuffer::new());
    let mut cases = 0;
    for name in schemas::ALL {
        let pair = Pair::new(name, &schemas::descriptor_set(name));
        for (id, full_name) in pair.messages() {
            let types = pair.types(&full_name);
            let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
            for _ in 0..30 {
                let style = *rng.pick(&[Style::PLAIN, Style::ODD]);
                let input = wire.message(id, style, *rng.pick(&[3, 30, 200]));
                cases += usize::from(check(&types, &input, &mut room, &mut buffer).is_some());
            }
        }
        no_disagreements(pair.jit.runtime());
        let trace = pair.jit.runtime().trace();
        assert_eq!(trace.fallbacks(Direction::Encode).count(), 0);
    }
    println!("{cases} messages");
    assert!(cases > 1500);
}

#[test]
fn with_every_option() {
    let (mut rng, mut room, mut buffer) = (Rng::new(12), Guarded::new(1 << 20), EncodeBuffer::new());
    let mut missing = 0;
    let pair = Pair::new("kinds2.proto", &schemas::descriptor_set("kinds2.proto"));
    for (id, full_name) in pair.messages() {
        let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
        for (deterministic, check_required) in [(true, true), (true, false), (false, false), (false, true)] {
            let options = EncodeOptions { deterministic, check_required };
            let decode = DecodeOptions { check_required: false, ..DecodeOptions::default() };
            let types = pair.types(&full_name).map(|ty| ty.with_decode_options(decode).with_encode_options(options));
            for _ in 0..12 {
                let style = Style { missing: 10, ..Style::MIXED };
                let input = wire.message(id, style, 40);
                match check(&types, &input, &mut room, &mut buffer) {
                    Some(Err((EncodeErrorKind::MissingRequired, _))) if check_required => missing += 1,
                    Some(Ok(_)) | None => {}
                    other => panic!("{full_name}: {other:?}"),
                }
            }
        }
    }
    no_disagreements(pair.jit.runtime());
    assert!(missing > 20, "{missing} messages lacked required fields");
}

#[test]
fn up_to_the_size_limit() {
    let set = schemas::descriptor_set("kinds2.proto");
    let (mut rng, mut room, mut buffer) = (Rng::new(13), Guarded::new(1 << 20), EncodeBuffer::new());
    let (mut written, mut refused) = (0, 0);
    // The decoder's limit is the same, so the messages come from elsewhere.
    let source = Pair::new("kinds2.proto", &set);
    for most in [0, 1, 2, 10, 33, 100, 1000] {
        let limits = Limits { max_message_bytes: most, ..Limits::default() };
        let pair = Pair::with("kinds2.proto", &set, Runtime::builder().limits(limits));
        for (id, full_name) in pair.messages() {
            let (types, from) = (pair.types(&full_name), source.types(&full_name));
            let mut wire = WireGen::new(source.interp.descriptors().data(), rng.fork());
            for _ in 0..4 {
                // As long as the limit, and a byte less or more.
                let mut input = wire.message(id, Style::PLAIN, 20);
                let Some(room_left) = most.checked_sub(input.len()) else { continue };
                if (8..120).contains(&room_left) {
                    input.extend([0xfa, 0x7f, (room_left - 3) as u8]);
                    input.extend(vec![1; room_left - 3]);
                }
                let arena = Arena::new();
                let Ok(decoded) = from.interp.decode(&input, &arena) else { continue };
                let Ok(expected) = from.interp.encode_to_vec(decoded) else { continue };
                let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
                    let mut message = ty.new_message();
                    let owned = Arena::new();
                    // Through the wire where that is allowed, else by hand: unknown fields make any length.
                    match ty.decode(&expected, &owned) {
                        Ok(decoded) => ways_out(ty, decoded, &mut room, &mut buffer),
                        Err(_) => {
                            message.as_mut().add_unknown(&[0xfa, 0x7f, 1, 0].repeat(most / 4 + 1)).unwrap();
                            ways_out(ty, message.as_ref(), &mut room, &mut buffer)
                        }
                    }
                });
                assert_eq!(interp, jit, "{full_name}, {most}");
                match interp {
                    Ok(_) => written += 1,
                    Err(_) => refused += 1,
                }
            }
            for bytes in [most, most + 1] {
                let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
                    let mut message = ty.new_message();
                    let field = |len: usize| [&[0xfa, 0x7f, (len - 3) as u8][..], &vec![7; len - 3]].concat();
                    match bytes {
                        0 => {}
                        3..=120 => message.as_mut().add_unknown(&field(bytes)).unwrap(),
                        _ => return None,
                    }
                    Some(ways_out(ty, message.as_ref(), &mut room, &mut buffer))
                });
                assert_eq!(interp, jit, "{full_name}, {most}");
                let missing = matches!(&interp, Some(Err((EncodeErrorKind::MissingRequired, _))));
                if let (Some(found), false) = (interp, missing) {
                    assert_eq!(found.is_ok(), bytes <= most, "{full_name}, {bytes} of {most}: {found:?}");
                    refused += usize::from(found.is_err());
                }
            }
        }
        no_disagreements(pair.jit.runtime());
    }
    assert!(written > 100 && refused > 50, "{written} written, {refused} refused");
}

/// Nested `levels` deep, by hand: no decoder would go that deep.
fn deep(ty: &MessageType, levels: usize, number: u32) -> protojit::Message {
    fn fill(mut message: protojit::MessageMut<'_>, levels: usize, number: u32) {
        if levels == 0 {
            return;
        }
        let slot = message.layout().slot(number).unwrap();
        let inner = match number {
            2 => message.push_message(slot),
            4 => {
                let mut map = message.map(slot).unwrap();
                fill(map.message(7i32).unwrap(), levels - 1, number);
                return;
            }
            _ => message.mutable(slot),
        };
        fill(inner.unwrap(), levels - 1, number);
    }
    let mut message = ty.new_message();
    fill(message.as_mut(), levels, number);
    message
}

#[test]
fn down_to_the_depth_limit() {
    let (mut room, mut buffer) = (Guarded::new(1 << 20), EncodeBuffer::new());
    let types = Pair::new("kinds2.proto", &schemas::descriptor_set("kinds2.proto")).types("kinds.Recursive");
    let limit = Limits::default().max_depth as usize;
    for (number, levels_each) in [(1, 1), (2, 1), (6, 1), (4, 2)] {
        for levels in [1, limit / levels_each - 1, limit / levels_each, limit / levels_each + 1, limit + 20] {
            let [interp, jit] = [&types.interp, &types.jit].map(|ty| {
                let message = deep(ty, levels, number);
                ways_out(ty, message.as_ref(), &mut room, &mut buffer)
            });
            assert_eq!(interp, jit);
            match interp {
                Ok(bytes) => {
                    assert!(levels * levels_each <= limit);
                    let arena = Arena::new();
                    assert!(types.jit.decode(&bytes, &arena).is_ok(), "what was written can be read");
                }
                Err((kind, _)) => {
                    assert_eq!(kind, EncodeErrorKind::DepthLimit);
                    assert!(levels * levels_each > limit);
                }
            }
        }
    }
}

/// Slices of every size up to the needed one, directly before and directly behind an unmapped page.
#[test]
fn into_slices_of_every_size() {
    let (mut rng, mut room, mut buffer) = (Rng::new(21), Guarded::new(1 << 16), EncodeBuffer::new());
    let mut sizes = 0;
    for name in schemas::ALL {
        let pair = Pair::new(name, &schemas::descriptor_set(name));
        for (id, full_name) in pair.messages() {
            let types = pair.types(&full_name);
            let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
            let input = wire.message(id, Style::PLAIN, 40);
            for ty in [&types.jit, &types.interp] {
                let arena = Arena::new();
                let Ok(message) = ty.decode(&input, &arena) else { continue };
                let Ok(expected) = written(ty.encode_into(message, &mut buffer)) else { continue };
                let needed = expected.len().min(2000);
                for size in (0..needed).chain([expected.len()]) {
                    sizes += 1;
                    let at_end = written(ty.encode_to_slice(message, room.tail(size)));
                    let at_begin = written(ty.encode_to_slice(message, room.head(size)));
                    assert_eq!(at_end, at_begin, "{full_name}, {size} bytes");
                    match at_end {
                        Ok(bytes) => assert_eq!((bytes, size), (expected.clone(), expected.len())),
                        Err((kind, _)) => {
                            assert_eq!(kind, EncodeErrorKind::BufferTooSmall { needed: expected.len() }, "{size}");
                        }
                    }
                }
            }
        }
        no_disagreements(pair.jit.runtime());
    }
    println!("{sizes} sizes");
    assert!(sizes > 10_000, "{sizes}");
}

/// Both engines write the same bytes of a hundred thousand messages, and read them back as the same message.
#[test]
fn a_hundred_thousand_messages() {
    let (mut rng, mut buffers) = (Rng::new(31), [EncodeBuffer::new(), EncodeBuffer::new()]);
    let mut arenas = [Arena::new(), Arena::new(), Arena::new()];
    let (mut tried, mut encoded) = (0, 0);
    let pairs: Vec<Pair> = schemas::ALL.iter().map(|&name| Pair::new(name, &schemas::descriptor_set(name))).collect();
    let mut all = Vec::new();
    for pair in &pairs {
        all.extend(pair.messages().into_iter().map(|(id, name)| (pair, id, pair.types(&name))));
    }
    while encoded < 100_000 {
        for (pair, id, types) in &all {
            let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
            for _ in 0..10 {
                tried += 1;
                let input = wire.message(*id, Style::PLAIN, *rng.pick(&[3, 20]));
                arenas.iter_mut().for_each(Arena::reset);
                let (Ok(a), Ok(b)) = (types.jit.decode(&input, &arenas[0]), types.interp.decode(&input, &arenas[1]))
                else {
                    continue;
                };
                let [first, second] = &mut buffers;
                let (a, b) = (types.jit.encode_into(a, first), types.interp.encode_into(b, second));
                let (Ok(a), Ok(b)) = (&a, &b) else {
                    assert!(a.is_err() && b.is_err(), "{}", types.context);
                    continue;
                };
                assert_eq!(a, b, "{}", types.context);
                let again = types.jit.decode(a, &arenas[2]).unwrap();
                assert_eq!(types.jit.encode_to_vec(again).unwrap(), *b, "{}", types.context);
                encoded += 1;
            }
        }
        assert!(tried < 1_000_000, "{encoded} of {tried}");
    }
    pairs.iter().for_each(|pair| no_disagreements(pair.jit.runtime()));
    println!("{encoded} messages");
}

/// Maps are hashed by a seed of the process; sorted they come out the same in all of them.
#[test]
fn deterministic_mode_is_stable_across_processes() {
    const CHILD: &str = "PROTOJIT_TEST_DETERMINISTIC";
    let set = schemas::descriptor_set("kinds3.proto");
    let (mut rng, mut out) = (Rng::new(41), Vec::new());
    let pair = Pair::new("kinds3.proto", &set);
    for (id, full_name) in pair.messages() {
        let options = EncodeOptions { deterministic: true, ..EncodeOptions::default() };
        let types = pair.types(&full_name).map(|ty| ty.with_encode_options(options));
        let mut wire = WireGen::new(pair.interp.descriptors().data(), rng.fork());
        for _ in 0..20 {
            let input = wire.message(id, Style::PLAIN, 200);
            for ty in [&types.jit, &types.interp] {
                let arena = Arena::new();
                if let Ok(message) = ty.decode(&input, &arena) {
                    ty.append_delimited_to(message, &mut out).unwrap();
                }
            }
        }
    }
    let text: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    if std::env::var_os(CHILD).is_some() {
        println!("\nbytes:{text}");
        return;
    }
    assert!(out.len() > 1000);
    for _ in 0..2 {
        let child = this_program(&["--exact", "deterministic_mode_is_stable_across_processes", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let stdout = String::from_utf8(child.stdout).unwrap();
        let bytes = stdout.lines().find_map(|line| line.strip_prefix("bytes:"));
        assert!(bytes == Some(&*text), "another process wrote other bytes, or none");
    }
}
