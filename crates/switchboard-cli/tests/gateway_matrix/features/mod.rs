//! The features, each with the one check that is made of it in every combination. A check gives the word that stands in
//! the table, and panics where something is not as it has to be.

mod asks;
mod errors;
mod offers;
mod tasks;
mod tells;

use crate::client::{Client, Era};
use crate::world::World;

/// It crosses.
pub(crate) const YES: &str = "yes";

/// Where a check is made.
pub(crate) struct Cell<'a> {
    pub(crate) client: &'a mut Client,
    pub(crate) world: &'a World,
}

impl Cell<'_> {
    /// The protocols of the client and of the server.
    fn eras(&self) -> (Era, Era) {
        (self.world.client.era, self.world.server.era)
    }
}

pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) check: fn(&mut Cell<'_>) -> &'static str,
}

macro_rules! features {
    ($($name:literal => $check:path,)*) => {
        pub(crate) const FEATURES: &[Feature] = &[$(Feature { name: $name, check: $check }),*];
    };
}

features! {
    "instructions" => offers::instructions,
    "tools: list" => offers::list_tools,
    "tools: call" => offers::call_tool,
    "structured content" => offers::structured,
    "unknown content and fields" => offers::unknown_parts,
    "errors of tools" => errors::of_tool,
    "resources: list, read" => offers::resources,
    "resource templates" => offers::templates,
    "prompts: list, get" => offers::prompts,
    "completion" => offers::completion,
    "pages of servers and for clients" => offers::pages,
    "links and embedded resources can be read" => offers::pointers,
    "a result of 5 MB" => offers::large,
    "trace context" => offers::trace,
    "`x-mcp-header`" => offers::headers,
    "log lines, from a level on" => tells::logging,
    "progress" => tells::progress,
    "cancellation of one call of two" => tells::cancellation,
    "`list_changed`: tools" => tells::tools_changed,
    "`list_changed`: resources" => tells::resources_changed,
    "`list_changed`: prompts" => tells::prompts_changed,
    "resource subscriptions" => tells::subscriptions,
    "elicitation: form" => asks::form,
    "elicitation: URL" => asks::url,
    "sampling" => asks::sampling,
    "roots" => asks::roots,
    "roots that change" => asks::roots_changed,
    "several questions at once, and in rounds" => asks::rounds,
    "questions about prompts and resources" => asks::of_others,
    "two clients asked at once" => asks::two_clients,
    "a client that cannot be asked" => asks::unable,
    "tasks" => tasks::life,
    "tasks that ask" => tasks::asking,
    "tasks taken back" => tasks::cancelled,
    "tools that only run as tasks, called plainly" => tasks::required,
    "skills" => tasks::skills,
    "ping" => errors::ping,
    "unknown methods" => errors::unknown_method,
    "invalid parameters" => errors::invalid_params,
    "errors of servers, with code and data" => errors::of_server,
    "resources that are not there" => errors::no_resource,
}
