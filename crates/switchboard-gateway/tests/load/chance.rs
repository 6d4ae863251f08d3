//! Numbers that look like chance, and come again from the same seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Another one each time, told when a test fails.
pub(crate) fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs() ^ (u64::from(now.subsec_nanos()) << 20)
}

/// A stream of numbers.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64, of: usize) -> Self {
        Self(seed ^ (of as u64).wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Less than the limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap() % limit
    }
}
