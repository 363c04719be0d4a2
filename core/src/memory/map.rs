//! Maps: entries in insertion order, and an index over them.
//!
//! Entries lie next to each other as `{key, value}`. Up to [`SMALL`] of them are searched in line; beyond
//! that an open-addressing table of hashes and entry numbers is kept, at most half full. Hashes are seeded per process (hash
//! flooding), and computed once: a growing table moves them. A repeated key keeps its place and takes the last value.

use std::ptr;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::ArenaFull;
use super::alloc::Alloc;
use super::slots::{Storage, StrSlot};

/// Entries that are searched without an index.
pub const SMALL: u32 = 8;

const FIRST_ENTRIES: u32 = 4;
/// A cell of the index that holds no entry. The number of an entry is smaller.
const EMPTY: Cell = Cell { hash: u32::MAX, number: u32::MAX };

/// A cell of the index.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Cell {
    hash: u32,
    number: u32,
}

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
    index: *mut Cell,
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
    let mut hasher = hasher().build_hasher();
    match key {
        MapKey::Bits(bits) => hasher.write_u64(bits),
        MapKey::Str(bytes) => hasher.write(bytes),
    }
    let hash = hasher.finish();
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
        // SAFETY: there is an index; the rest as promised to this function.
        unsafe { self.probe(layout, key, hash(key)).1 }
    }

    /// The cell of the index that `key`, with this hash, has or would get, and its entry, null where there is none.
    ///
    /// # Safety
    /// As [`MapTable::find`]; there is an index.
    #[inline]
    unsafe fn probe(&self, layout: &EntryLayout, key: MapKey<'_>, hash: u32) -> (u32, *mut u8) {
        let mut at = hash & self.index_mask;
        loop {
            // SAFETY: the index has `index_mask + 1` cells, at least half of them `EMPTY`, so that the
            // search ends; all others hold entry numbers below `len`.
            unsafe {
                let cell = self.index.add(at as usize).read();
                if cell.number == EMPTY.number {
                    return (at, ptr::null_mut());
                }
                let entry = self.entries.add(cell.number as usize * layout.stride as usize);
                if cell.hash == hash && same(key_of(entry, layout), key) {
                    return (at, entry);
                }
            }
            at = (at + 1) & self.index_mask;
        }
    }

    /// Puts an entry that it does not hold into the index.
    ///
    /// # Safety
    /// The index has free cells ([`MapTable::rebuild`] keeps it half empty); `cell.number` is below `len`.
    #[inline]
    unsafe fn index_entry(&mut self, cell: Cell) {
        let mut at = cell.hash & self.index_mask;
        // SAFETY: as promised to this function.
        unsafe {
            while self.index.add(at as usize).read().number != EMPTY.number {
                at = (at + 1) & self.index_mask;
            }
            self.index.add(at as usize).write(cell);
        }
    }

    /// Fills the empty index with all entries, hashing their keys.
    unsafe fn index_all(&mut self, layout: &EntryLayout) {
        for number in 0..self.len {
            // SAFETY: a live table; `number` is below `len`, and the index at most half full.
            unsafe {
                let key = key_of(self.entries.add(number as usize * layout.stride as usize), layout);
                self.index_entry(Cell { hash: hash(key), number });
            }
        }
    }

    /// Makes an index for `cap` entries.
    unsafe fn rebuild(&mut self, cap: u32, layout: &EntryLayout, from: &mut impl Alloc) -> Result<(), ArenaFull> {
        // For twice as many, so that it is filled anew half as often, and searches seldom meet a cell in use.
        let cells = (cap as usize * 4).next_power_of_two();
        let old = (self.index, self.index_mask);
        self.index = from.alloc(cells * size_of::<Cell>())?.cast::<Cell>();
        self.index_mask = (cells - 1) as u32;
        // SAFETY: fresh memory of so many cells, and an old index of as many as its mask says.
        unsafe {
            self.empty_index();
            if old.0.is_null() {
                self.index_all(layout);
            } else {
                for at in 0..=old.1 as usize {
                    let cell = old.0.add(at).read();
                    if cell.number != EMPTY.number {
                        self.index_entry(cell);
                    }
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// There is an index.
    unsafe fn empty_index(&mut self) {
        // SAFETY: so many cells belong to it; `EMPTY` is all ones.
        unsafe { self.index.write_bytes(0xff, self.index_mask as usize + 1) };
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
    let mut place = 0;
    let mut hashed = 0;
    // SAFETY: as promised to this function.
    let found = unsafe {
        if table.index.is_null() {
            table.find(layout, key)
        } else {
            hashed = hash(key);
            let (at, found) = table.probe(layout, key, hashed);
            place = at;
            found
        }
    };
    if !found.is_null() {
        return Ok((found, false));
    }
    let mut moved = false;
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
        if cap > SMALL && (table.index.is_null() || cap as usize * 2 > table.index_mask as usize + 1) {
            // SAFETY: a live table with this layout.
            unsafe { table.rebuild(cap, layout, from)? };
            moved = true;
        }
        // Last: where there was no memory for the index it must not fill up.
        table.cap = cap;
    }
    // SAFETY: `len` is below `cap`, so the entry is this table's own memory.
    let entry = unsafe {
        let entry = table.entries.add(table.len as usize * stride);
        // A few words, not worth a call: volatile, or the compiler makes it one.
        for word in 0..stride / 8 {
            entry.cast::<u64>().add(word).write_volatile(0);
        }
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
        let number = table.len - 1;
        // SAFETY: the new entry is below `len`; `place` is a free cell of an index that did not move.
        unsafe {
            if moved {
                table.index_entry(Cell { hash: hash(key), number });
            } else {
                table.index.add(place as usize).write(Cell { hash: hashed, number });
            }
        }
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
            table.empty_index();
            table.index_all(layout);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::Arena;
    use super::*;

    /// What the sender of a message cannot know: no two processes hash alike, and neither does one without a seed.
    #[test]
    fn hashes_are_seeded() {
        let (name, asked) = ("memory::map::tests::hashes_are_seeded", "PROTOJIT_TEST_PRINT_HASHES");
        let own = format!("hashes {} {}", hash(MapKey::Bits(7)), hash(MapKey::Str(b"seven")));
        if std::env::var_os(asked).is_some() {
            return println!("{own}");
        }
        let program = std::env::current_exe().unwrap();
        let words: Vec<_> =
            std::env::var_os("PROTOJIT_TEST_RUNNER").into_iter().chain([program.into_os_string()]).collect();
        let mut seen = std::collections::HashSet::from([own]);
        for _ in 0..3 {
            let mut command = std::process::Command::new(&words[0]);
            let output =
                command.args(&words[1..]).args([name, "--exact", "--nocapture"]).env(asked, "1").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let line = text.lines().find_map(|line| line.find("hashes ").map(|at| line[at..].to_owned())).unwrap();
            assert!(seen.insert(line.clone()), "{line} came twice");
        }
    }

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

    /// Where there is no memory for a larger index, insertions fail and the map stays as it was: its index does not fill up, and
    /// searches for keys that are not there end.
    #[test]
    fn a_full_arena_leaves_a_map_that_can_be_searched() {
        let layout = EntryLayout::new(Storage::Bits32, Storage::Bits64);
        for limit in (1_000..60_000).step_by(997) {
            let arena = Arena::with_limit(limit);
            let (mut cell, mut inserted, mut refused) = (ptr::null_mut(), Vec::new(), 0);
            for key in 0..3_000u64 {
                // SAFETY: one map, one layout.
                match unsafe { entry(&mut cell, &layout, MapKey::Bits(key), NONE, &mut &arena) } {
                    Ok((_, new)) => {
                        assert!(new);
                        inserted.push(key);
                    }
                    Err(_) => refused += 1,
                }
            }
            assert!(refused > 0, "{limit}");
            if cell.is_null() {
                continue;
            }
            // SAFETY: as above.
            unsafe {
                assert_eq!((*cell).len as usize, inserted.len());
                assert!(inserted.iter().all(|&key| !(*cell).find(&layout, MapKey::Bits(key)).is_null()));
                assert!((3_000..3_100).all(|key| (*cell).find(&layout, MapKey::Bits(key)).is_null()));
            }
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
