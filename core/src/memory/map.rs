//! Maps: entries in insertion order, and an index over them.
//!
//! Entries lie next to each other as `{key, value}`. Up to [`SMALL`] of them are searched in line; beyond
//! that an open-addressing table of entry numbers is kept, at most half full, over hashes seeded per
//! process (hash flooding). A repeated key keeps its place and takes the last value.

use std::ptr;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use std::hash::BuildHasher;

use super::ArenaFull;
use super::alloc::Alloc;
use super::slots::{Storage, StrSlot};

/// Entries that are searched without an index.
pub const SMALL: u32 = 8;

const FIRST_ENTRIES: u32 = 4;
const EMPTY: u32 = u32::MAX;

/// A map, in the arena. The cell in the message is a pointer to it, null while the map is empty.
#[derive(Debug)]
#[repr(C)]
pub struct MapTable {
    /// The first entry.
    pub entries: *mut u8,
    /// Number of entries.
    pub len: u32,
    /// Entries that fit.
    pub cap: u32,
    /// The index, null while there are at most [`SMALL`] entries.
    index: *mut u32,
    index_mask: u32,
    reserved: u32,
}

/// The shape of a map's entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EntryLayout {
    /// What the key cell holds: `Bool`, `Bits32`, `Bits64` or `Str`.
    pub key: Storage,
    /// What the value cell holds.
    pub value: Storage,
    /// Offset of the value in the entry; the key is at 0.
    pub value_offset: u32,
    /// Bytes from one entry to the next, a multiple of eight.
    pub stride: u32,
}

impl EntryLayout {
    /// The entry layout for a key and a value.
    pub const fn new(key: Storage, value: Storage) -> EntryLayout {
        let value_offset = key.size().next_multiple_of(value.align());
        EntryLayout { key, value, value_offset, stride: (value_offset + value.size()).next_multiple_of(8) }
    }
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub enum MapKey<'a> {
    /// Integers and bools, zero-extended from their storage width.
    Bits(u64),
    /// Strings.
    Str(&'a [u8]),
}

fn hasher() -> &'static RandomState {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    HASHER.get_or_init(RandomState::default)
}

fn hash(key: MapKey<'_>) -> u32 {
    let hash = match key {
        MapKey::Bits(bits) => hasher().hash_one(bits),
        MapKey::Str(bytes) => hasher().hash_one(bytes),
    };
    (hash ^ hash >> 32) as u32
}

/// The key stored in an entry.
///
/// # Safety
/// `entry` points to an entry of a live map with this layout.
#[inline]
pub unsafe fn key_of<'a>(entry: *const u8, layout: &EntryLayout) -> MapKey<'a> {
    // SAFETY: the key cell lies at offset 0 and has the width of its storage.
    unsafe {
        match layout.key {
            Storage::Bool => MapKey::Bits(u64::from(entry.read())),
            Storage::Bits32 => MapKey::Bits(u64::from(entry.cast::<u32>().read())),
            Storage::Bits64 => MapKey::Bits(entry.cast::<u64>().read()),
            _ => MapKey::Str(entry.cast::<StrSlot>().read().bytes()),
        }
    }
}

#[inline]
fn same(a: MapKey<'_>, b: MapKey<'_>) -> bool {
    match (a, b) {
        (MapKey::Bits(a), MapKey::Bits(b)) => a == b,
        (MapKey::Str(a), MapKey::Str(b)) => a == b,
        _ => false,
    }
}

impl MapTable {
    /// The entry with `key`, null where there is none.
    ///
    /// # Safety
    /// This is a live map whose entries have this layout, and `key` is of its key kind.
    pub unsafe fn find(&self, layout: &EntryLayout, key: MapKey<'_>) -> *mut u8 {
        let stride = layout.stride as usize;
        if self.index.is_null() {
            for i in 0..self.len as usize {
                let entry = self.entries.wrapping_add(i * stride);
                // SAFETY: `i` is below `len`.
                if same(unsafe { key_of(entry, layout) }, key) {
                    return entry;
                }
            }
            return ptr::null_mut();
        }
        let mut at = hash(key) & self.index_mask;
        loop {
            // SAFETY: the index has `index_mask + 1` cells, at least half of them `EMPTY`, so that the
            // search ends; all others are entry numbers below `len`.
            unsafe {
                let number = self.index.add(at as usize).read();
                if number == EMPTY {
                    return ptr::null_mut();
                }
                let entry = self.entries.add(number as usize * stride);
                if same(key_of(entry, layout), key) {
                    return entry;
                }
            }
            at = (at + 1) & self.index_mask;
        }
    }

    unsafe fn index_entry(&mut self, layout: &EntryLayout, number: u32) {
        // SAFETY: `number` is below `len`; the index has free cells (`rebuild` keeps it half empty).
        unsafe {
            let entry = self.entries.add(number as usize * layout.stride as usize);
            let mut at = hash(key_of(entry, layout)) & self.index_mask;
            while self.index.add(at as usize).read() != EMPTY {
                at = (at + 1) & self.index_mask;
            }
            self.index.add(at as usize).write(number);
        }
    }

    /// Builds the index anew for `cap` entries.
    unsafe fn rebuild(&mut self, layout: &EntryLayout, from: &mut impl Alloc) -> Result<(), ArenaFull> {
        let cells = (self.cap as usize * 2).next_power_of_two();
        let index = if self.index_mask as usize + 1 == cells && !self.index.is_null() {
            self.index
        } else {
            from.alloc(cells * 4)?.cast::<u32>()
        };
        // SAFETY: fresh or own memory of `cells` cells; `EMPTY` is all ones.
        unsafe { index.cast::<u8>().write_bytes(0xff, cells * 4) };
        self.index = index;
        self.index_mask = (cells - 1) as u32;
        for number in 0..self.len {
            // SAFETY: below `len`, and the index is at most half full.
            unsafe { self.index_entry(layout, number) };
        }
        Ok(())
    }
}

/// The entry for `key`, made with a zeroed value where there was none. A new string key is stored as
/// `stored` says (borrowed, or an arena copy made by the caller). Gives the entry, and whether it is new.
///
/// # Errors
/// The arena is full.
///
/// # Safety
/// `cell` is the map cell of a live message whose entries have this layout; `key` is of its key kind, and
/// `stored` its bytes where it is a string.
pub unsafe fn entry(
    cell: &mut *mut MapTable,
    layout: &EntryLayout,
    key: MapKey<'_>,
    stored: StrSlot,
    from: &mut impl Alloc,
) -> Result<(*mut u8, bool), ArenaFull> {
    let full = ArenaFull { limit: from.limit() };
    let stride = layout.stride as usize;
    if cell.is_null() {
        let table = from.alloc(size_of::<MapTable>())?.cast::<MapTable>();
        let cap = FIRST_ENTRIES;
        let entries = from.alloc(cap as usize * stride)?;
        // SAFETY: fresh memory of that size.
        unsafe {
            table.write(MapTable { entries, len: 0, cap, index: ptr::null_mut(), index_mask: 0, reserved: 0 });
        }
        *cell = table;
    }
    // SAFETY: not null, hence a live table.
    let table = unsafe { &mut **cell };
    // SAFETY: as promised to this function.
    let found = unsafe { table.find(layout, key) };
    if !found.is_null() {
        return Ok((found, false));
    }
    if table.len == table.cap {
        let cap = table.cap.checked_mul(2).filter(|&cap| cap <= 1 << 29).ok_or(full)?;
        let bytes = cap as usize * stride;
        let old = table.cap as usize * stride;
        if !from.extend(table.entries.wrapping_add(old), bytes - old) {
            let entries = from.alloc(bytes)?;
            // SAFETY: all old entries are readable, and the new place is fresh and larger.
            unsafe { ptr::copy_nonoverlapping(table.entries, entries, old) };
            table.entries = entries;
        }
        table.cap = cap;
        if cap > SMALL {
            // SAFETY: a live table with this layout.
            unsafe { table.rebuild(layout, from)? };
        }
    }
    // SAFETY: `len` is below `cap`, so the entry is this table's own memory.
    let entry = unsafe {
        let entry = table.entries.add(table.len as usize * stride);
        entry.write_bytes(0, stride);
        match (layout.key, key) {
            (Storage::Bool, MapKey::Bits(bits)) => entry.write(bits as u8),
            (Storage::Bits32, MapKey::Bits(bits)) => entry.cast::<u32>().write(bits as u32),
            (Storage::Bits64, MapKey::Bits(bits)) => entry.cast::<u64>().write(bits),
            _ => entry.cast::<StrSlot>().write(stored),
        }
        entry
    };
    table.len += 1;
    if !table.index.is_null() {
        // SAFETY: the new entry is below `len`.
        unsafe { table.index_entry(layout, table.len - 1) };
    }
    Ok((entry, true))
}

/// Removes the entry with `key`; the others keep their order. Gives whether there was one.
///
/// # Safety
/// As [`entry`].
pub unsafe fn remove(cell: &mut *mut MapTable, layout: &EntryLayout, key: MapKey<'_>) -> bool {
    if cell.is_null() {
        return false;
    }
    // SAFETY: not null, hence a live table; all positions stay below `len`.
    unsafe {
        let table = &mut **cell;
        let found = table.find(layout, key);
        if found.is_null() {
            return false;
        }
        let stride = layout.stride as usize;
        let end = table.entries.add(table.len as usize * stride);
        let next = found.add(stride);
        ptr::copy(next, found, end as usize - next as usize);
        table.len -= 1;
        if !table.index.is_null() {
            let cells = table.index_mask as usize + 1;
            table.index.cast::<u8>().write_bytes(0xff, cells * 4);
            for number in 0..table.len {
                table.index_entry(layout, number);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::Arena;
    use super::*;

    const NONE: StrSlot = StrSlot { ptr: ptr::null(), len: 0, cap: 0 };

    #[test]
    fn later_values_win_and_order_is_kept() {
        let arena = Arena::new();
        let layout = EntryLayout::new(Storage::Bits32, Storage::Bits64);
        assert_eq!((layout.value_offset, layout.stride), (8, 16));
        let mut cell = ptr::null_mut();
        for round in 0..2u64 {
            for key in 0..1000u64 {
                let key = key * 7919 % 1000;
                // SAFETY: one map, one layout.
                unsafe {
                    let (at, new) = entry(&mut cell, &layout, MapKey::Bits(key), NONE, &mut &arena).unwrap();
                    assert_eq!(new, round == 0);
                    at.add(8).cast::<u64>().write(key + round);
                }
            }
        }
        // SAFETY: as above.
        unsafe {
            assert_eq!((*cell).len, 1000);
            for number in 0..1000usize {
                let at = (*cell).entries.add(number * 16);
                let MapKey::Bits(key) = key_of(at, &layout) else { unreachable!() };
                assert_eq!(key, number as u64 * 7919 % 1000);
                assert_eq!(at.add(8).cast::<u64>().read(), key + 1);
            }
            assert!(remove(&mut cell, &layout, MapKey::Bits(7919 % 1000)));
            assert!(!remove(&mut cell, &layout, MapKey::Bits(7919 % 1000)));
            assert!((*cell).find(&layout, MapKey::Bits(5000)).is_null());
            assert!(!(*cell).find(&layout, MapKey::Bits(999)).is_null());
        }
    }

    #[test]
    fn string_keys() {
        let arena = Arena::new();
        let layout = EntryLayout::new(Storage::Str, Storage::Bool);
        let mut cell = ptr::null_mut();
        let names: Vec<String> = (0..100).map(|i| format!("key-{i}")).collect();
        for name in names.iter().chain(&names) {
            let stored = StrSlot::borrowed(name.as_bytes()).unwrap();
            // SAFETY: one map, one layout; `names` outlive it.
            unsafe { entry(&mut cell, &layout, MapKey::Str(name.as_bytes()), stored, &mut &arena).unwrap() };
        }
        // SAFETY: as above.
        assert_eq!(unsafe { (*cell).len }, 100);
    }
}
