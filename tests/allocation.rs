//! Nothing is taken from the allocator once everything has been used before: not for a decode into an arena that was reset, nor
//! for an encode into a buffer that is used again; by either engine.
//!
//! Two things may allocate, and are left out: errors, and the search for required fields that is made where a frame ended without
//! one (it keeps a stack of its own).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use protojit::{Arena, EncodeBuffer, Engine, Runtime};
use protojit_testing::rng::Rng;
use protojit_testing::schemas;
use protojit_testing::wire_gen::{Style, WireGen};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    // Threads that are ending count no more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: the system's allocator, and a counter.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as promised to this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as promised to this function.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as promised to this function.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `work` asks the allocator for memory.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn none_after_the_first_round() {
    let mut rng = Rng::new(31);
    let (mut rounds, mut payload_count) = (0, 0);
    for name in schemas::ALL {
        let set = schemas::descriptor_set(name);
        for engine in [Engine::Jit, Engine::Interp] {
            let schema = Runtime::builder().engine(engine).build().register(&set).unwrap();
            for message in schema.descriptors().messages() {
                if message.is_map_entry() {
                    continue;
                }
                let ty = schema.message_type(&message);
                let mut wire = WireGen::new(schema.descriptors().data(), rng.fork());
                let odd = Style { not_utf8: 0, ..Style::ODD };
                let mut payloads: Vec<Vec<u8>> = match ty.shape().reaches_required {
                    true => (0..ty.shape().fields.len()).map(|field| wire.single(message.id(), field)).collect(),
                    false => {
                        (0..9).map(|n| wire.message(message.id(), [Style::PLAIN, odd][n % 2], n * n * 8)).collect()
                    }
                };
                payloads.retain(|payload| ty.decode(payload, &Arena::new()).is_ok());
                payload_count += payloads.len();
                let (mut arena, mut buffer) = (Arena::new(), EncodeBuffer::new());
                let mut round = || {
                    for payload in &payloads {
                        arena.reset();
                        if let Ok(decoded) = ty.decode(payload, &arena) {
                            let _ = ty.encode_into(decoded, &mut buffer);
                        }
                        arena.reset();
                        let _ = ty.decode_copied(payload, &arena);
                    }
                };
                (0..2).for_each(|_| round());
                let found = allocations(|| (0..3).for_each(|_| round()));
                assert_eq!(found, 0, "{}, {engine}", message.full_name());
                rounds += 1;
            }
        }
    }
    println!("{rounds} message types, {payload_count} payloads");
    assert!(rounds > 120 && payload_count > 6 * rounds);
}
