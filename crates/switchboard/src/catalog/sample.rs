//! Catalogs for tests, made of tools as servers list them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::build::{Catalog, Part};
use super::builder::build;
use crate::config::settings::NameStyle;
use crate::connect::{Freshness, Hints, Offer};
use crate::declared::Conduct;
use crate::json::Json;
use crate::offer::{Tool, page};
use crate::origin::{Origin, Scope};
use crate::provider::Provider;
use crate::wire::{Era, Facts};

/// A server with these tools.
pub(crate) fn offer(tools: &Value, freshness: Freshness) -> Arc<Offer> {
    let empty = || Json::from(json!({}));
    let page = page::<Tool>(&json!({"tools": tools}).into()).unwrap();
    Arc::new(Offer {
        facts: Arc::new(Facts::remembered(Era::Modern, "2026-07-28", (empty(), empty()), None)),
        tools: Arc::new(page.items),
        resources: Arc::default(),
        templates: Arc::default(),
        prompts: Arc::default(),
        odd: Arc::default(),
        notes: Arc::default(),
        freshness,
        is_complete: true,
        hints: Hints::default(),
    })
}

/// The catalog of some servers that just said what they offer.
pub(crate) fn catalog(servers: &[(&str, Conduct, Value)]) -> Catalog {
    let origin = Origin { provider: Provider::Native, scope: Scope::User, path: None, line: None };
    let offers: Vec<_> = servers.iter().map(|(_, _, tools)| offer(tools, Freshness::Live)).collect();
    let parts: Vec<Part<'_>> = servers
        .iter()
        .zip(&offers)
        .map(|((server, conduct, _), offer)| Part { server, origin: &origin, conduct, offer })
        .collect();
    build(&parts, NameStyle::Standard)
}
