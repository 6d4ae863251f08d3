//! Lines up columns. On a terminal what does not fit is cut, and the cut is marked; or it goes on in the next line.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const GAP: usize = 2;

/// A table whose columns are as wide as they must be, and no wider than they may be.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// The last column goes on in the next line instead of being cut.
    wraps: bool,
}

#[derive(Debug)]
struct Column {
    title: &'static str,
    /// A column is not cut below this.
    least: usize,
    /// Cut only when the others have given all they have: names that are cut cannot be typed.
    is_kept: bool,
}

/// Text and how it looks.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: Style::new() }
    }

    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl Table {
    /// Columns with the width below which they are not cut.
    pub(crate) fn new(columns: &[(&'static str, usize)]) -> Self {
        let column = |(title, least): &(&'static str, usize)| Column { title, least: *least, is_kept: false };
        Self { columns: columns.iter().map(column).collect(), rows: Vec::new(), wraps: false }
    }

    /// The first columns are what people look for: they give way last.
    #[must_use]
    pub(crate) fn keep(mut self, n_columns: usize) -> Self {
        self.columns.iter_mut().take(n_columns).for_each(|column| column.is_kept = true);
        self
    }

    /// The last column has as many lines as it needs.
    #[must_use]
    pub(crate) const fn wrap_last(mut self) -> Self {
        self.wraps = true;
        self
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// One more column, with a cell for each row.
    pub(crate) fn column(
        &mut self,
        title: &'static str,
        least: usize,
        cells: impl IntoIterator<Item = Cell>,
    ) {
        self.columns.push(Column { title, least, is_kept: false });
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.push(cell);
        }
    }

    /// How wide it is if nothing is cut.
    pub(crate) fn width(&self) -> usize {
        self.widths(None).iter().map(|width| width + GAP).sum()
    }

    /// The lines; `width` is the terminal's, or none where nothing needs to be cut.
    pub(crate) fn lines(&self, width: Option<usize>) -> Vec<String> {
        let widths = self.widths(width);
        let title = Style::new().bold();
        let header = self.columns.iter().map(|column| Cell::styled(column.title, title)).collect();
        let rows = std::iter::once(&header).chain(&self.rows);
        if !self.wraps || width.is_none() {
            return rows.map(|row| line(row, &widths)).collect();
        }
        rows.flat_map(|row| wrapped(row, &widths)).collect()
    }

    fn widths(&self, terminal: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.title.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let Some(terminal) = terminal else { return widths };
        let mut excess = (widths.iter().sum::<usize>() + GAP * (widths.len() - 1)).saturating_sub(terminal);
        // The widest gives way first, one column at a time, down to its least.
        while excess > 0 {
            let candidates = widths.iter().zip(&self.columns).enumerate();
            let widest = candidates
                .filter(|(_, (width, column))| **width > column.least)
                .max_by_key(|(_, (width, column))| (!column.is_kept, **width));
            let Some((index, _)) = widest else { break };
            widths[index] -= 1;
            excess -= 1;
        }
        widths
    }
}

/// The lines of a row whose last cell goes on below itself.
fn wrapped(cells: &[Cell], widths: &[usize]) -> Vec<String> {
    let (Some(last), Some(width)) = (cells.last(), widths.last()) else { return Vec::new() };
    let mut row = cells.to_vec();
    let mut lines = Vec::new();
    for part in parts(&last.text, *width) {
        row.pop();
        row.push(Cell::styled(part, last.style));
        lines.push(line(&row, widths));
        for cell in &mut row {
            cell.text.clear();
        }
    }
    lines
}

/// The text in parts that fit, parted at blanks where there are any.
pub(crate) fn parts(text: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in text.split(' ') {
        let part = parts.last_mut().map_or(0, |part| part.width());
        match parts.last_mut() {
            Some(last) if part == 0 => last.push_str(word),
            Some(last) if part + 1 + word.width() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    parts
}

fn line(cells: &[Cell], widths: &[usize]) -> String {
    let filled = cells.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
    let mut line = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).take(filled).enumerate() {
        if index > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        let text = cut(&cell.text, *width);
        // No blanks at the end of a line.
        let pad = if index + 1 < filled { width.saturating_sub(text.width()) } else { 0 };
        line.push_str(&format!("{}{text}{:#}{}", cell.style, cell.style, " ".repeat(pad)));
    }
    line
}

/// The text cut to a width, with a mark at the end if something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        shown.push(c);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, width: Option<usize>) -> Vec<String> {
        table.lines(width).iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn the_widest_column_gives_way_first() {
        let mut table = Table::new(&[("NAME", 6), ("WHERE", 6)]);
        table.row(vec![Cell::new("github"), Cell::new("~/.config/somewhere/mcp.json:14")]);
        table.row(vec![Cell::new("日本語"), Cell::new("x")]);
        let full = ["NAME    WHERE", "github  ~/.config/somewhere/mcp.json:14", "日本語  x"];
        assert_eq!(plain(&table, None), full);
        assert_eq!(plain(&table, Some(20)), ["NAME    WHERE", "github  ~/.config/s…", "日本語  x"]);
        let kept = Table { rows: table.rows.clone(), ..Table::new(&[("NAME", 6), ("WHERE", 6)]).keep(1) };
        assert_eq!(plain(&kept, Some(14)), ["NAME    WHERE", "github  ~/.co…", "日本語  x"]);
        for width in 14..40 {
            assert!(plain(&table, Some(width)).iter().all(|line| line.width() <= width));
        }
    }

    #[test]
    fn the_last_column_goes_on_in_the_next_line() {
        let mut table = Table::new(&[("NAME", 6), ("DO", 10)]).wrap_last();
        table.row(vec![Cell::new("github"), Cell::new("switchboard trust github now")]);
        table.row(vec![Cell::new("x"), Cell::new("")]);
        let narrow = ["NAME    DO", "github  switchboard", "        trust github", "        now", "x"];
        assert_eq!(plain(&table, Some(20)), narrow);
        assert_eq!(plain(&table, None), ["NAME    DO", "github  switchboard trust github now", "x"]);
    }
}
