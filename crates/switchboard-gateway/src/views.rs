//! What is seen with each facet: made anew when something may have changed, and compared with what was.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use switchboard::calls::{Decision, Ruling};
use switchboard::config::settings::Profile;
use switchboard::session::Session;

use crate::facet::{self, Facet};
use crate::hint::Audience;
use crate::hub::{Hub, Options};
use crate::instructions::{self, Absent};
use crate::view::{Everything, Eyes, List, View};

/// What is seen, by whose eyes one looks with.
type All = BTreeMap<Facet, Arc<View>>;

/// The lists that changed, for each facet.
pub(crate) type Differences = BTreeMap<Facet, BTreeSet<List>>;

/// What a look brought.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) lists: Differences,
    /// Addresses are made in another way than before.
    pub(crate) has_new_words: bool,
}

// Written when the catalog changes, read by every request, never held across a wait.
#[derive(Debug, Default)]
pub(crate) struct Views(RwLock<All>);

impl Views {
    /// What is seen with these eyes. A profile that is gone shows nothing.
    pub(crate) fn of(&self, facet: &Facet) -> Arc<View> {
        let views = self.0.read().unwrap_or_else(PoisonError::into_inner);
        views.get(facet).cloned().unwrap_or_default()
    }

    /// Takes what there is now.
    pub(crate) fn look(&self, session: &Session, options: &Options) -> Changes {
        let new = all(session, options);
        let mut views = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *views, new);
        let (one, another) = (views.get(&Facet::Whole), before.get(&Facet::Whole));
        let has_old_words = one.zip(another).is_some_and(|(one, another)| one.has_words_of(another));
        Changes { lists: differences(&views, &before), has_new_words: !has_old_words }
    }
}

fn all(session: &Session, options: &Options) -> All {
    let catalog = session.catalog();
    let is_denied = |ruling: &Ruling| matches!(ruling.decision, Decision::Deny { .. });
    let denied = catalog.tools.iter().filter(|entry| is_denied(&session.explain(entry)));
    let denied = denied.map(|entry| entry.name.clone()).collect();
    let settings = &session.discovery().settings;
    let everything = Everything {
        denied,
        catalog,
        servers: session.servers().into_iter().map(|server| server.name).collect(),
        names: options.names,
        style: settings.tool_names,
    };
    let profiles = &settings.gateway.profiles;
    // Where one address shows different things to different clients, none of them is for everybody.
    let is_alike = profiles.iter().all(|profile| profile.clients.is_empty()) && everything.denied.is_empty();
    let audience = if is_alike { Audience::Everybody } else { Audience::WhoAsked };
    let eyes = Eyes { profile: None, search: options.search, audience };
    let mut views: All = BTreeMap::from([(Facet::Whole, Arc::new(View::new(&everything, eyes)))]);
    for profile in profiles {
        let search = profile.search.unwrap_or(options.search);
        let eyes = Eyes { profile: Some(profile), search, audience: Audience::WhoAsked };
        views.insert(Facet::of(&profile.name), Arc::new(View::new(&everything, eyes)));
    }
    views
}

/// Which lists changed for whom.
fn differences(now: &All, before: &All) -> Differences {
    let nothing = Arc::default();
    let facets: BTreeSet<&Facet> = now.keys().chain(before.keys()).collect();
    let changes = facets.into_iter().map(|facet| {
        let (now, before) = (now.get(facet).unwrap_or(&nothing), before.get(facet).unwrap_or(&nothing));
        (facet.clone(), View::changes(now, before))
    });
    changes.filter(|(_, lists)| !lists.is_empty()).collect()
}

impl Hub {
    /// What a client of this name sees, if it came in by no particular door.
    pub(crate) fn facet_for(&self, client: Option<&str>) -> Facet {
        match &self.options.profile {
            Some(only) => Facet::of(only),
            None => facet::choose(&self.profiles(), client),
        }
    }

    /// The door of a profile; or the names of those there are.
    pub(crate) fn door(&self, name: &str) -> Result<Facet, Vec<String>> {
        let names: Vec<String> = match &self.options.profile {
            Some(only) => vec![only.clone()],
            None => self.profiles().into_iter().map(|profile| profile.name).collect(),
        };
        if names.iter().any(|known| known == name) { Ok(Facet::of(name)) } else { Err(names) }
    }

    fn profiles(&self) -> Vec<Profile> {
        self.session.discovery().settings.gateway.profiles.clone()
    }

    /// The servers that are not there for a client, with the reason.
    pub(crate) fn absent(&self, facet: &Facet) -> Vec<Absent> {
        let profiles = self.profiles();
        let profile = match facet {
            Facet::Whole => None,
            Facet::Profile(name) => profiles.iter().find(|profile| profile.name == **name),
        };
        let is_seen = |server: &str| match facet {
            Facet::Whole => true,
            Facet::Profile(_) => profile.is_some_and(|profile| profile.sees_server(server)),
        };
        let down = self.session.servers().into_iter().filter(|server| is_seen(&server.name));
        let down = down.filter_map(|server| instructions::absent(&server.name, &server.status));
        let waiting = self.session.waiting();
        let waiting = waiting.iter().filter(|server| is_seen(server));
        down.chain(waiting.map(|server| instructions::unapproved(server))).collect()
    }
}
