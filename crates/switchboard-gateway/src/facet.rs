//! Which part of everything a client sees: all of it, or what a profile of the settings shows. Pure.
//!
//! A facet only narrows. What it does not show cannot be used either: whoever asks gets the same answer as for something
//! that is not there.

use std::sync::Arc;

use switchboard::config::settings::Profile;

/// Whose eyes one looks with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Facet {
    /// Everything the rules allow.
    #[default]
    Whole,
    /// What the profile of this name shows; nothing if there is none any more.
    Profile(Arc<str>),
}

impl Facet {
    pub(crate) fn of(name: &str) -> Self {
        Self::Profile(name.into())
    }
}

/// What a client sees that came in by no particular door: what the first profile for clients of its name shows, else
/// everything.
pub(crate) fn choose(profiles: &[Profile], client: Option<&str>) -> Facet {
    let is_meant = |profile: &&Profile| client.is_some_and(|client| profile.is_for(client));
    profiles.iter().find(is_meant).map_or(Facet::Whole, |profile| Facet::of(&profile.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_profile_for_the_client_counts() {
        let profile = |name: &str, client: &str| Profile {
            name: name.to_owned(),
            clients: vec![client.to_owned()],
            ..Profile::default()
        };
        let profiles = [profile("b", "claude*"), profile("a", "claude-code"), profile("c", "cursor")];
        let chosen = |client: Option<&str>| choose(&profiles, client);
        assert_eq!(chosen(Some("claude-code")), Facet::of("b"));
        assert_eq!(chosen(Some("cursor")), Facet::of("c"));
        assert_eq!(chosen(Some("other")), Facet::Whole);
        assert_eq!(chosen(None), Facet::Whole);
        assert_eq!(
            choose(&[Profile::default()], Some("x")),
            Facet::Whole,
            "a profile for nobody is for nobody"
        );
    }
}
