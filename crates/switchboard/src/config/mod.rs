//! Decides: which definition counts, whether it is sound, whether the user agreed to it. And writes our own files.
//!
//! In: what `sources` found. Out: a [`Plan`] with one winner per name, the others kept with the reason. Nothing here
//! looks at the environment or the network.

pub mod definition;
pub mod edit;
pub mod file;
pub mod filter;
pub(crate) mod keep;
pub mod plan;
pub mod schema;
pub mod settings;
pub mod spec;
pub mod trust;
pub mod validate;
pub mod write;

pub use plan::{Because, Options, Plan, Server, SetAside, State};
pub use settings::Settings;
pub use spec::{Endpoint, Field, ServerSpec, Stdio, Transport};
pub use trust::{Approvals, Approved, Asked, Consent};
