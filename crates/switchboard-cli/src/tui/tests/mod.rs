//! The terminal front as a whole.
