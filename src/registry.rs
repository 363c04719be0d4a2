//! Schemas under names, replaced while others read.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::schema::Schema;

/// Schemas under names, such as topics or subjects, that can be replaced while other threads decode.
///
/// A reader sees the schema from before or the one from after, never anything between, and takes no lock. What it got
/// stays valid as long as it holds it: replaced schemas go when their last handle does, code included.
///
/// Readers that look up a name per message touch the reference count of the schema they get. Those that mind hold the
/// [`MessageType`](crate::MessageType) instead: decoding touches nothing shared.
///
/// ```
/// use protojit::{Registry, Runtime};
/// let (runtime, registry) = (Runtime::new(), Registry::new());
/// let (old, new) = (runtime.register(&[]).unwrap(), Runtime::new().register(&[]).unwrap());
/// assert!(registry.replace("orders", old).is_none());
/// assert!(registry.replace("orders", new).is_some());
/// assert!(registry.get("orders").is_some() && registry.get("invoices").is_none());
/// assert!(registry.remove("orders").is_some() && registry.get("orders").is_none());
/// ```
#[derive(Debug, Default)]
pub struct Registry {
    names: ArcSwap<HashMap<Arc<str>, Schema>>,
}

impl Registry {
    /// Without names.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// The schema that has this name now.
    pub fn get(&self, name: &str) -> Option<Schema> {
        self.names.load().get(name).cloned()
    }

    /// Gives the name to a schema; gives the one that had it. Copies the table of names: writers pay for readers.
    pub fn replace(&self, name: &str, schema: Schema) -> Option<Schema> {
        let key: Arc<str> = name.into();
        let before = self.names.rcu(|names| {
            let mut names = HashMap::clone(names);
            names.insert(key.clone(), schema.clone());
            names
        });
        before.get(name).cloned()
    }

    /// Takes the name away; gives the schema that had it.
    pub fn remove(&self, name: &str) -> Option<Schema> {
        let before = self.names.rcu(|names| {
            let mut names = HashMap::clone(names);
            names.remove(name);
            names
        });
        before.get(name).cloned()
    }

    /// The names, in no particular order.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.names.load().keys().cloned().collect()
    }
}
