//! Which message is meant.

use protojit::descriptors::{MessageDescriptor, Schema as Descriptors};

use crate::failure::{Failure, Outcome};

/// How many names an error lists.
const MOST_NAMES: usize = 8;

/// The message of this full name, or the only one with this name in its package.
pub fn named(descriptors: &Descriptors, name: &str) -> Outcome<MessageDescriptor> {
    let name = name.strip_prefix('.').unwrap_or(name);
    if let Some(found) = descriptors.message(name) {
        return Ok(found);
    }
    let all = || descriptors.messages().filter(|message| !message.is_map_entry());
    let tail = |message: &MessageDescriptor| {
        let full = message.full_name();
        full.len() > name.len() && full.ends_with(name) && full.as_bytes()[full.len() - name.len() - 1] == b'.'
    };
    let found: Vec<MessageDescriptor> = all().filter(|message| !name.is_empty() && tail(message)).collect();
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let last = name.rsplit('.').next().unwrap_or(name);
            let mut near: Vec<_> = all().filter(|message| message.name().eq_ignore_ascii_case(last)).collect();
            let question = if near.is_empty() { "it has" } else { "did you mean" };
            if near.is_empty() {
                near = all().collect();
            }
            Err(Failure::Usage(format!("the schema has no message {name:?}; {question} {}", list(&near))))
        }
        several => Err(Failure::Usage(format!("{name:?} may be any of {}", list(several)))),
    }
}

/// The one that there is.
pub fn only(mut found: Vec<MessageDescriptor>) -> Outcome<MessageDescriptor> {
    match found.len() {
        0 => Err(Failure::Usage("the schema has no message at its top level; name one with -m".to_owned())),
        1 => Ok(found.remove(0)),
        _ => Err(Failure::Usage(format!("which message? Name it with -m; the schema has {}", list(&found)))),
    }
}

fn list(messages: &[MessageDescriptor]) -> String {
    if messages.is_empty() {
        return "none at all".to_owned();
    }
    let names: Vec<&str> = messages.iter().take(MOST_NAMES).map(|message| message.full_name()).collect();
    let more = messages.len() - names.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", names.join(", "))
}
