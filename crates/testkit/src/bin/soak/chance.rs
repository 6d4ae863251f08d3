//! Numbers that look like chance, and come again from the same seed.

/// A stream of numbers.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// A stream of its own for each use of a seed.
    pub(crate) fn new(seed: u64, of: u64) -> Self {
        Self(seed ^ of.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Less than the limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap_or(0) % limit.max(1)
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())) }
    }
}
