//! Required fields that are not set. Without recursion: messages may be nested as deep as they like.

use super::{KeyRef, MessageRef, ValueRef};
use crate::error::FieldPath;
use crate::program::Layout;

/// A message on the way down, and how far its fields have been followed.
struct Level<'a> {
    message: MessageRef<'a>,
    /// The position of the field that is being followed.
    field: usize,
    /// Its element or entry to be followed next.
    next: usize,
    /// Whether there is an entry's value between this message and the one below.
    entry: Option<u32>,
}

impl<'a> MessageRef<'a> {
    /// Whether all required fields are set, here and in all messages below.
    pub fn is_initialized(self) -> bool {
        self.missing_required().is_none()
    }

    /// The path to a required field that is not set; `None` where all are set. It is the
    /// first one found: those of a message in the order of their numbers, then those of the messages below.
    pub fn missing_required(self) -> Option<FieldPath> {
        let layout = self.layout();
        let path = |numbers| FieldPath::new(layout.schema.clone(), layout.message, numbers);
        self.missing_numbers().map(path)
    }

    fn missing_numbers(self) -> Option<Vec<u32>> {
        if !self.layout().reaches_required {
            return None;
        }
        if let Some(number) = own_missing(self) {
            return Some(vec![number]);
        }
        let mut levels = vec![Level { message: self, field: 0, next: 0, entry: None }];
        while let Some(level) = levels.last_mut() {
            let Some(below) = level.step() else {
                levels.pop();
                continue;
            };
            if let Some(number) = own_missing(below) {
                let path = levels.iter().flat_map(|level| {
                    let field = level.message.layout().fields[level.field].number;
                    [Some(field), level.entry].into_iter().flatten()
                });
                return Some(path.chain([number]).collect());
            }
            levels.push(Level { message: below, field: 0, next: 0, entry: None });
        }
        None
    }
}

fn own_missing(message: MessageRef<'_>) -> Option<u32> {
    let layout = message.layout();
    let missing = layout.required.iter().map(|&at| &layout.fields[at as usize]).find(|slot| !message.has(slot));
    missing.map(|slot| slot.number)
}

impl<'a> Level<'a> {
    /// The next message below that may lack something.
    fn step(&mut self) -> Option<MessageRef<'a>> {
        let layout = self.message.layout();
        while let Some(slot) = layout.fields.get(self.field) {
            let follow = slot.child.get().is_some_and(|child: &Layout| child.reaches_required);
            let value = if follow { self.message.get_set(slot) } else { None };
            let at = self.next;
            let below = match value {
                Some(ValueRef::Message(message)) if at == 0 => Some(message),
                Some(ValueRef::List(list)) => list.get(at).and_then(ValueRef::as_message),
                Some(ValueRef::Map(map)) => map.entry(at).and_then(|(_, value): (KeyRef<'_>, _)| value.as_message()),
                _ => None,
            };
            if below.is_some() {
                self.next += 1;
                self.entry = slot.entry.is_some().then_some(2);
                return below;
            }
            (self.field, self.next) = (self.field + 1, 0);
        }
        None
    }
}
