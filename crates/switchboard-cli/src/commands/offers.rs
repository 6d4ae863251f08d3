//! `resources` and `prompts`: what servers offer besides tools.

use serde_json::{Value, json};
use switchboard::catalog::{Catalog, Of};
use switchboard::json::Json;
use switchboard::visible::excerpt;

use super::listing::{self, Lists};
use super::{Context, Outcome};
use crate::args::Listing;
use crate::error::CommandError;
use crate::printer::{FAINT, STRONG};
use crate::report::ErrorRow;
use crate::table::{Cell, Table};

pub(super) fn resources(context: &Context, listing: &Listing) -> Result<Outcome, CommandError> {
    listing::run(context, listing, Lists::Others, |shown| {
        show_resources(context, shown.catalog, &shown.errors)
    })
}

pub(super) fn prompts(context: &Context, listing: &Listing) -> Result<Outcome, CommandError> {
    listing::run(context, listing, Lists::Others, |shown| show_prompts(context, shown.catalog, &shown.errors))
}

pub(crate) fn show_resources(
    context: &Context,
    catalog: &Catalog,
    errors: &[ErrorRow],
) -> Result<(), CommandError> {
    if context.printer.json {
        let resources: Vec<_> = catalog.resources.iter().map(|of| with_server(of, &of.item.raw)).collect();
        let templates: Vec<_> = catalog.templates.iter().map(|of| with_server(of, &of.item.raw)).collect();
        let report = json!({"resources": resources, "templates": templates, "errors": errors});
        return Ok(context.printer.json(&report)?);
    }
    let mut table = Table::new(&[("ADDRESS", 24), ("SERVER", 6), ("IS", 10)]).keep(1);
    for of in &catalog.resources {
        let words = of.item.title.as_deref().unwrap_or(&of.item.name);
        table.row(row(&of.item.uri, &of.server, words));
    }
    for of in &catalog.templates {
        let words = of.item.title.as_deref().unwrap_or(&of.item.name);
        table.row(row(&of.item.uri_template, &of.server, words));
    }
    print(context, &table, catalog.resources.len() + catalog.templates.len(), "No resources.")
}

pub(crate) fn show_prompts(
    context: &Context,
    catalog: &Catalog,
    errors: &[ErrorRow],
) -> Result<(), CommandError> {
    if context.printer.json {
        let prompts: Vec<_> = catalog.prompts.iter().map(|of| with_server(of, &of.item.raw)).collect();
        return Ok(context.printer.json(&json!({"prompts": prompts, "errors": errors}))?);
    }
    let mut table = Table::new(&[("NAME", 24), ("SERVER", 6), ("DOES", 10)]).keep(1);
    for of in &catalog.prompts {
        let arguments: Vec<String> = of
            .item
            .arguments
            .iter()
            .map(
                |argument| {
                    if argument.required { argument.name.clone() } else { format!("[{}]", argument.name) }
                },
            )
            .collect();
        let name = format!("{} {}", of.item.name, arguments.join(" "));
        table.row(row(name.trim_end(), &of.server, of.item.description.as_deref().unwrap_or_default()));
    }
    print(context, &table, catalog.prompts.len(), "No prompts.")
}

fn row(name: &str, server: &str, words: &str) -> Vec<Cell> {
    vec![
        Cell::styled(excerpt(name, 120), STRONG),
        Cell::new(excerpt(server, 40)),
        Cell::styled(excerpt(words.lines().next().unwrap_or_default(), 120), FAINT),
    ]
}

fn print(context: &Context, table: &Table, count: usize, none: &str) -> Result<(), CommandError> {
    if count == 0 {
        context.printer.remark(none);
        return Ok(());
    }
    Ok(context.printer.data(&table.lines(context.printer.width))?)
}

/// The item as it came, with the server it belongs to.
fn with_server<T>(of: &Of<T>, raw: &Json) -> Value {
    let mut value = raw.value();
    if let Value::Object(fields) = &mut value {
        fields.insert("server".to_owned(), json!(of.server));
    }
    value
}
