//! One server, looked at closely: connect, list everything, stop; and what was learnt on the way.

use std::fmt;
use std::time::{Duration, Instant};

use crate::offer::Odd;
use crate::problem::Problem;
use crate::resolve::Launch;
use crate::wire::{self, Ending, Error, Facts, Link, Listing, Step, Terms};

/// What was learnt.
#[derive(Debug)]
pub struct Examination {
    /// What the server says of itself, once it was reached.
    pub facts: Option<Facts>,
    /// Which transport it turned out to be.
    pub transport: Option<&'static str>,
    /// How much it offers.
    pub counts: Counts,
    /// Items that cannot be used, with the reason, and lists that end early.
    pub oddities: Vec<String>,
    /// Until the connection stood, or failed.
    pub connect: Duration,
    /// For all lists together.
    pub list: Duration,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// The last words of its process.
    pub stderr: String,
    /// Lines on its output that were no messages, and the first of them.
    pub noise: (u64, Option<String>),
    /// How its process went.
    pub ending: Option<Ending>,
    /// What went wrong.
    pub error: Option<Error>,
    /// What could not be filled in before: after a failure, the likely cause.
    pub problems: Vec<Problem>,
}

/// How much a server offers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tools.
    pub tools: usize,
    /// Resources.
    pub resources: usize,
    /// Templates of resources.
    pub templates: usize,
    /// Prompts.
    pub prompts: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tools, resources, templates, prompts } = *self;
        let counted =
            [(tools, "tool"), (resources, "resource"), (templates, "template"), (prompts, "prompt")];
        let words =
            counted.map(|(count, noun)| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }));
        f.write_str(&words.join(", "))
    }
}

/// Connects, lists everything, and stops again.
pub async fn examine(launch: &Launch, terms: &Terms) -> Examination {
    let started = Instant::now();
    let mut seen = Examination {
        facts: None,
        transport: None,
        counts: Counts::default(),
        oddities: Vec::new(),
        connect: Duration::ZERO,
        list: Duration::ZERO,
        steps: Vec::new(),
        stderr: String::new(),
        noise: (0, None),
        ending: None,
        error: None,
        problems: launch.problems.clone(),
    };
    match wire::open(launch, terms).await {
        Ok(link) => {
            seen.connect = started.elapsed();
            seen.look(&link, terms).await;
        }
        Err(failure) => {
            seen.connect = started.elapsed();
            let wire::Failure { error, stderr, noise, problems } = *failure;
            (seen.error, seen.stderr, seen.noise, seen.problems) = (Some(error), stderr, noise, problems);
        }
    }
    seen.steps = terms.steps.taken();
    seen
}

impl Examination {
    async fn look(&mut self, link: &Link, terms: &Terms) {
        self.facts = Some(link.facts().clone());
        self.transport = Some(link.transport());
        let started = Instant::now();
        if let Err(error) = self.count(link).await {
            self.error = Some(error);
        }
        self.list = started.elapsed();
        if self.error.is_none() {
            terms.steps.note(format!("listed {}", self.counts));
        }
        self.stderr = link.stderr_tail();
        self.noise = link.noise();
        self.ending = Some(link.stop().await);
        terms.steps.note("stopped");
    }

    async fn count(&mut self, link: &Link) -> Result<(), Error> {
        let tools = link.tools().await?;
        self.counts.tools = self.take("tools", tools);
        let resources = link.resources().await?;
        self.counts.resources = self.take("resources", resources);
        let templates = link.templates().await?;
        self.counts.templates = self.take("templates", templates);
        let prompts = link.prompts().await?;
        self.counts.prompts = self.take("prompts", prompts);
        Ok(())
    }

    fn take<T>(&mut self, list: &str, listing: Listing<T>) -> usize {
        self.oddities.extend(listing.odd.iter().map(|odd| odd_line(list, odd)));
        self.oddities.extend(listing.notes);
        self.oddities.extend(listing.cut.map(|why| format!("{list}: cut off, {why}")));
        listing.items.len()
    }
}

fn odd_line(list: &str, odd: &Odd) -> String {
    match &odd.name {
        Some(name) => format!("{list}: `{name}` cannot be used: {}", odd.reason),
        None => format!("{list}: item {} cannot be used: {}", odd.index + 1, odd.reason),
    }
}
