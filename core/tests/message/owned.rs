//! Messages that own their memory, and threads.

use protojit_core::memory::Arena;
use protojit_core::message::{ListRef, MapRef, Message, MessageRef, SetError, UnknownFields, ValueRef};

use crate::schema::{shape, slot};

const fn copy_send_sync<T: Copy + Send + Sync>() {}
const fn send_sync_static<T: Send + Sync + 'static>() {}

const _: () = {
    copy_send_sync::<MessageRef<'static>>();
    copy_send_sync::<ValueRef<'static>>();
    copy_send_sync::<ListRef<'static>>();
    copy_send_sync::<MapRef<'static>>();
    copy_send_sync::<UnknownFields<'static>>();
    send_sync_static::<Message>();
};

fn person() -> Message {
    let shape = shape("Person");
    let mut message = Message::new(shape.clone());
    let mut person = message.as_mut();
    person.set_slot(slot(&shape, "name"), "Ada").unwrap();
    person.push(slot(&shape, "scores"), 42).unwrap();
    person.map(slot(&shape, "labels")).unwrap().insert("k", "v").unwrap();
    message
}

#[test]
fn many_threads_read_one_message() {
    let message = std::sync::Arc::new(person());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let message = message.clone();
            std::thread::spawn(move || {
                let read = (*message).as_ref();
                assert_eq!(read.get_by_name("name").unwrap().as_str().unwrap(), "Ada");
                assert_eq!(read.get_by_name("scores").unwrap().as_list().unwrap().as_i32s(), Some(&[42][..]));
                assert_eq!(read.get_by_name("labels").unwrap().as_map().unwrap().len(), 1);
                assert!(*message == (*message).clone());
                read.set_fields().count()
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 3));
}

#[test]
fn owned_messages() {
    let mut message = person();
    let copy = message.clone();
    assert_eq!(message, copy);
    let mut changed = message.as_mut();
    changed.set_slot(changed.layout().slot(1).unwrap(), "Bob").unwrap();
    assert_ne!(message, copy);
    assert_eq!(copy.compact(), copy);
    assert_eq!(format!("{copy:?}"), "Person { name: \"Ada\", scores: [42], labels: {\"k\": \"v\"} }");
    let other = shape("Wide");
    assert_eq!(Message::copy_of(&other, copy.as_ref()).err(), Some(SetError::OtherLayout));
    assert!(Message::with_arena(&other, Arena::with_limit(16)).is_err());
}

#[test]
fn sub_messages_can_be_copied_out() {
    let shape = shape("Person");
    let (address, zip) = (slot(&shape, "address"), shape.i32("address.zip").unwrap());
    let mut message = Message::new(shape.clone());
    message.as_mut().set(zip, 7).unwrap();
    let below = shape.follow(&address.child).unwrap();
    let copy = Message::copy_of(&below, message.as_ref().get_slot(address).as_message().unwrap()).unwrap();
    drop((message, shape));
    assert_eq!(copy.as_ref().get(below.i32("zip").unwrap()), 7);
}
