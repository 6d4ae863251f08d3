//! The protocol as it goes over the wire.
//!
//! In: bytes as they come. Out: messages, cut and checked, with every size bounded. What the messages mean to a host is
//! decided elsewhere.

pub(crate) mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub(crate) mod headers;
pub(crate) mod sse;
