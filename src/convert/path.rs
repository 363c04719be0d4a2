//! Where in a message something went wrong.

use std::fmt;

/// A step down into a message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PathStep {
    /// Into a field: its name, or `[full.name]` for an extension.
    Field(Box<str>),
    /// Into an element of a list.
    Index(usize),
    /// Into the value of a map's key, the key as text.
    Key(Box<str>),
    /// Into the message in an `Any`: its full name.
    Any(Box<str>),
}

/// A place in a message, with positions in lists and keys of maps: `Order.items[2].labels["size"]`.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ValuePath {
    root: Box<str>,
    steps: Vec<PathStep>,
}

impl ValuePath {
    /// `steps` as they are collected while an error rises: innermost first.
    pub(crate) fn from_innermost(root: &str, mut steps: Vec<PathStep>) -> ValuePath {
        steps.reverse();
        ValuePath { root: root.into(), steps }
    }

    /// The full name of the message that the path begins at.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[PathStep] {
        &self.steps
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root.rsplit('.').next().unwrap_or_default())?;
        for step in &self.steps {
            match step {
                PathStep::Field(name) => write!(f, ".{name}")?,
                PathStep::Index(at) => write!(f, "[{at}]")?,
                PathStep::Key(key) => write!(f, "[{key:?}]")?,
                PathStep::Any(name) => write!(f, ".({name})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}
