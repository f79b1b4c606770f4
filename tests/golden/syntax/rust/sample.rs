//! A ring buffer that forgets its oldest entry.

use std::collections::{hash_map::{Entry, HashMap as Map}, VecDeque};
use std::fmt::{self, Display, Write as _};
use super::clock::*;
use crate::wire;
pub use self::policy::Policy;
pub use error::{Error as RingError, Kind};
extern crate alloc as heap;

mod error;

/// Entries kept when nobody says otherwise.
pub const DEFAULT_CAPACITY: usize = 1 << 10;
static mut COUNTER: u64 = 0;
pub type Result<T, E = RingError> = std::result::Result<T, E>;

/// Says yes, loudly.
#[macro_export]
macro_rules! ring {
    ($($item:expr),* $(,)?) => {{
        let mut ring = $crate::Ring::new(16);
        $(ring.push($item);)*
        ring
    }};
}

/// A buffer of bounded size.
///
/// It never blocks.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Ring<'a, T: Clone + 'a>
where
    T: Display,
{
    pub(crate) items: VecDeque<T>,
    /// How many were lost.
    pub lost: u64,
    names: Map<&'a str, wire::Tag>,
}

pub struct Metres(pub f64, u8);

struct Unit;

#[repr(u8)]
pub enum Outcome<T> {
    Kept,
    /// The one that had to go.
    Evicted(T, u64),
    Refused { why: String } = 3,
}

pub union Bits {
    whole: u32,
    bytes: [u8; 4],
}

/// Whatever can decide what goes first.
pub trait Evict<T>: Send + fmt::Debug {
    type Key: Ord;
    const NAME: &'static str = "fifo";

    fn key(&self, item: &T) -> Self::Key;

    fn prefer<'x>(&self, a: &'x T, b: &'x T) -> &'x T {
        if self.key(a) <= self.key(b) { a } else { b }
    }
}

impl<'a, T: Clone + Display> Ring<'a, T> {
    /// An empty ring.
    #[must_use]
    pub fn new(
        capacity: usize, // zero means the default
    ) -> Self {
        let capacity = at_least(capacity);
        Self { items: VecDeque::with_capacity(capacity), lost: 0, names: Map::new() }
    }

    pub async unsafe fn push(&mut self, item: T) -> Outcome<T> {
        let full = |room: usize| room == 0;
        if full(self.items.capacity() - self.items.len()) {
            self.lost += 1;
            return self.items.pop_front().map_or(Outcome::Kept, |old| Outcome::Evicted(old, self.lost));
        }
        self.items.push_back(item);
        tracing::debug!(size = measure(&self.items), "pushed");
        Outcome::Kept
    }

    fn forget(&mut self) {
        self.items.iter().cloned().collect::<Vec<T>>();
        drop::<Metres>(Metres(0.0, 1));
    }
}

impl<T> fmt::Display for Ring<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.lost)
    }
}

impl<T> From<Vec<T>> for wire::Frame<T> {
    fn from(items: Vec<T>) -> Self {
        wire::Frame { items, ..Default::default() }
    }
}

impl dyn Evict<u8> {}
impl Evict<u8> for (u8, u8) {
    type Key = u8;
    fn key(&self, item: &u8) -> u8 { *item }
}

mod policy {
    use super::Evict;

    pub struct Policy(Box<dyn Evict<u8, Key = u8>>);

    pub(super) fn größe() -> impl Iterator<Item = u8> + Send {
        fn inner() -> u8 { 1 }
        std::iter::once(inner())
    }

    #[cfg(test)]
    mod tests {
        #[tokio::test]
        async fn keeps() { assert_eq!(super::größe().count(), 1); }
    }
}

extern "C" {
    fn at_least(capacity: usize) -> usize;
    static ENVIRON: *const u8;
}
