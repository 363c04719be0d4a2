//! What concerns a message as a whole, and what concerns extensions.

use std::ops::Range;

use super::{
    super::{
        error::SchemaErrorKind as Kind,
        features::Utf8Validation,
        model::{ExtensionId, FieldKind, MessageId, Presence},
    },
    Linker, Result, over,
};

/// Number ranges, ascending and disjoint.
type Ranges = Vec<Range<u32>>;

/// Whether a number lies in one of these ascending, disjoint ranges.
fn contains(ranges: &[Range<u32>], number: u32) -> bool {
    let after = ranges.partition_point(|range| range.start <= number);
    after > 0 && number < ranges[after - 1].end
}

impl<'a> Linker<'a> {
    /// Extension and reserved ranges, each ascending, none overlapping another.
    pub(super) fn check_ranges(
        &self,
        message: MessageId,
        extensions: &[Range<i32>],
        reserved: &[Range<i32>],
    ) -> Result<(Ranges, Ranges), Kind> {
        let max = if self.data.messages[message.index()].is_message_set { i32::MAX } else { 1 << 29 };
        let sorted = |ranges: &[Range<i32>]| {
            let mut sorted = Vec::with_capacity(ranges.len());
            for &Range { start, end } in ranges {
                if start < 1 || end <= start || end > max {
                    return Err(Kind::InvalidRange { start, end });
                }
                sorted.push(start as u32..end as u32);
            }
            sorted.sort_unstable_by_key(|range| range.start);
            Ok(sorted)
        };
        let (extensions, reserved) = (sorted(extensions)?, sorted(reserved)?);
        let mut all = [extensions.as_slice(), reserved.as_slice()].concat();
        all.sort_unstable_by_key(|range| range.start);
        for pair in all.windows(2) {
            if pair[1].start < pair[0].end {
                let number = pair[1].start;
                return Err(Kind::OverlappingRanges { number });
            }
        }
        Ok((extensions, reserved))
    }

    /// Completes a message whose fields are there; `made_up` are those that are proto3
    /// `optional`, ascending.
    pub(super) fn finish_message(&mut self, index: usize, made_up: &[u32]) -> Result<()> {
        let def = &mut self.data.messages[index];
        let mut by_number: Vec<_> = (0..).zip(&def.fields).map(|(i, field)| (field.number, i)).collect();
        by_number.sort_unstable();
        let mut by_name: Vec<u32> = (0..def.fields.len() as u32).collect();
        let mut by_json_name = by_name.clone();
        by_name.sort_unstable_by(|&a, &b| def.fields[a as usize].name.cmp(&def.fields[b as usize].name));
        by_json_name.sort_by(|&a, &b| {
            let name = |i: u32| &def.fields[i as usize].json_name;
            name(a).cmp(name(b))
        });
        def.by_number = by_number;
        def.by_name = by_name;
        def.by_json_name = by_json_name;
        for (i, field) in (0..).zip(&def.fields) {
            if let Some(oneof) = field.oneof {
                def.oneofs[oneof as usize].fields.push(i);
            }
        }

        let file = def.file;
        self.check_numbers(index).and_then(|()| self.check_names(index)).map_err(|(field, kind)| {
            let def = &self.data.messages[index];
            let name = &def.fields[field as usize].name;
            self.fail(file, &format!("{}.{name}", def.full_name), kind)
        })?;
        self.mark_synthetic(index, made_up)
            .and_then(|()| self.check_message(index))
            .map_err(|kind| self.fail(file, &self.data.messages[index].full_name, kind))
    }

    fn check_numbers(&self, index: usize) -> Result<(), (u32, Kind)> {
        let def = &self.data.messages[index];
        for pair in def.by_number.windows(2) {
            let ((number, first), (next, second)) = (pair[0], pair[1]);
            if number == next {
                let other = super::clip(&def.fields[first as usize].name);
                return Err((second, Kind::DuplicateNumber { number, other }));
            }
        }
        if def.extension_ranges.is_empty() && def.reserved_ranges.is_empty() {
            return Ok(());
        }
        for &(number, field) in &def.by_number {
            if contains(&def.extension_ranges, number) {
                return Err((field, Kind::NumberInExtensionRange { number }));
            }
            if contains(&def.reserved_ranges, number) {
                return Err((field, Kind::ReservedNumber { number }));
            }
        }
        Ok(())
    }

    /// Field names are unique: among themselves, and among all that is declared in the
    /// message, which has been found unique without them.
    fn check_names(&self, index: usize) -> Result<(), (u32, Kind)> {
        let data = &self.data;
        let def = &data.messages[index];
        for pair in def.by_name.windows(2) {
            if def.fields[pair[0] as usize].name == def.fields[pair[1] as usize].name {
                return Err((pair[1], Kind::DuplicateName));
            }
        }
        let taken = |name: &str| match def.field_named(name) {
            Some(field) => Err((field, Kind::DuplicateName)),
            None => Ok(()),
        };
        for oneof in &def.oneofs {
            taken(&oneof.name)?;
        }
        for id in &def.messages {
            taken(data.messages[id.index()].name())?;
        }
        for id in &def.enums {
            let def = &data.enums[id.index()];
            taken(def.name())?;
            for value in &def.values {
                taken(&value.name)?;
            }
        }
        for id in &def.extensions {
            let full_name = &self.extensions[id.index()].full_name;
            taken(full_name.rsplit_once('.').map_or(full_name, |(_, name)| name))?;
        }
        for name in &def.reserved_names {
            if let Some(field) = def.field_named(name) {
                return Err((field, Kind::ReservedName));
            }
        }
        Ok(())
    }

    /// proto3 `optional` comes with a oneof of one member that nobody wrote.
    fn mark_synthetic(&mut self, index: usize, made_up: &[u32]) -> Result<(), Kind> {
        let def = &mut self.data.messages[index];
        let wrong = |what| Err(Kind::InvalidOneof { what });
        let mut synthetic_before = false;
        for oneof in &mut def.oneofs {
            let is_made_up = |field: &u32| made_up.binary_search(field).is_ok();
            oneof.synthetic = match oneof.fields.as_slice() {
                [] => return wrong("it has no members"),
                [only] => is_made_up(only),
                several if several.iter().any(is_made_up) => {
                    return wrong("a proto3 optional field must be alone in its oneof");
                }
                _ => false,
            };
            if synthetic_before && !oneof.synthetic {
                return wrong("those made up for proto3 optional fields must come last");
            }
            synthetic_before = oneof.synthetic;
        }
        Ok(())
    }

    fn check_message(&self, index: usize) -> Result<(), Kind> {
        let def = &self.data.messages[index];
        if def.is_message_set && !def.fields.is_empty() {
            let what = "it cannot have fields of its own";
            return Err(Kind::InvalidMessageSet { what });
        }
        if !def.is_map_entry {
            return Ok(());
        }
        let wrong = |what| Err(Kind::InvalidMap { what });
        if def.parent.is_none() {
            return wrong("an entry type must be nested in a message");
        }
        let bare = def.oneofs.is_empty()
            && def.messages.is_empty()
            && def.enums.is_empty()
            && def.extensions.is_empty()
            && def.extension_ranges.is_empty()
            && !def.is_message_set;
        if !bare {
            return wrong("an entry type holds nothing but its two fields");
        }
        let [key, value] = def.fields.as_slice() else {
            return wrong("an entry type has two fields");
        };
        if key.number != 1 || value.number != 2 {
            return wrong("the key has number 1, then comes the value with number 2");
        }
        if key.presence == Presence::Repeated || value.presence == Presence::Repeated {
            return wrong("key and value are singular");
        }
        match key.kind {
            FieldKind::Double | FieldKind::Float | FieldKind::Bytes | FieldKind::Message(_) | FieldKind::Enum(_) => {
                return wrong("a key is an integer, a bool or a string");
            }
            _ => {}
        }
        if let FieldKind::Enum(id) = value.kind
            && self.data.enums[id.index()].values[0].number != 0
        {
            return wrong("an enum used as a value must begin with zero");
        }
        Ok(())
    }

    /// `utf8_validation` on a map field is meant for the strings in its entries. `protoc`
    /// copies it there; other compilers may not.
    pub(super) fn pass_map_features_on(&mut self) {
        for &(entry, validation) in &self.map_utf8 {
            let inherits = self.messages[entry.index()].inherits_utf8;
            let fields = &mut self.data.messages[entry.index()].fields;
            for (field, inherits) in fields.iter_mut().zip(inherits) {
                if inherits && field.kind == FieldKind::String {
                    field.validate_utf8 = validation == Utf8Validation::Verify;
                }
            }
        }
    }

    /// Files every extension under the message it extends.
    pub(super) fn file_extensions(&mut self) -> Result<()> {
        for index in 0..self.data.extensions.len() {
            let def = &self.data.extensions[index];
            self.check_extension(index).map_err(|kind| self.fail(def.file, &def.full_name, kind))?;
            let extendee = def.extendee.index();
            let id = ExtensionId(index as u32);
            self.data.messages[extendee].extended_by.push(id);
        }
        let extensions = &self.data.extensions;
        for message in &mut self.data.messages {
            let number = |id: &ExtensionId| extensions[id.index()].field.number;
            message.extended_by.sort_by_key(number);
            for pair in message.extended_by.windows(2) {
                if number(&pair[0]) == number(&pair[1]) {
                    let (first, second) = (&extensions[pair[0].index()], &extensions[pair[1].index()]);
                    let kind = Kind::DuplicateNumber { number: number(&pair[0]), other: super::clip(&first.full_name) };
                    let file = &self.data.files[second.file.index()].name;
                    return Err(super::SchemaError::new(file, &second.full_name, kind));
                }
            }
        }
        Ok(())
    }

    fn check_extension(&self, index: usize) -> Result<(), Kind> {
        let def = &self.data.extensions[index];
        let field = &def.field;
        let extendee = &self.data.messages[def.extendee.index()];
        if !contains(&extendee.extension_ranges, field.number) {
            return Err(Kind::NotInExtensionRange { number: field.number, extendee: super::clip(&extendee.full_name) });
        }
        if extendee.is_message_set
            && (field.presence == Presence::Repeated || !matches!(field.kind, FieldKind::Message(_)) || field.delimited)
        {
            let what = "its extensions are singular, length-prefixed messages";
            return Err(Kind::InvalidMessageSet { what });
        }
        let max = self.limits.max_fields_per_message;
        if extendee.extended_by.len() >= max {
            return Err(over("max_fields_per_message", max));
        }
        Ok(())
    }
}
