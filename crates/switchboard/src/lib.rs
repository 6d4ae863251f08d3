//! Switchboard finds every MCP server a person has configured, in any of the tools they use, decides which definition
//! counts, connects to those the person agreed to, and offers their tools.
//!
//! Data goes one way, room by room:
//!
//! ```text
//! files   -> sources  -> Found        what was declared, where, and what could not be read
//! Found   -> config   -> Plan         one winner per name, the others kept, problems listed
//! Plan    -> install  -> Prepared     one entry for the gateway in another tool's file, and how to undo it
//! Plan    -> resolve  -> Preview      what the values are made of, without secrets; nothing is run
//!                     -> Launch       every value filled in, for one attempt to connect
//! Launch  -> wire     -> Link         an open connection, whatever the transport and the era
//! Launch  -> examine  -> Examination  one server, looked at closely
//! Plan    -> connect  -> Handle       one owner task a server keeps the link alive and knows its offer
//! Offers  -> catalog  -> Catalog      one immutable snapshot with unique names
//! Call    -> calls    -> Outcome      permitted, sent at most once, shaped
//! all     -> discover -> Discovery    the one value a host looks at, without connecting
//! all     -> session  -> Session      the one object a host holds
//! ```
//!
//! Finding starts, dials and expands nothing. Connecting is for [`session`].
//!
//! ```
//! use switchboard::{discover, Env, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let env = Env::capture()?;
//! let discovery = discover(&env, Options::default());
//! for server in &discovery.servers {
//!     println!("{} {}", server.name, server.state().as_str());
//! }
//! for problem in &discovery.problems {
//!     eprintln!("{}: {}", problem.code.as_str(), problem.message);
//! }
//! # Ok(())
//! # }
//! ```

// Words: one concept each, known to every room.
pub mod context;
pub mod declared;
mod dial;
pub mod digest;
pub mod env;
pub mod glob;
pub mod host;
pub mod json;
pub mod notice;
pub mod offer;
pub mod origin;
pub mod problem;
pub mod provider;
pub mod redact;
mod replace;
pub mod secret;
pub mod spans;
mod sweep;
pub mod template;
pub mod visible;

// Rooms, in the order of the flow: a room knows those above it and none below.
pub mod sources;

pub mod config;

pub mod install;

pub mod resolve;

pub mod auth;

pub mod wire;

pub mod examine;

pub mod connect;

pub mod catalog;

pub mod calls;

pub mod discover;

pub mod session;

pub use config::{Consent, Options, Server, ServerSpec, SetAside, Settings, State, Transport};
pub use discover::{Discovery, discover};
pub use env::Env;
pub use origin::{Origin, Scope};
pub use problem::{Code, Explain, Problem, Severity};
pub use provider::Provider;

/// The library guide, so that its examples compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
pub struct LibraryGuide;
