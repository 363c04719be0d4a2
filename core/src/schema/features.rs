//! Editions features: what `syntax` used to decide, decided per element.
//!
//! Every file starts from the defaults of its edition ([`Features::defaults`]), and each
//! scope below it (message, oneof, field; message, enum) lays its own
//! [`FeatureOverrides`] over what it inherits ([`Features::merged`]). proto2 and proto3
//! are editions like the others here: their labels and options (`required`, `packed`,
//! `group`, proto3 `optional`) are turned into overrides while fields are linked.

use super::{descriptor::Slice, error::SchemaErrorKind, model::Edition};

macro_rules! feature {
    ($(#[$doc:meta])* $name:ident $label:literal { $($(#[$vdoc:meta])* $value:ident = $number:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$vdoc])* $value = $number,)*
        }
        impl $name {
            fn from_number(value: i32) -> Result<Self, SchemaErrorKind> {
                match value {
                    $($number => Ok(Self::$value),)*
                    _ => Err(SchemaErrorKind::UnknownFeature { feature: $label, value }),
                }
            }
        }
    };
}

feature! {
    /// How a singular field's presence is kept.
    FieldPresence "field_presence" {
        /// Set and unset are told apart.
        Explicit = 1,
        /// Absent means zero.
        Implicit = 2,
        /// Must be set.
        LegacyRequired = 3,
    }
}
feature! {
    /// What becomes of enum numbers that are not declared.
    EnumType "enum_type" {
        /// They are values like the others.
        Open = 1,
        /// They become unknown fields.
        Closed = 2,
    }
}
feature! {
    /// How lists of scalars are written.
    RepeatedFieldEncoding "repeated_field_encoding" {
        /// In one length-prefixed run.
        Packed = 1,
        /// One tag for each element.
        Expanded = 2,
    }
}
feature! {
    /// Whether strings must be UTF-8.
    Utf8Validation "utf8_validation" {
        /// They must.
        Verify = 2,
        /// Nobody looks.
        None = 3,
    }
}
feature! {
    /// How sub-messages are framed.
    MessageEncoding "message_encoding" {
        /// By their length.
        LengthPrefixed = 1,
        /// Between start-group and end-group tags.
        Delimited = 2,
    }
}
feature! {
    /// What a compiler promises about the JSON form. Codecs behave the same in both cases.
    JsonFormat "json_format" {
        /// JSON names were checked for conflicts.
        Allow = 1,
        /// They were not.
        LegacyBestEffort = 2,
    }
}

/// The features of one element, none left open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Features {
    /// Presence of singular fields.
    pub field_presence: FieldPresence,
    /// Openness of enums.
    pub enum_type: EnumType,
    /// Encoding of repeated scalars.
    pub repeated_field_encoding: RepeatedFieldEncoding,
    /// Validation of strings.
    pub utf8_validation: Utf8Validation,
    /// Framing of sub-messages.
    pub message_encoding: MessageEncoding,
    /// Promise about JSON.
    pub json_format: JsonFormat,
}

impl Features {
    /// What holds in a file of this edition where nothing else is said.
    ///
    /// ```
    /// use protojit_core::schema::{Edition, features::{FieldPresence, Features}};
    ///
    /// assert_eq!(Features::defaults(Edition::Proto3).field_presence, FieldPresence::Implicit);
    /// assert_eq!(Features::defaults(Edition::Edition2023).field_presence, FieldPresence::Explicit);
    /// ```
    pub const fn defaults(edition: Edition) -> Self {
        let modern = Self {
            field_presence: FieldPresence::Explicit,
            enum_type: EnumType::Open,
            repeated_field_encoding: RepeatedFieldEncoding::Packed,
            utf8_validation: Utf8Validation::Verify,
            message_encoding: MessageEncoding::LengthPrefixed,
            json_format: JsonFormat::Allow,
        };
        match edition {
            Edition::Proto2 => Self {
                enum_type: EnumType::Closed,
                repeated_field_encoding: RepeatedFieldEncoding::Expanded,
                utf8_validation: Utf8Validation::None,
                json_format: JsonFormat::LegacyBestEffort,
                ..modern
            },
            Edition::Proto3 => Self { field_presence: FieldPresence::Implicit, ..modern },
            Edition::Edition2023 | Edition::Edition2024 => modern,
        }
    }

    /// These features with what an inner scope says laid over them.
    #[must_use]
    pub fn merged(self, over: &FeatureOverrides) -> Self {
        Self {
            field_presence: over.field_presence.unwrap_or(self.field_presence),
            enum_type: over.enum_type.unwrap_or(self.enum_type),
            repeated_field_encoding: over.repeated_field_encoding.unwrap_or(self.repeated_field_encoding),
            utf8_validation: over.utf8_validation.unwrap_or(self.utf8_validation),
            message_encoding: over.message_encoding.unwrap_or(self.message_encoding),
            json_format: over.json_format.unwrap_or(self.json_format),
        }
    }
}

/// What one scope says about its features: a `google.protobuf.FeatureSet`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FeatureOverrides {
    /// Presence of singular fields.
    pub field_presence: Option<FieldPresence>,
    /// Openness of enums.
    pub enum_type: Option<EnumType>,
    /// Encoding of repeated scalars.
    pub repeated_field_encoding: Option<RepeatedFieldEncoding>,
    /// Validation of strings.
    pub utf8_validation: Option<Utf8Validation>,
    /// Framing of sub-messages.
    pub message_encoding: Option<MessageEncoding>,
    /// Promise about JSON.
    pub json_format: Option<JsonFormat>,
}

impl FeatureOverrides {
    /// Nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads a serialized `FeatureSet` on top of what is here. Features of languages
    /// (extensions) and those that only concern compilers are passed over.
    pub(crate) fn merge(&mut self, set: Slice<'_>) -> Result<(), SchemaErrorKind> {
        let mut reader = set.reader();
        while let Some((number, value)) = reader.next()? {
            let Some(value) = value.as_i32() else {
                continue;
            };
            match number {
                1 => self.field_presence = Some(FieldPresence::from_number(value)?),
                2 => self.enum_type = Some(EnumType::from_number(value)?),
                3 => {
                    self.repeated_field_encoding = Some(RepeatedFieldEncoding::from_number(value)?);
                }
                4 => self.utf8_validation = Some(Utf8Validation::from_number(value)?),
                5 => self.message_encoding = Some(MessageEncoding::from_number(value)?),
                6 => self.json_format = Some(JsonFormat::from_number(value)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The edition that a file's `syntax` and `edition` name.
pub(crate) fn edition_of(syntax: &str, edition: Option<i32>) -> Result<Edition, SchemaErrorKind> {
    let named = match edition {
        None | Some(0) => None,
        // EDITION_LEGACY, EDITION_PROTO2
        Some(900 | 998) => Some(Edition::Proto2),
        Some(999) => Some(Edition::Proto3),
        Some(1000) => Some(Edition::Edition2023),
        Some(1001) => Some(Edition::Edition2024),
        Some(edition) => return Err(SchemaErrorKind::UnsupportedEdition { edition }),
    };
    let unsupported = SchemaErrorKind::UnsupportedEdition { edition: edition.unwrap_or(0) };
    match syntax {
        "" => Ok(named.unwrap_or(Edition::Proto2)),
        "proto2" | "proto3" => {
            let meant = if syntax == "proto2" { Edition::Proto2 } else { Edition::Proto3 };
            if named.is_some_and(|named| named != meant) {
                return Err(unsupported);
            }
            Ok(meant)
        }
        "editions" => named.ok_or(unsupported),
        _ => Err(SchemaErrorKind::UnsupportedSyntax { syntax: super::error::clip(syntax) }),
    }
}
