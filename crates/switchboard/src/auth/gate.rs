//! Which addresses may be fetched, sent to or shown in the course of a login.
//!
//! In: what a server and its documents name, and the address the person configured. Out: an address that may be used,
//! or why not. Only the configured address makes room for this machine and for private networks, and the person's own
//! settings for single hosts in these. What a server says never does, nor what a name leads to: both are in the hands of
//! whoever we must not trust yet.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::redact;
use crate::visible::{excerpt, is_hidden};

/// The longest address that is looked at, in bytes.
const LONGEST: usize = 8 * 1024;
/// How much of an address is shown.
const SHOWN: usize = 200;
/// Names under which clouds tell a machine its own keys.
const CLOUDS: &[&str] = &["metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal"];

/// What the configured address of a server allows.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    is_encrypted: bool,
    class: Class,
    /// Hosts in private networks that the person allows by name, whatever the server's own address is.
    private: Arc<BTreeSet<String>>,
}

/// Why an address is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{url} is longer than {LONGEST} bytes")]
    TooLong { url: String },
    #[error("{url} has characters in it that no address has")]
    Characters { url: String },
    #[error("{url} does not start with https://")]
    Scheme { url: String },
    #[error("{url} is not an address: {reason}")]
    Malformed { url: String, reason: url::ParseError },
    #[error("{url} has a user or a password in it")]
    Login { url: String },
    #[error("{url} is not encrypted")]
    ClearText { url: String },
    #[error("{url} is on this machine, and the server is not")]
    Loopback { url: String },
    #[error("{url} is in a private network, and the server's own address is not")]
    Private { url: String },
    #[error("{url} is reserved for another purpose")]
    Reserved { url: String },
    #[error("{url} is not on this machine, as its name says it is")]
    Misnamed { url: String },
    #[error("{from} redirects to another origin, {to}")]
    Elsewhere { from: String, to: String },
}

impl Gate {
    /// What this server's address allows.
    pub(crate) fn of(server: &Url) -> Self {
        let class = server.host().map_or(Class::Public, |host| Class::of(&host));
        Self { is_encrypted: server.scheme() == "https", class, private: Arc::default() }
    }

    /// The same with hosts in private networks that the person allows. Nothing but that: neither this machine nor what is
    /// reserved.
    pub(crate) fn with_private(self, hosts: &BTreeSet<String>) -> Self {
        Self { private: Arc::new(hosts.clone()), ..self }
    }

    /// The address of a document, as it is written.
    pub(crate) fn document(&self, text: &str) -> Result<Url, Refusal> {
        let url = parse(text)?;
        self.page(&url).map(|()| url)
    }

    /// The address of an endpoint, as a document writes it. A token or a code may go there.
    pub(crate) fn endpoint(&self, text: &str) -> Result<Url, Refusal> {
        self.document(text)
    }

    /// Whether the address may be fetched, sent to or opened in a browser.
    ///
    /// A page of this machine is shown for a server of this machine only: others have no business with what listens here.
    pub(crate) fn page(&self, url: &Url) -> Result<(), Refusal> {
        let shown = || shown(url.as_str());
        if url.as_str().len() > LONGEST {
            return Err(Refusal::TooLong { url: shown() });
        }
        let (true, Some(host)) = (matches!(url.scheme(), "http" | "https"), url.host()) else {
            return Err(Refusal::Scheme { url: shown() });
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Login { url: shown() });
        }
        let class = Class::of(&host);
        self.admit(class, &host.to_string(), shown)?;
        // Admitted as this machine, so the server is of this machine too.
        if url.scheme() == "https" || (class == Class::Loopback && !self.is_encrypted) {
            Ok(())
        } else {
            Err(Refusal::ClearText { url: shown() })
        }
    }

    /// Whether a redirect may be followed.
    pub(crate) fn redirect(&self, from: &Url, to: &Url) -> Result<(), Refusal> {
        if from.origin() != to.origin() {
            return Err(Refusal::Elsewhere { from: shown(from.as_str()), to: shown(to.as_str()) });
        }
        self.page(to)
    }

    fn admit(&self, class: Class, host: &str, shown: impl Fn() -> String) -> Result<(), Refusal> {
        match class {
            Class::Public => Ok(()),
            Class::Reserved => Err(Refusal::Reserved { url: shown() }),
            Class::Loopback | Class::Private if class == self.class => Ok(()),
            Class::Private if self.private.contains(&plain(host)) => Ok(()),
            Class::Loopback => Err(Refusal::Loopback { url: shown() }),
            Class::Private => Err(Refusal::Private { url: shown() }),
        }
    }
}

/// The address a text means, if every reader of addresses takes it for the same.
fn parse(text: &str) -> Result<Url, Refusal> {
    let url = || shown(text);
    if text.len() > LONGEST {
        return Err(Refusal::TooLong { url: url() });
    }
    // Browsers drop line ends, skip what cannot be seen and take a backslash for a slash; others do not.
    if text.contains(|c: char| c.is_whitespace() || is_hidden(c) || c == '\\') {
        return Err(Refusal::Characters { url: url() });
    }
    let starts_with = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            .then(|| &text[scheme.len()..])
    };
    let Some(rest) = starts_with("https://").or_else(|| starts_with("http://")) else {
        return Err(Refusal::Scheme { url: url() });
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(Refusal::Login { url: url() });
    }
    let malformed = |reason| Refusal::Malformed { url: url(), reason };
    if authority.is_empty() {
        return Err(malformed(url::ParseError::EmptyHost));
    }
    Url::parse(text).map_err(malformed)
}

/// An address as it may be told. Behind another scheme than ours stands any text; it is not repeated.
pub(super) fn shown(text: &str) -> String {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    match text.split_once(':') {
        Some((scheme, rest)) if !rest.starts_with("//") && !scheme.contains(|c| !is_scheme(c)) => {
            format!("{}:{}", excerpt(scheme, SHOWN), redact::STARS)
        }
        Some(_) | None => excerpt(&redact::url(text), SHOWN),
    }
}

/// Whose an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Public,
    /// This machine.
    Loopback,
    /// A network that is not for everybody.
    Private,
    /// Nobody's that a login could be at.
    Reserved,
}

impl Class {
    /// What can be told without looking a name up.
    fn of(host: &Host<&str>) -> Self {
        match host {
            Host::Domain(name) if is_local(name) => Self::Loopback,
            Host::Domain(name) if CLOUDS.contains(&plain(name).as_str()) => Self::Reserved,
            Host::Domain(_) => Self::Public,
            Host::Ipv4(address) => Self::of_v4(*address),
            Host::Ipv6(address) => Self::of_v6(*address),
        }
    }

    fn of_ip(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            [0 | 224..=255, ..] | [169, 254, ..] | [192, 0, 0, _] | [198, 18 | 19, ..]
            // Services of clouds for their own machines, hidden among the addresses of others.
            | [100, 100, 100, 200] | [168, 63, 129, 16] => Self::Reserved,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        if let Some(inner) = embedded(address) {
            return Self::of_v4(inner);
        }
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // A Teredo address leads to an IPv4 address and a port of somebody's choice; the other one is a cloud's.
            [0x2001, 0, ..] | [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254] => Self::Reserved,
            [0xfc00..=0xfdff, ..] => Self::Private,
            // All that was ever given to the public.
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Reserved,
        }
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated, NAT64, 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

/// Whether the name is kept for this machine (RFC 6761).
fn is_local(name: &str) -> bool {
    let name = plain(name);
    name == "localhost" || name.ends_with(".localhost")
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Looks names up and keeps the addresses that are allowed, each time a connection is made: a name that was harmless
/// when it was checked may lead elsewhere a moment later. An address in digits is never looked up; [`Gate::page`] has
/// seen it.
///
/// With a proxy the proxy looks names up, in a network we know nothing about, and nothing but the name of the proxy
/// itself arrives here. That one is the user's own choice, mostly in a private network, and is not checked. So only names
/// we ask for are, and each must be announced.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    gate: Gate,
    // Held for one look or one entry, never across a wait.
    asked: Arc<Mutex<BTreeSet<String>>>,
}

impl Checked {
    pub(crate) fn new(gate: Gate) -> Self {
        Self { gate, asked: Arc::default() }
    }

    /// Announces that this address will be asked.
    pub(crate) fn announce(&self, url: &Url) {
        if let Some(host) = url.host_str() {
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(plain(host));
        }
    }

    fn is_asked(&self, name: &str) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).contains(&plain(name))
    }

    /// The addresses that may be used, of those a name leads to.
    fn admitted(&self, name: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refusal> {
        if !self.is_asked(name) {
            return Ok(found);
        }
        let mut refusal = None;
        let mut admitted = found;
        admitted.retain(|address| match self.admit(name, address.ip()) {
            Ok(()) => true,
            Err(why) => {
                refusal.get_or_insert(why);
                false
            }
        });
        refusal.filter(|_| admitted.is_empty()).map_or(Ok(admitted), Err)
    }

    fn admit(&self, name: &str, ip: IpAddr) -> Result<(), Refusal> {
        let shown = || format!("{} ({ip})", shown(name));
        let class = Class::of_ip(ip);
        // What goes there is not encrypted, because it stays here.
        if is_local(name) && class != Class::Loopback {
            return Err(Refusal::Misnamed { url: shown() });
        }
        self.gate.admit(class, name, shown)
    }
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let name = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            let admitted: Addrs = Box::new(this.admitted(name, found)?.into_iter());
            Ok(admitted)
        })
    }
}
