//! Units: strongly connected components with stable addresses.
//!
//! Messages refer to each other, also in cycles. What belongs together in a cycle (layouts, programs) is
//! built, owned and freed together, as one [`Unit`]; everything else it refers to sits in units it holds an
//! `Arc` of. So a member may point to another by plain address ([`Child`]): the unit that owns the pointer
//! keeps its target alive.

use std::hash::Hash;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use hashbrown::HashMap;

/// Members of one component, and the units they refer to.
pub struct Unit<T: 'static> {
    /// Owned; a raw pointer because children point into it while it is alive.
    members: NonNull<[T]>,
    deps: Vec<Arc<Unit<T>>>,
}

// SAFETY: a unit owns its members like a `Box<[T]>`, and gives out shared references only.
unsafe impl<T: Send + Sync> Send for Unit<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Unit<T> {}

impl<T> Unit<T> {
    /// A unit of `members`. `link` is called once for each with a resolver, to fill in its [`Child`]ren.
    /// `deps` are the units that members point to, besides this one.
    pub fn new(members: Vec<T>, deps: Vec<Arc<Unit<T>>>, mut link: impl FnMut(usize, &mut T, &Linker<T>)) -> Arc<Self> {
        let members = NonNull::from(Box::leak(members.into_boxed_slice()));
        let unit = Unit { members, deps };
        let mut deps: Vec<*const Unit<T>> = unit.deps.iter().map(Arc::as_ptr).collect();
        deps.sort_unstable();
        let linker = Linker { members, deps };
        for at in 0..members.len() {
            // SAFETY: `at` is in range; nobody else has a reference to a member yet.
            let member = unsafe { &mut *members.as_ptr().cast::<T>().add(at) };
            link(at, member, &linker);
        }
        Arc::new(unit)
    }

    /// The members.
    #[inline]
    pub fn members(&self) -> &[T] {
        // SAFETY: owned by `self`, and not changed after `new`.
        unsafe { self.members.as_ref() }
    }

    /// The units that members point to, besides this one.
    pub fn deps(&self) -> &[Arc<Unit<T>>] {
        &self.deps
    }
}

impl<T> Drop for Unit<T> {
    fn drop(&mut self) {
        // SAFETY: leaked in `new`, given back once; children of these members are not followed again.
        drop(unsafe { Box::from_raw(self.members.as_ptr()) });
        // Chains of units can be as long as a schema has messages: taken apart in a loop, not by recursion.
        let mut rest = std::mem::take(&mut self.deps);
        while let Some(dep) = rest.pop() {
            if let Some(mut unit) = Arc::into_inner(dep) {
                rest.append(&mut unit.deps);
            }
        }
    }
}

/// Resolves members to [`Child`]ren while a unit is linked.
pub struct Linker<T: 'static> {
    members: NonNull<[T]>,
    /// Ascending by address.
    deps: Vec<*const Unit<T>>,
}

impl<T> Linker<T> {
    /// A pointer to this unit's member `at`, the empty child where there is none.
    pub fn inner(&self, at: usize) -> Child<T> {
        if at >= self.members.len() {
            return Child::NONE;
        }
        Child(self.members.as_ptr().cast::<T>().wrapping_add(at))
    }

    /// A pointer to a member of another unit, which must be one of the deps (else the empty child).
    pub fn outer(&self, target: &UnitRef<T>) -> Child<T> {
        if self.deps.binary_search(&Arc::as_ptr(&target.unit)).is_ok() {
            Child(&raw const **target)
        } else {
            Child::NONE
        }
    }
}

/// A pointer from a unit's member to a member of the same unit or of one of its deps.
pub struct Child<T: 'static>(*const T);

// SAFETY: a shared reference in all but lifetime.
unsafe impl<T: Sync> Send for Child<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Child<T> {}

impl<T> std::fmt::Debug for Child<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Child({:p})", self.0)
    }
}

impl<T> Child<T> {
    /// No child.
    pub const NONE: Child<T> = Child(std::ptr::null());

    /// A pointer to `target`, for the owner of a clone of the very same reference.
    pub(super) fn pinned(target: &UnitRef<T>) -> Child<T> {
        Child(&raw const **target)
    }

    /// A pointer to `target`, for a member that reaches it through its own children.
    pub(super) fn below(target: &T) -> Child<T> {
        Child(target)
    }

    /// The member, `None` for the empty child.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: a child is only made by a `Linker` and cannot be copied out of its unit, so `self` borrows
        // from a live unit, which keeps the target alive.
        unsafe { self.0.as_ref() }
    }

    /// The address, null for the empty child.
    #[inline]
    pub fn as_ptr(&self) -> *const T {
        self.0
    }
}

/// One member, and the unit that keeps it alive.
pub struct UnitRef<T: 'static> {
    /// The member: a plain load away on the way to every decode.
    target: NonNull<T>,
    at: usize,
    unit: Arc<Unit<T>>,
}

// SAFETY: a `UnitRef` is a shared reference to a member together with the `Arc` that owns it.
unsafe impl<T: Send + Sync> Send for UnitRef<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for UnitRef<T> {}

impl<T> Clone for UnitRef<T> {
    fn clone(&self) -> Self {
        UnitRef { target: self.target, at: self.at, unit: self.unit.clone() }
    }
}

impl<T> UnitRef<T> {
    /// The member `at` of `unit`, `None` where it has no such member.
    pub fn new(unit: Arc<Unit<T>>, at: usize) -> Option<Self> {
        let target = NonNull::from(unit.members().get(at)?);
        Some(UnitRef { target, at, unit })
    }

    /// The unit.
    pub fn unit(&self) -> &Arc<Unit<T>> {
        &self.unit
    }

    /// The member that `child`, a child of this one, points to; `None` where it points elsewhere, or nowhere.
    pub fn follow(&self, child: &Child<T>) -> Option<UnitRef<T>> {
        let member_of = |unit: &Arc<Unit<T>>| {
            let at = unit.members().iter().position(|member| std::ptr::eq(member, child.as_ptr()))?;
            UnitRef::new(unit.clone(), at)
        };
        member_of(&self.unit).or_else(|| self.unit.deps.iter().find_map(member_of))
    }

    /// The position in the unit.
    pub fn index(&self) -> usize {
        self.at
    }
}

impl<T> Deref for UnitRef<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a member of `unit`, which is alive and gives out shared references only.
        unsafe { self.target.as_ref() }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for UnitRef<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// The strongly connected components of what `root` reaches, each after those it refers to (Tarjan's
/// algorithm, without recursion). Nodes for which `known` holds are left out, and not followed.
pub fn components<N: Copy + Eq + Hash>(
    root: N,
    known: impl Fn(N) -> bool,
    mut successors: impl FnMut(N) -> Vec<N>,
) -> Vec<Vec<N>> {
    struct Frame<N> {
        node: u32,
        rest: std::vec::IntoIter<N>,
    }
    const DONE: u32 = u32::MAX;
    let mut numbers: HashMap<N, u32, foldhash::fast::RandomState> = HashMap::default();
    // Per node, by discovery number: the lowest number reachable, `DONE` once its component is out.
    let mut low: Vec<u32> = Vec::new();
    let mut nodes: Vec<N> = Vec::new();
    let (mut stack, mut frames, mut found) = (Vec::new(), Vec::new(), Vec::new());
    if known(root) {
        return found;
    }
    let mut enter = |node: N, nodes: &mut Vec<N>, low: &mut Vec<u32>, stack: &mut Vec<u32>| {
        let number = nodes.len() as u32;
        nodes.push(node);
        low.push(number);
        stack.push(number);
        (number, Frame { node: number, rest: successors(node).into_iter() })
    };
    let (number, frame) = enter(root, &mut nodes, &mut low, &mut stack);
    numbers.insert(root, number);
    frames.push(frame);
    while let Some(frame) = frames.last_mut() {
        let node = frame.node;
        if let Some(next) = frame.rest.next() {
            if known(next) {
                continue;
            }
            match numbers.get(&next) {
                Some(&number) => {
                    if low[number as usize] != DONE {
                        low[node as usize] = low[node as usize].min(number);
                    }
                }
                None => {
                    let (number, frame) = enter(next, &mut nodes, &mut low, &mut stack);
                    numbers.insert(next, number);
                    frames.push(frame);
                }
            }
            continue;
        }
        frames.pop();
        let lowest = low[node as usize];
        if lowest == node {
            let mut component = Vec::new();
            while let Some(member) = stack.pop() {
                low[member as usize] = DONE;
                component.push(nodes[member as usize]);
                if member == node {
                    break;
                }
            }
            found.push(component);
        } else if let Some(parent) = frames.last() {
            let parent = parent.node as usize;
            low[parent] = low[parent].min(lowest);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_after_what_they_refer_to() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3, 3 -> 3, 0 -> 3
        let edges = [vec![1, 3], vec![2], vec![1, 3], vec![3]];
        let mut found = components(0usize, |_| false, |n| edges[n].clone());
        found.iter_mut().for_each(|c| c.sort());
        assert_eq!(found, [vec![3], vec![1, 2], vec![0]]);
        assert_eq!(components(0usize, |n| n == 3, |n| edges[n].clone()).len(), 2);
        assert!(components(3usize, |n| n == 3, |n| edges[n].clone()).is_empty());
    }

    #[test]
    fn long_chains_neither_overflow_the_stack_when_found_nor_when_dropped() {
        let length = 200_000u32;
        let found = components(0, |_| false, |n| if n + 1 < length { vec![n + 1] } else { vec![] });
        assert_eq!(found.len(), length as usize);
        let mut last: Option<Arc<Unit<u32>>> = None;
        for n in 0..length {
            last = Some(Unit::new(vec![n], last.into_iter().collect(), |_, _, _| ()));
        }
        drop(last);
    }

    #[test]
    fn children_reach_their_own_unit_and_its_deps() {
        struct Node(u32, Child<Node>, Child<Node>);
        let leaf = Unit::new(vec![Node(7, Child::NONE, Child::NONE)], vec![], |_, _, _| ());
        let leaf = UnitRef::new(leaf, 0).unwrap();
        let unit = Unit::new(
            vec![Node(1, Child::NONE, Child::NONE), Node(2, Child::NONE, Child::NONE)],
            vec![leaf.unit().clone()],
            |at, node, linker| {
                node.1 = linker.inner(1 - at);
                node.2 = linker.outer(&leaf);
            },
        );
        drop(leaf);
        let first = UnitRef::new(unit, 0).unwrap();
        let second = first.1.get().unwrap();
        assert_eq!((second.0, second.1.get().unwrap().0, second.2.get().unwrap().0), (2, 1, 7));
        let (second, leaf) = (first.follow(&first.1).unwrap(), first.follow(&first.2).unwrap());
        drop(first);
        assert_eq!((second.0, leaf.0), (2, 7));
        assert!(leaf.follow(&second.1).is_none() && leaf.follow(&leaf.1).is_none());
    }
}
