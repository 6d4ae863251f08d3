//! The few rows at the end of the output that are drawn again in place; everything else scrolls as usual.
//!
//! Rows are laid out in a buffer of cells, so that no control character gets through, and written with relative moves
//! only: nobody has to be asked where the cursor is. Only rows that changed are written. It decides nothing.

use std::fmt::Write as _;
use std::io::{self, Write};

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::Line;

use super::look::{Look, RESET};
use super::text;

/// What the rows are to show, and where the cursor is in them: row, column. Without one it is hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Frame {
    pub(super) rows: Vec<Line<'static>>,
    pub(super) cursor: Option<(u16, u16)>,
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u16,
    pub(super) height: u16,
}

// A terminal that knows these shows the whole change at once; others ignore them.
const TOGETHER: &str = "\x1b[?2026h";
const DONE: &str = "\x1b[?2026l";
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";
/// Clears from the cursor on.
const CLEAR: &str = "\x1b[J";
const CLEAR_ROW: &str = "\x1b[K";
const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J";

/// The rows on a terminal.
#[derive(Debug)]
pub(super) struct Live<W> {
    out: W,
    look: Look,
    size: Size,
    /// What is there now.
    shown: Buffer,
    /// Whether it is there as it was written: not after a change of size.
    is_whole: bool,
    /// Where the cursor is, counted from the first row.
    at: (u16, u16),
    is_visible: bool,
    /// What is to be written above the rows before they are drawn again.
    above: String,
}

impl<W: Write> Live<W> {
    pub(super) fn new(out: W, look: Look, size: Size) -> Self {
        let shown = Buffer::empty(Rect::ZERO);
        Self { out, look, size, shown, is_whole: true, at: (0, 0), is_visible: true, above: String::new() }
    }

    /// Lines that scroll away, above the rows. They appear with the next drawing.
    pub(super) fn print(&mut self, lines: &str) {
        self.make_room();
        self.above.push_str(&text::safe(lines.strip_suffix('\n').unwrap_or(lines), self.look));
        self.above.push_str("\r\n");
    }

    /// An empty screen; what scrolled away stays there.
    pub(super) fn clear(&mut self) {
        self.above.push_str(CLEAR_SCREEN);
        self.forget();
    }

    /// The terminal has another size. Rows that no longer fit may have been broken by it.
    pub(super) fn resize(&mut self, size: Size) {
        let width = size.width.max(1);
        let reflowed = |columns: u16| columns.max(1).div_ceil(width);
        let (row, column) = self.at;
        let above: u16 = (0..row.min(self.shown.area.height)).map(|y| reflowed(self.filled(y))).sum();
        self.at = ((above + column / width).min(size.height.saturating_sub(1)), 0);
        self.is_whole = false;
        self.size = size;
    }

    /// Shows these rows instead of those before.
    pub(super) fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        let next = self.laid_out(frame);
        let last = next.area.height.saturating_sub(1);
        let inside =
            |(row, column): (u16, u16)| (row.min(last), column.min(self.size.width.saturating_sub(1)));
        let (place, is_visible) = (frame.cursor.map_or((last, 0), inside), frame.cursor.is_some());
        let is_same = self.above.is_empty() && self.is_whole && next == self.shown;
        if is_same && is_visible == self.is_visible && place == self.at {
            return Ok(());
        }
        if !self.is_whole {
            self.make_room();
        }
        let mut text = format!("{TOGETHER}{HIDE}{}", std::mem::take(&mut self.above));
        if !is_same {
            self.rewrite(&next, &mut text);
            self.at = (last, 0);
        }
        go(self.at.0, place, &mut text);
        text.push_str(if is_visible { SHOW } else { "" });
        text.push_str(DONE);
        (self.shown, self.at) = (next, place);
        (self.is_whole, self.is_visible) = (true, is_visible);
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Takes the rows away; what comes next stands where they were.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        self.make_room();
        let text = format!("{}{SHOW}", std::mem::take(&mut self.above));
        self.is_visible = true;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Takes the rows away, to be drawn again below what is printed.
    fn make_room(&mut self) {
        if !self.shown.area.is_empty() || !self.is_whole {
            up(self.at.0, &mut self.above);
            self.above.push('\r');
            self.above.push_str(CLEAR);
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
        self.at = (0, 0);
        self.is_whole = true;
    }

    fn laid_out(&self, frame: &Frame) -> Buffer {
        let height = u16::try_from(frame.rows.len()).unwrap_or(u16::MAX).min(self.size.height);
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.width, height));
        for (y, row) in (0..height).zip(&frame.rows) {
            buffer.set_line(0, y, row, self.size.width);
        }
        buffer
    }

    /// Leaves the cursor in the last row.
    fn rewrite(&self, next: &Buffer, text: &mut String) {
        let (old, new) = (self.shown.area.height, next.area.height);
        up(self.at.0, text);
        text.push('\r');
        if new == 0 {
            text.push_str(CLEAR);
        }
        for y in 0..new {
            if y > 0 {
                text.push_str("\r\n");
            }
            let is_last_of_fewer = new < old && y + 1 == new;
            if y < old && !is_last_of_fewer && cells(&self.shown, y) == cells(next, y) {
                continue;
            }
            // Cleared before it is written: behind a full row the cursor stands on its last column.
            text.push_str(if is_last_of_fewer || y >= old { CLEAR } else { CLEAR_ROW });
            self.write_row(next, y, text);
        }
    }

    fn write_row(&self, buffer: &Buffer, y: u16, text: &mut String) {
        let mut style = String::new();
        let mut skip = 0;
        for cell in cells(buffer, y).iter().take(usize::from(filled(buffer, y))) {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let wanted = self.look.sgr(styled(cell));
            if wanted != style {
                if !style.is_empty() {
                    text.push_str(RESET);
                }
                text.push_str(&wanted);
                style = wanted;
            }
            text.push_str(cell.symbol());
            skip = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
        }
        if !style.is_empty() {
            text.push_str(RESET);
        }
    }

    fn filled(&self, y: u16) -> u16 {
        filled(&self.shown, y)
    }
}

fn cells(buffer: &Buffer, y: u16) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    buffer.content().get(usize::from(y) * width..(usize::from(y) + 1) * width).unwrap_or_default()
}

/// How many columns of a row are not blank.
fn filled(buffer: &Buffer, y: u16) -> u16 {
    let row = cells(buffer, y);
    let wide = |cell: &Cell| unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
    let last = row.iter().rposition(|cell| *cell != Cell::EMPTY);
    let columns = last.map_or(0, |last| last + 1 + wide(&row[last]));
    u16::try_from(columns).unwrap_or(u16::MAX).min(buffer.area.width)
}

fn styled(cell: &Cell) -> Style {
    let style = Style::new().add_modifier(cell.modifier);
    if cell.fg == Color::Reset { style } else { style.fg(cell.fg) }
}

fn up(rows: u16, text: &mut String) {
    if rows > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "\x1b[{rows}A");
    }
}

/// From a row to a place above it or in it.
fn go(from: u16, (row, column): (u16, u16), text: &mut String) {
    if row < from {
        up(from - row, text);
    } else if row > from {
        let _ = write!(text, "\x1b[{}B", row - from);
    }
    text.push('\r');
    if column > 0 {
        let _ = write!(text, "\x1b[{column}C");
    }
}

#[cfg(test)]
impl Live<Vec<u8>> {
    /// What was written since the last time.
    pub(super) fn written(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}
