//! What operators are told: once a reason, however many messages are interpreted for it.

#![cfg(feature = "jit")]

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use protojit::{Engine, Runtime};
use protojit_testing::many;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps the level and the fields of every event.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Level, String)>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}

impl Subscriber for Kept {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn the_first_message_of_a_reason_is_a_warning_and_the_others_are_counted() {
    let kept = Kept::default();
    let runtime = tracing::subscriber::with_default(kept.clone(), || {
        let runtime = Runtime::builder().engine(Engine::Jit).max_compiled_fields(2).build();
        for number in 0..5 {
            runtime.register(&many::version(number)).unwrap().message("order.Order").unwrap().compile().unwrap_err();
        }
        runtime
    });
    let events = kept.0.lock().unwrap();
    let warnings: Vec<_> = events.iter().filter(|(level, _)| *level <= Level::WARN).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let text = &warnings[0].1;
    assert!(
        text.contains("message-too-large") && text.contains("order.Order") && text.contains("bound of 2"),
        "{text}"
    );
    // Encode is not asked for where decode failed.
    assert_eq!(runtime.trace().failures["message-too-large"], 5);
}

#[test]
fn a_runtime_that_compiles_and_one_that_is_not_to_warn_of_nothing() {
    let kept = Kept::default();
    tracing::subscriber::with_default(kept.clone(), || {
        for engine in [Engine::Jit, Engine::Interp] {
            let runtime = Runtime::builder().engine(engine).build();
            let ty = runtime.register(&many::version(0)).unwrap().message("order.Order").unwrap();
            ty.encode_to_vec(ty.new_message().as_ref()).unwrap();
        }
    });
    let events = kept.0.lock().unwrap();
    assert!(events.iter().all(|(level, _)| *level > Level::WARN), "{events:?}");
}
