//! What programs that embed the library rely on: messages cross threads and `.await`s, batches are one thing, proxies
//! lose nothing, and nothing is shared on the way of a decode.

use std::hint::black_box;

use bytes::Bytes;
use protojit::{Arena, Batch, DecodeErrorKind, EncodeBuffer, Engine, Message, MessageRef, MessageType, Runtime};
use protojit_core::message::{Msg, Value};
use protojit_testing::dump::dump;
use protojit_testing::rng::Rng;
use protojit_testing::schemas::{descriptor_set, descriptor_set_of};
use protojit_testing::wire_gen::{Style, WireGen};

fn engines() -> impl Iterator<Item = Runtime> {
    [Engine::Auto, Engine::Interp].into_iter().map(|engine| Runtime::builder().engine(engine).build())
}

fn person(runtime: &Runtime) -> MessageType {
    runtime.register(&descriptor_set("hello.proto")).unwrap().message("hello.Person").unwrap()
}

fn people(count: usize) -> Vec<Vec<u8>> {
    let runtime = Runtime::builder().engine(Engine::Interp).build();
    let person = person(&runtime);
    let schema = person.schema().descriptors();
    let mut wire = WireGen::new(schema.data(), Rng::new(7));
    (0..count).map(|at| wire.message(person.descriptor().id(), Style::PLAIN, 5 + at % 60)).collect()
}

#[test]
fn what_goes_where() {
    fn everywhere<T: Send + Sync + 'static>() {}
    fn copied<T: Copy + Send + Sync>() {}
    everywhere::<Batch>();
    everywhere::<Message>();
    everywhere::<MessageType>();
    everywhere::<protojit::Shape>();
    copied::<MessageRef<'_>>();
    copied::<protojit_core::message::Field<Msg>>();
}

#[test]
fn messages_are_held_across_await() {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    for runtime in engines() {
        let person = person(&runtime);
        let name = person.shape().str("name").unwrap();
        let frames: Vec<Vec<u8>> = (0..100).map(|at| format!("\x0a\x06name{at:02}").into_bytes()).collect();
        let batch = person.decode_batch(&frames);
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let (batch, person) = (batch.clone(), person.clone());
                tokio.spawn(async move {
                    let mut seen = 0;
                    for (at, record) in batch.iter().enumerate() {
                        let message: MessageRef<'_> = record.unwrap();
                        let owned = person.decode_owned(format!("\x0a\x01{task}").as_bytes()).unwrap();
                        tokio::task::yield_now().await; // perhaps on another thread from here on
                        assert_eq!(message.get(name).to_str().unwrap(), format!("name{at:02}"));
                        assert_eq!(owned.as_ref().get(name).to_str().unwrap(), task.to_string());
                        seen += 1;
                    }
                    seen
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(tokio.block_on(task).unwrap(), 100);
        }
    }
}

#[test]
fn a_batch_has_a_record_for_each_frame() {
    for runtime in engines() {
        let person = person(&runtime);
        let mut frames = people(500);
        for at in (0..500).step_by(37) {
            frames[at] = b"\x0a\x05ab".to_vec();
        }
        let frames: Vec<Bytes> = frames.into_iter().map(Bytes::from).collect();
        let batches = [person.decode_batch(&frames), person.decode_batch_bytes(frames.iter().cloned())];
        let arena = Arena::new();
        for batch in batches {
            assert_eq!((batch.len(), batch.iter().len(), batch.is_empty()), (500, 500, false));
            for (at, (frame, record)) in frames.iter().zip(&batch).enumerate() {
                match (record, person.decode(frame, &arena)) {
                    (Ok(found), Ok(expected)) => assert_eq!(dump(found), dump(expected), "{at}"),
                    (Err(found), Err(expected)) => {
                        assert_eq!((found.kind(), found.offset()), (expected.kind(), expected.offset()));
                        assert_eq!((found.kind(), at % 37), (DecodeErrorKind::LengthOutOfBounds, 0));
                    }
                    (found, expected) => panic!("{at}: {found:?} and {expected:?}"),
                }
            }
            assert_eq!(batch.errors().count(), 14);
            assert!(batch.get(500).is_none());
            assert!(format!("{batch:?}").starts_with('['));
        }
        assert!(person.decode_batch::<[&[u8]; 0]>([]).is_empty());
    }
}

#[test]
fn a_batch_outlives_everything_and_gives_its_memory_back() {
    for runtime in engines() {
        let person = person(&runtime);
        let mut frame = b"\x42\x80\x10".to_vec();
        frame.resize(3 + 2048, 9);
        let frame = Bytes::from(frame);
        let borrowed = person.decode_batch_bytes([frame.clone()]);
        let copied = person.decode_batch([&frame]);
        drop((person, runtime));
        for batch in [&borrowed, &copied] {
            let avatar = batch.shape().bytes("avatar").unwrap();
            assert_eq!(batch.get(0).unwrap().unwrap().get(avatar), &frame[3..]);
        }
        assert!(!frame.is_unique());
        let second = borrowed.clone();
        assert!(borrowed.into_arena().is_none());
        let arena = second.into_arena().unwrap();
        assert!(frame.is_unique(), "the arena lets go of the input");
        assert_eq!(arena.used(), 0);
        let reserved = copied.into_arena().unwrap().reserved();
        assert!(reserved > 2048, "the memory is there for the next batch");
    }
}

#[test]
fn a_full_arena_is_an_error_of_its_records() {
    for runtime in engines() {
        let person = person(&runtime);
        let frames = vec![b"\x0a\x03Ada".to_vec(); 1000];
        let batch = person.decode_batch_in(&frames, Arena::with_limit(64 << 10));
        let good = batch.iter().filter(Result::is_ok).count();
        assert!(good > 50 && good < 1000, "{good}");
        assert!(batch.errors().all(|(_, error)| error.kind() == DecodeErrorKind::MemoryLimit));
    }
}

/// A proxy reads two fields, changes one and passes on everything else.
#[test]
fn a_proxy_loses_nothing() {
    let known = descriptor_set_of(
        "syntax = \"proto3\"; message M { string tenant = 1; int32 hops = 2; Sub sub = 5; } message Sub { int32 x = 1; }",
    );
    let unknown: [&[u8]; 6] =
        [b"\x18\x96\x01", b"\x22\x03abc", b"\xa5\x06abcd", b"\x21abcdefgh", b"\xa3\x06\x08\x01\xa4\x06", b"\x22\x00"];
    let sub_unknown = b"\x2a\x0b\x12\x02zz\x08\x07\x12\x01y\x1a\x00";
    for runtime in engines() {
        let ty = runtime.register(&known).unwrap().message("M").unwrap();
        let (tenant, hops) = (ty.shape().str("tenant").unwrap(), ty.shape().i32("hops").unwrap());
        // Short, and long enough for the input to be borrowed.
        for filler in [0, 1000] {
            let mut input = b"\x0a\x03old".to_vec();
            input.extend(unknown[..3].concat());
            input.extend([0x10, 0x07]);
            input.extend(sub_unknown);
            input.extend(unknown[3..].concat());
            if filler > 0 {
                input.extend([&b"\xfa\x07\xe8\x07"[..], &[5; 1000]].concat());
            }
            let (arena, mut out) = (Arena::new(), EncodeBuffer::new());
            let mut m = ty.decode_mut(&input, &arena).unwrap();
            assert_eq!((m.as_ref().get(tenant).to_str().unwrap(), m.as_ref().get(hops)), ("old", 7));
            m.set(tenant, "another one").unwrap();
            let passed_on = m.encode_into(&mut out).unwrap();
            let mut expected = b"\x0a\x0banother one\x10\x07\x2a\x0b\x08\x07\x12\x02zz\x12\x01y\x1a\x00".to_vec();
            expected.extend(unknown.concat());
            if filler > 0 {
                expected.extend([&b"\xfa\x07\xe8\x07"[..], &[5; 1000]].concat());
            }
            assert_eq!(passed_on, expected);
        }
    }
}

#[test]
fn messages_are_built_changed_copied_and_compared() {
    for runtime in engines() {
        let person = person(&runtime);
        let shape = person.shape();
        let arena = Arena::new();
        let mut m = person.build(&arena).unwrap();
        m.set(shape.str("name").unwrap(), "Ada").unwrap();
        m.set(shape.i32("address.zip").unwrap(), 1815).unwrap();
        m.list_of(shape.list_str("emails").unwrap()).unwrap().extend(["a@b", "c@d"]).unwrap();
        m.map_of(shape.map::<protojit_core::message::Str, i32>("ages_by_nickname").unwrap())
            .unwrap()
            .insert("the countess", 36)
            .unwrap();
        let friends = shape.list_message("friends").unwrap();
        let mut list = m.list_of(friends).unwrap();
        let mut friend = list.push_message().unwrap();
        friend.set(shape.str("name").unwrap(), "Charles").unwrap();
        m.unset(shape.i32("age").unwrap()).unwrap();
        let bytes = m.encode_to_vec().unwrap();

        let owned = Message::copy_of(shape, m.as_ref()).unwrap();
        let mut other = owned.clone();
        assert_eq!(owned, other);
        assert_eq!(person.decode_owned(&bytes).unwrap(), owned);
        assert_eq!(person.encode_to_vec(owned.as_ref()).unwrap(), bytes);
        other.as_mut().set_slot(shape.slot_named("age").unwrap(), Value::I32(1)).unwrap();
        assert_ne!(owned, other);
        assert!(format!("{other:?}").starts_with("Person { name: \"Ada\", age: 1"));

        // Merged, and decoded again into the same message.
        let mut target = person.new_message();
        person.merge(&mut target.as_mut(), &bytes).unwrap();
        assert_eq!(target, owned);
        person.merge(&mut target.as_mut(), &bytes).unwrap();
        assert_eq!(target.as_ref().get(friends).len(), 2);
        target.as_mut().clear();
        person.merge(&mut target.as_mut(), &bytes).unwrap();
        assert_eq!(target, owned);
        // Half of it is there after an error.
        let error = person.merge(&mut target.as_mut(), b"\x0a\x03Eve\x10").unwrap_err();
        assert_eq!((error.kind(), error.offset()), (DecodeErrorKind::Truncated, 6));
        let address = person.schema().message("hello.Address").unwrap();
        let error = address.merge(&mut target.as_mut(), b"").unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::WrongType);
    }
}

/// Nanoseconds of processor time that this thread took.
#[cfg(target_os = "linux")]
fn thread_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Two threads that decode and encode one type do not slow each other down.
///
/// On the way of a decode into an arena that is used again there is no atomic operation that writes: the arena compares
/// the type with the one that it pinned last (a plain load), counts are plain cells of the arena, and the entry of
/// compiled code is loaded with `Acquire`, a plain load on x86-64 and arm64. What writes to shared memory is pinning
/// (one increment when an arena meets a type first) and passing counts on (a few additions each thousand decodes). An
/// encode adds one to a counter of its thread's own shard. Were there one contended increment per message, the
/// processor time of both threads together would be a multiple.
#[cfg(target_os = "linux")]
#[test]
fn two_threads_share_a_type_without_contention() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 || thread_time() == 0 {
        return;
    }
    let person = person(&Runtime::new());
    let work = || {
        let (mut arena, mut out) = (Arena::new(), EncodeBuffer::new());
        let begun = thread_time();
        for _ in 0..300_000 {
            let message = person.decode(black_box(b"\x0a\x03Ada\x10\x24"), &arena).unwrap();
            black_box(person.encode_into(message, &mut out).unwrap());
            arena.reset();
        }
        thread_time() - begun
    };
    let best = (0..6)
        .map(|_| {
            let alone = work();
            let together: u64 = std::thread::scope(|scope| {
                let threads = [scope.spawn(work), scope.spawn(work)];
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            together as f64 / 2.0 / alone as f64
        })
        .fold(f64::INFINITY, f64::min);
    assert!(best < 1.5, "each of two threads takes {best:.2} times the processor time of one alone");
}
