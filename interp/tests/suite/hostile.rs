//! Cut and mutated inputs, directly before an unmapped page: no byte beyond is read, and the fast and the careful code agree on the
//! message, and on kind, offset and path of the error.

use std::ptr::NonNull;

use protojit_core::error::{DecodeErrorKind, FieldPath};
use protojit_core::limits::Limits;
use protojit_core::memory::Arena;
use protojit_core::memory::alloc::Alloc;
use protojit_core::program::{DecodeOptions, DecodeProgram, DecodeRef};
use protojit_interp::decode::{CLOSED_BY_GROUP, DecodeCtx, Input, decode, decode_frame, decode_next, decode_with};

use crate::everything::{Random, proto2, proto3, proto3_with};
use crate::support::*;

/// Pages of which the last cannot be touched.
struct Guarded {
    pages: region::Allocation,
    end: usize,
}

impl Guarded {
    fn new() -> Guarded {
        let room = 64 << 10;
        let mut pages = region::alloc(room + region::page::size(), region::Protection::READ_WRITE).unwrap();
        let end = pages.len() - region::page::size();
        let last = pages.as_mut_ptr::<u8>().wrapping_add(end);
        // SAFETY: the last page of our own allocation.
        unsafe { region::protect(last, region::page::size(), region::Protection::NONE).unwrap() };
        Guarded { pages, end }
    }

    /// A copy of `bytes` that ends where the page does.
    fn place(&mut self, bytes: &[u8]) -> &'static [u8] {
        let at = self.pages.as_mut_ptr::<u8>().wrapping_add(self.end - bytes.len());
        // SAFETY: inside the writable pages. The slice is used before the next call, while `self` lives.
        unsafe {
            at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            std::slice::from_raw_parts(at, bytes.len())
        }
    }
}

type Outcome = Result<Tree, (DecodeErrorKind, usize, FieldPath)>;

fn whole(program: &DecodeRef, bytes: &[u8], mode: Input) -> Outcome {
    let arena = Arena::new();
    match decode(program, bytes, &arena, &Limits::default(), mode) {
        // SAFETY: decoded by this program, and still alive.
        Ok(root) => Ok(unsafe { tree(program.shape(), root.as_ptr()) }),
        Err(error) => Err((error.kind(), error.offset(), error.path().clone())),
    }
}

/// Decodes where the bytes lie, whatever their size: `steps` fields one by one, then the rest.
fn in_place(program: &DecodeRef, bytes: &[u8], steps: usize) -> Outcome {
    let (arena, limits) = (Arena::new(), Limits::default());
    let limit = bytes.as_ptr_range().end;
    let mut ctx = DecodeCtx::new(&arena, bytes.as_ptr(), limit, false, &limits);
    let root = ctx.alloc(program.size as usize).unwrap();
    // SAFETY: fresh memory of the message's size; the context was made for these bytes.
    unsafe {
        root.write_bytes(0, program.size as usize);
        let mut p = bytes.as_ptr();
        for _ in 0..steps {
            if p >= limit || p.is_null() {
                break;
            }
            p = decode_next(program, p, limit, root, &mut ctx);
        }
        if !p.is_null() && p.addr() & CLOSED_BY_GROUP == 0 {
            p = decode_frame(program, p, limit, root, &mut ctx);
        }
        if p == limit {
            if ctx.maybe_missing != 0 {
                return whole(program, bytes, Input::Borrow);
            }
            return Ok(tree(program.shape(), root));
        }
        let (kind, at) = ctx.error().unwrap_or((DecodeErrorKind::UnmatchedEndGroup, ctx.end_group_at));
        let mut path = ctx.take_path();
        path.reverse();
        let path = FieldPath::new(program.schema.clone(), program.message, path);
        Err((kind, at.addr() - bytes.as_ptr().addr(), path))
    }
}

/// All ways in give the same.
fn check(program: &DecodeRef, guarded: &mut Guarded, bytes: &[u8], steps: usize) -> Outcome {
    let bytes = guarded.place(bytes);
    let outcome = in_place(program, bytes, steps);
    assert_eq!(outcome, whole(program, bytes, Input::Copy), "{bytes:02x?}");
    assert_eq!(outcome, whole(program, bytes, Input::Borrow), "{bytes:02x?}");
    outcome
}

#[test]
fn cut_at_every_byte() {
    let mut guarded = Guarded::new();
    for fixture in [proto2(), proto3()] {
        let descriptor = fixture.pool.get_message_by_name("t.All").unwrap();
        let program = fixture.decoder("t.All");
        let mut seen = 0;
        for seed in 0..60 {
            let bytes = wire(&Random::new(seed).message(&descriptor, 2));
            if bytes.len() > 3000 {
                continue;
            }
            for cut in 0..=bytes.len() {
                let outcome = check(&program, &mut guarded, &bytes[..cut], seed as usize % 4);
                if let Err((kind, offset, _)) = outcome {
                    use DecodeErrorKind::*;
                    assert!(matches!(kind, Truncated | LengthOutOfBounds | UnclosedGroup | PackedLength), "{kind:?}");
                    assert!(offset <= cut);
                }
                seen += 1;
            }
        }
        assert!(seen > 10_000);
    }
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.bits() as u8,
            2 => {
                bytes.remove(at);
            }
            3 => bytes.insert(at, random.bits() as u8),
            4 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, 0x0b, 0x0c][random.below(7)],
            _ => bytes.truncate(at + 1),
        }
    }
}

#[test]
fn mutated() {
    let mut guarded = Guarded::new();
    for (which, fixture) in [proto2(), proto3(), proto3_with(false)].into_iter().enumerate() {
        let descriptor = fixture.pool.get_message_by_name("t.All").unwrap();
        let discard = DecodeOptions { keep_unknown: false, ..DecodeOptions::default() };
        let program = fixture.decoder("t.All");
        let discarding = fixture.decoder_with("t.All", discard);
        let encoder = fixture.encoder("t.All");
        let mut accepted = 0;
        for seed in 0..4000 {
            let mut random = Random::new(seed);
            let mut bytes = wire(&random.message(&descriptor, 1));
            bytes.truncate(3000);
            mutate(&mut random, &mut bytes);
            let outcome = check(&program, &mut guarded, &bytes, random.below(5));
            let other = check(&discarding, &mut guarded, &bytes, random.below(5));
            assert_eq!(outcome.as_ref().err(), other.as_ref().err());
            if let Ok(tree) = &outcome {
                accepted += 1;
                // What is accepted survives being written and read again.
                let again = round_trip(&program, &encoder, &bytes);
                assert_eq!(&tree_of(&program, &again).unwrap(), tree);
            }
            if which == 2 {
                // Without maps: prost-reflect reads their entries whatever wire type the tag has.
                match (&outcome, fixture.oracle("t.All", &bytes)) {
                    (Ok(tree), Ok(oracle)) => assert_eq!(tree.clone().unordered(), oracle_tree(&oracle).unordered()),
                    (Err(_), Err(_)) => {}
                    // prost-reflect refuses fields of another wire type, which the specification makes unknown ones.
                    (Ok(_), Err(error)) if error.to_string().contains("wire type") => {}
                    (outcome, oracle) => panic!("{outcome:?} {:?} {bytes:02x?}", oracle.map(drop)),
                }
            }
        }
        assert!((400..3600).contains(&accepted), "{accepted}");
    }
}

#[test]
fn noise() {
    let mut guarded = Guarded::new();
    let fixture = proto2();
    let program = fixture.decoder("t.All");
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let len = random.below(200);
        let few = random.below(2) == 0;
        let bytes: Vec<u8> = (0..len)
            .map(
                |_| if few { [1, 8, 0x0b, 0x0c, 0x80, 0xa3, 0x1f, 0xa4][random.below(8)] } else { random.bits() as u8 },
            )
            .collect();
        let _ = check(&program, &mut guarded, &bytes, random.below(3));
    }
}

/// What another engine's driver does: the interpreter tells why it failed, or that it need not have.
#[test]
fn another_engine() {
    let fixture = proto3();
    let program = fixture.decoder("t.All");
    let descriptor = fixture.pool.get_message_by_name("t.All").unwrap();
    let (arena, limits) = (Arena::new(), Limits::default());
    let bytes = wire(&Random::new(1).message(&descriptor, 1));
    let refuse = |_: &DecodeProgram, _: *const u8, _: *const u8, _: *mut u8, _: &mut DecodeCtx| -> *const u8 {
        std::ptr::null()
    };
    let full = |_: &DecodeProgram, p: *const u8, _: *const u8, _: *mut u8, ctx: &mut DecodeCtx| -> *const u8 {
        ctx.fail(DecodeErrorKind::MemoryLimit, p)
    };
    let honest = |program: &DecodeProgram, p: *const u8, limit: *const u8, msg: *mut u8, ctx: &mut DecodeCtx| {
        ctx.finished_bytes += 3;
        // SAFETY: the driver's own arguments.
        unsafe { decode_frame(program, p, limit, msg, ctx) }
    };
    // SAFETY: no message to merge into; all three keep the contract as far as they go.
    unsafe {
        for mode in [Input::Borrow, Input::Copy] {
            let kind = |result: Result<NonNull<u8>, protojit_core::error::DecodeError>| result.unwrap_err().kind();
            let cut = &bytes[..bytes.len() - 1];
            let disagreement = DecodeErrorKind::EngineDisagreement;
            assert_eq!(kind(decode_with(refuse, &program, None, &bytes, &arena, &limits, mode)), disagreement);
            let real = decode(&program, cut, &arena, &limits, mode).unwrap_err();
            assert_eq!(decode_with(refuse, &program, None, cut, &arena, &limits, mode).unwrap_err(), real);
            let memory = DecodeErrorKind::MemoryLimit;
            assert_eq!(kind(decode_with(full, &program, None, &bytes, &arena, &limits, mode)), memory);
            let root = decode_with(honest, &program, None, &bytes, &arena, &limits, mode).unwrap();
            assert_eq!(tree(program.shape(), root.as_ptr()), tree_of(&program, &bytes).unwrap());
        }
    }
    let counts: Vec<u64> = (0..4).map(|which| arena.counter(which).get()).collect();
    assert_eq!(counts, [8, 2, 6, 2]);
}
