//! Precedence is a total order that does not depend on the order of reading.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::declared::{Rank, Remote};
use crate::template::Template;

fn declaration(name: &str, provider: Provider, scope: Scope, rank: Rank, command: u8) -> Declaration {
    let mut declared = Declared::empty(Remote::Http);
    declared.command = Some(Template::plain(format!("program-{command}")));
    let path: Arc<Path> = Path::new("file").into();
    let origin = Origin { provider, scope, path: Some(path), line: Some(rank.entry) };
    Declaration { name: name.to_owned(), origin, rank, switch: Switch::On, content: Ok(Box::new(declared)) }
}

/// Declarations of a few names by all providers, with ranks as `sources` gives them: one file each.
fn any_declarations() -> impl Strategy<Value = Vec<Declaration>> {
    let providers: Vec<_> = Provider::all()
        .filter(|provider| !matches!(provider, Provider::Environment | Provider::BuiltIn))
        .collect();
    let one = ("[a-e]", prop::sample::select(providers), any::<bool>(), 0..4_u8);
    prop::collection::vec(one, 0..30).prop_map(|list| {
        let mut list: Vec<_> = list
            .into_iter()
            .map(|(name, provider, project, command)| {
                let scope = if project { Scope::Project } else { Scope::User };
                (name, provider, scope, command)
            })
            .collect();
        list.sort_by_key(|(_, provider, scope, _)| (*provider, *scope));
        let ranked = list.into_iter().enumerate().map(|(index, (name, provider, scope, command))| {
            let index = u32::try_from(index).unwrap();
            declaration(&name, provider, scope, Rank { file: index, entry: index }, command)
        });
        ranked.collect()
    })
}

fn decide(declarations: Vec<Declaration>) -> Plan {
    let settings = Settings::default();
    let approvals = Approvals::default();
    let project = Project { dir: "/p".into(), ancestors: vec!["/p".into()] };
    let inputs = Inputs {
        settings: &settings,
        approvals: &approvals,
        options: Options::default(),
        project: &project,
        installed: ("switchboard", &[]),
    };
    plan(Found { declarations, ..Found::default() }, &inputs)
}

/// What a plan says, in a form that can be compared.
fn summary(plan: &Plan) -> Vec<String> {
    let servers = plan.servers.iter().map(|server| format!("{} {:?}", server.name, server.origin));
    let aside =
        plan.set_aside.iter().map(|aside| format!("{} {:?} {:?}", aside.name, aside.origin, aside.because));
    servers.chain(aside).collect()
}

proptest! {
    #[test]
    fn the_order_of_reading_makes_no_difference(
        (declarations, shuffled) in any_declarations().prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle())),
    ) {
        prop_assert_eq!(summary(&decide(declarations)), summary(&decide(shuffled)));
    }

    #[test]
    fn the_first_of_a_name_wins_and_nobody_is_lost(declarations in any_declarations()) {
        let total = declarations.len();
        let plan = decide(declarations.clone());
        prop_assert_eq!(plan.servers.len() + plan.set_aside.len(), total);
        prop_assert!(plan.servers.windows(2).all(|pair| pair[0].name < pair[1].name));
        for server in &plan.servers {
            let same = declarations.iter().filter(|declaration| declaration.name == server.name);
            let first = same.min_by_key(|declaration| declaration.rank).unwrap();
            prop_assert_eq!(&first.origin, &server.origin);
        }
        // A shadow stands below what shadows it.
        for aside in &plan.set_aside {
            let by = aside.because.by().unwrap();
            let above = (by.provider, by.scope) <= (aside.origin.provider, aside.origin.scope);
            // Of one connection under two names, the one the user agreed to is used.
            let agreed = matches!(aside.because, Because::Duplicate(..)) && trust::by_origin(by, "").is_some();
            prop_assert!(above || agreed);
        }
    }
}
