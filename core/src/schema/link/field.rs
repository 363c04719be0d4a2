//! One field: type, presence, encoding, default.
//!
//! proto2 and proto3 said with labels and options what editions say with features. The
//! legacy ways are understood in every edition, as overrides on the field itself.

use super::{
    super::{
        descriptor::RawField,
        error::SchemaErrorKind as Kind,
        features::{FeatureOverrides, Features, FieldPresence, MessageEncoding, RepeatedFieldEncoding, Utf8Validation},
        model::{DefaultValue, FieldDef, FieldKind, FileId, MessageId, Presence},
    },
    Linker, Result, default,
    resolve::Target,
};

pub(super) const TYPE_GROUP: i32 = 10;
pub(super) const TYPE_MESSAGE: i32 = 11;
pub(super) const TYPE_ENUM: i32 = 14;

const MAX_NUMBER: i32 = (1 << 29) - 1;

/// Where a field is at home.
pub(super) enum Home {
    Message(MessageId),
    Extension { extendee: MessageId, features: Features },
}

#[derive(Clone, Copy, PartialEq)]
enum Label {
    Optional,
    Required,
    Repeated,
}

fn invalid<T>(what: &'static str) -> Result<T, Kind> {
    Err(Kind::InvalidField { what })
}

fn invalid_map<T>(what: &'static str) -> Result<T, Kind> {
    Err(Kind::InvalidMap { what })
}

impl<'a> Linker<'a> {
    pub(super) fn build_field(
        &self,
        home: &Home,
        file: FileId,
        raw: &RawField<'a>,
        target: Option<Target>,
    ) -> Result<FieldDef, Kind> {
        let number = self.field_number(home, raw)?;
        let label = match raw.label {
            None | Some(1) => Label::Optional,
            Some(2) => Label::Required,
            Some(3) => Label::Repeated,
            Some(_) => return invalid("unknown label"),
        };
        let kind = kind_of(raw, target)?;
        let oneof = self.check_oneof(home, raw, label)?;
        let features = self.field_features(home, file, raw, oneof)?;
        let is_extension = matches!(home, Home::Extension { .. });
        if is_extension && label == Label::Required {
            return invalid("an extension cannot be required");
        }
        let presence = if label == Label::Repeated {
            Presence::Repeated
        } else if label == Label::Required {
            Presence::Required
        } else if is_extension || oneof.is_some() || raw.proto3_optional {
            Presence::Explicit
        } else {
            match (features.field_presence, kind) {
                (FieldPresence::LegacyRequired, _) => Presence::Required,
                (_, FieldKind::Message(_)) | (FieldPresence::Explicit, _) => Presence::Explicit,
                (FieldPresence::Implicit, _) => Presence::Implicit,
            }
        };
        let in_entry = match home {
            Home::Message(id) => self.data.messages[id.index()].is_map_entry,
            Home::Extension { .. } => false,
        };
        let is_map = self.check_map(home, raw, label, kind, in_entry)?;
        self.check_implicit_enum(presence, kind)?;
        let mut field = FieldDef {
            name: raw.name.into(),
            json_name: match raw.json_name {
                Some(name) if !name.is_empty() => name.into(),
                _ => json_name(raw.name),
            },
            number,
            kind,
            presence,
            packed: presence == Presence::Repeated
                && kind.is_packable()
                && features.repeated_field_encoding == RepeatedFieldEncoding::Packed,
            validate_utf8: kind == FieldKind::String && features.utf8_validation == Utf8Validation::Verify,
            // Maps and what is in them are always length-prefixed.
            delimited: matches!(kind, FieldKind::Message(_))
                && features.message_encoding == MessageEncoding::Delimited
                && !is_map
                && !in_entry,
            is_map,
            oneof,
            default: None,
            raw: raw.range.clone(),
            options: raw.options.range.clone(),
        };
        if let Some(text) = raw.default {
            field.default = self.default_of(&field, text).map_err(|what| Kind::InvalidDefault {
                text: super::clip(&String::from_utf8_lossy(&text[..text.len().min(300)])),
                what,
            })?;
        }
        Ok(field)
    }

    fn field_number(&self, home: &Home, raw: &RawField<'a>) -> Result<u32, Kind> {
        let max = match home {
            Home::Extension { extendee, .. } if self.data.messages[extendee.index()].is_message_set => i32::MAX - 1,
            _ => MAX_NUMBER,
        };
        if raw.number < 1 || raw.number > max {
            return Err(Kind::InvalidNumber { number: raw.number });
        }
        Ok(raw.number as u32)
    }

    fn check_oneof(&self, home: &Home, raw: &RawField<'a>, label: Label) -> Result<Option<u32>, Kind> {
        let wrong = |what| Err(Kind::InvalidOneof { what });
        let Some(index) = raw.oneof else {
            return Ok(None);
        };
        let Home::Message(id) = home else {
            return wrong("an extension cannot be a member");
        };
        let count = self.data.messages[id.index()].oneofs.len();
        match u32::try_from(index) {
            Ok(index) if (index as usize) < count => {
                if label != Label::Optional {
                    return wrong("a member can be neither required nor repeated");
                }
                Ok(Some(index))
            }
            _ => wrong("no oneof has this index"),
        }
    }

    fn field_features(
        &self,
        home: &Home,
        file: FileId,
        raw: &RawField<'a>,
        oneof: Option<u32>,
    ) -> Result<Features, Kind> {
        let own = &raw.options.features;
        self.check_overrides(file, own)?;
        let outer = match *home {
            Home::Extension { features, .. } => features,
            Home::Message(id) => {
                let state = &self.messages[id.index()];
                match oneof {
                    Some(index) => {
                        let oneof = &self.raw_oneofs[state.oneofs.start + index as usize];
                        self.check_overrides(file, &oneof.options.features)?;
                        state.features.merged(&oneof.options.features)
                    }
                    None => state.features,
                }
            }
        };
        // The legacy spellings.
        let legacy = FeatureOverrides {
            repeated_field_encoding: raw
                .options
                .packed
                .map(|packed| if packed { RepeatedFieldEncoding::Packed } else { RepeatedFieldEncoding::Expanded }),
            message_encoding: (raw.kind == Some(TYPE_GROUP)).then_some(MessageEncoding::Delimited),
            ..FeatureOverrides::default()
        };
        Ok(outer.merged(own).merged(&legacy))
    }

    /// Whether the field is a map; an error where it uses an entry that is not its own.
    fn check_map(
        &self,
        home: &Home,
        raw: &RawField<'a>,
        label: Label,
        kind: FieldKind,
        in_entry: bool,
    ) -> Result<bool, Kind> {
        let FieldKind::Message(target) = kind else {
            return Ok(false);
        };
        if in_entry && raw.kind == Some(TYPE_GROUP) {
            return invalid_map("the value cannot be a group");
        }
        let entry = &self.data.messages[target.index()];
        if !entry.is_map_entry {
            return Ok(false);
        }
        match home {
            Home::Message(id) if entry.parent == Some(*id) => {}
            _ => return invalid_map("the entry type must be nested in the message that uses it"),
        }
        if label != Label::Repeated || raw.kind == Some(TYPE_GROUP) {
            return invalid_map("an entry type can only be used by a repeated field");
        }
        Ok(true)
    }

    /// Absent means zero under implicit presence, which a closed enum may not have.
    fn check_implicit_enum(&self, presence: Presence, kind: FieldKind) -> Result<(), Kind> {
        if let (Presence::Implicit, FieldKind::Enum(id)) = (presence, kind) {
            let first = self.data.enums[id.index()].values.first();
            if first.is_some_and(|value| value.number != 0) {
                return invalid("implicit presence needs an enum that begins with zero");
            }
        }
        Ok(())
    }

    fn default_of(&self, field: &FieldDef, text: &[u8]) -> Result<Option<DefaultValue>, &'static str> {
        match field.presence {
            Presence::Repeated => return Err("repeated fields have none"),
            Presence::Implicit => return Err("fields of implicit presence have none"),
            Presence::Explicit | Presence::Required => {}
        }
        match field.kind {
            FieldKind::Message(_) => Err("messages have none"),
            FieldKind::Enum(id) => {
                let def = &self.data.enums[id.index()];
                if def.placeholder {
                    return Ok(None);
                }
                let name = std::str::from_utf8(text).unwrap_or_default();
                let &index = def.by_name.get(name).ok_or("no such enum value")?;
                let number = def.values[index as usize].number;
                Ok(Some(DefaultValue::Bits(i64::from(number) as u64)))
            }
            kind => {
                if field.validate_utf8 && std::str::from_utf8(text).is_err() {
                    return Err("not UTF-8");
                }
                default::parse(kind, text).map(Some)
            }
        }
    }
}

fn kind_of(raw: &RawField<'_>, target: Option<Target>) -> Result<FieldKind, Kind> {
    match target {
        Some(Target::Message(id)) => return Ok(FieldKind::Message(id)),
        Some(Target::Enum(id)) => return Ok(FieldKind::Enum(id)),
        None => {}
    }
    Ok(match raw.kind {
        Some(1) => FieldKind::Double,
        Some(2) => FieldKind::Float,
        Some(3) => FieldKind::Int64,
        Some(4) => FieldKind::Uint64,
        Some(5) => FieldKind::Int32,
        Some(6) => FieldKind::Fixed64,
        Some(7) => FieldKind::Fixed32,
        Some(8) => FieldKind::Bool,
        Some(9) => FieldKind::String,
        Some(12) => FieldKind::Bytes,
        Some(13) => FieldKind::Uint32,
        Some(15) => FieldKind::Sfixed32,
        Some(16) => FieldKind::Sfixed64,
        Some(17) => FieldKind::Sint32,
        Some(18) => FieldKind::Sint64,
        _ => return invalid("unknown type"),
    })
}

/// lowerCamelCase as compilers make it: underscores go, and what follows one is raised.
fn json_name(name: &str) -> Box<str> {
    let mut json = String::with_capacity(name.len());
    let mut raise = false;
    for c in name.chars() {
        if c == '_' {
            raise = true;
        } else {
            json.push(if raise { c.to_ascii_uppercase() } else { c });
            raise = false;
        }
    }
    json.into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn json_names() {
        for (name, json) in [
            ("foo", "foo"),
            ("foo_bar", "fooBar"),
            ("_foo", "Foo"),
            ("foo__bar_", "fooBar"),
            ("FooBar", "FooBar"),
            ("foo_1a", "foo1a"),
            ("_", ""),
        ] {
            assert_eq!(&*super::json_name(name), json);
        }
    }
}
