//! Builds one catalog after the other. What was found out about a tool is kept as long as its server lists the same ones,
//! so news of one server costs a look at the tools of that one, and not at those of all.
//!
//! In: the offers of all servers. Out: what [`build::from_checked`] makes of them, which does not depend on what was kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::build::{self, Catalog, Part};
use super::check;
use super::promise::Promise;
use crate::config::settings::NameStyle;
use crate::json::Json;
use crate::offer::Tool;

/// Builds catalogs.
#[derive(Debug, Default)]
pub struct Builder {
    known: BTreeMap<String, Known>,
}

/// The tools of a server, and what was found out about each, in the same order.
#[derive(Debug)]
struct Known {
    tools: Arc<Vec<Tool>>,
    checked: Vec<Checked>,
}

/// What was found out about a tool.
#[derive(Debug)]
pub(super) struct Checked {
    /// The schema as models take it, or why none would.
    pub(super) schema: Result<Json, String>,
    /// What it promises its structured result to be.
    pub(super) promise: Option<Arc<Promise>>,
}

impl Checked {
    fn new(tool: &Tool) -> Self {
        let promise = tool.output_schema.clone().map(|schema| Arc::new(Promise::new(schema)));
        Self { schema: check::schema(tool), promise }
    }
}

impl Builder {
    /// Builds the catalog. The order of the parts makes no difference, nor does what was built before.
    pub fn build(&mut self, parts: &[Part<'_>], style: NameStyle) -> Catalog {
        let there: BTreeSet<&str> = parts.iter().map(|part| part.server).collect();
        self.known.retain(|server, _| there.contains(server.as_str()));
        for part in parts {
            let tools = &part.offer.tools;
            let is_known = self.known.get(part.server).is_some_and(|known| Arc::ptr_eq(&known.tools, tools));
            if !is_known {
                let checked = tools.iter().map(Checked::new).collect();
                self.known.insert(part.server.to_owned(), Known { tools: Arc::clone(tools), checked });
            }
        }
        build::from_checked(parts, style, |server| {
            self.known.get(server).map(|known| known.checked.as_slice()).unwrap_or_default()
        })
    }
}

/// Builds one catalog.
pub fn build(parts: &[Part<'_>], style: NameStyle) -> Catalog {
    Builder::default().build(parts, style)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::sample;
    use crate::connect::{Freshness, Offer};
    use crate::declared::Conduct;
    use crate::origin::{Origin, Scope};
    use crate::provider::Provider;

    /// Tools that are fine, that promise something, that need repair and that cannot be used.
    fn tool(number: u8) -> Value {
        let name = format!("t{}", number % 5);
        match number % 4 {
            0 => json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": {}}}}),
            1 => json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}),
            2 => json!({"name": name, "inputSchema": {"type": ["object", "null"], "required": null}}),
            _ => json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": 7}}}),
        }
    }

    fn origin() -> Origin {
        Origin { provider: Provider::Native, scope: Scope::User, path: None, line: None }
    }

    fn parts<'a>(
        offers: &'a BTreeMap<String, Arc<Offer>>,
        origin: &'a Origin,
        conduct: &'a Conduct,
    ) -> Vec<Part<'a>> {
        offers.iter().map(|(server, offer)| Part { server, origin, conduct, offer }).collect()
    }

    proptest! {
        /// Servers come, change their tools and go: what was kept never shows.
        #[test]
        fn what_was_built_before_makes_no_difference(
            changes in prop::collection::vec((0..4u8, prop::option::of(prop::collection::vec(0..20u8, 0..5))), 1..12)
        ) {
            let (origin, conduct, mut builder) = (origin(), Conduct::default(), Builder::default());
            let mut offers = BTreeMap::new();
            for (server, tools) in changes {
                match tools {
                    Some(tools) => {
                        let tools: Value = tools.into_iter().map(tool).collect();
                        offers.insert(format!("s{server}"), sample::offer(&tools, Freshness::Live));
                    }
                    None => drop(offers.remove(&format!("s{server}"))),
                }
                let parts = parts(&offers, &origin, &conduct);
                prop_assert_eq!(
                    builder.build(&parts, NameStyle::Standard),
                    build(&parts, NameStyle::Standard)
                );
            }
        }
    }

    #[test]
    fn news_of_one_server_leaves_what_is_known_of_the_others() {
        let (origin, conduct, mut builder) = (origin(), Conduct::default(), Builder::default());
        let offer = || sample::offer(&json!([tool(1)]), Freshness::Live);
        let mut offers = BTreeMap::from([("a".to_owned(), offer()), ("b".to_owned(), offer())]);
        let promise = |catalog: &Catalog, server: &str| {
            let entry = catalog.tools.iter().find(|entry| entry.server == server).unwrap();
            Arc::clone(entry.promise.as_ref().unwrap())
        };
        let before = builder.build(&parts(&offers, &origin, &conduct), NameStyle::Standard);
        offers.insert("b".to_owned(), offer());
        let after = builder.build(&parts(&offers, &origin, &conduct), NameStyle::Standard);
        assert!(Arc::ptr_eq(&promise(&before, "a"), &promise(&after, "a")), "not looked at again");
        assert!(!Arc::ptr_eq(&promise(&before, "b"), &promise(&after, "b")), "looked at again");
        offers.clear();
        builder.build(&parts(&offers, &origin, &conduct), NameStyle::Standard);
        assert!(builder.known.is_empty(), "nothing is kept of servers that are gone");
    }
}
