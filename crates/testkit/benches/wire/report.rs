//! Tables and goals.

use std::fmt;
use std::time::Duration;

use crate::goal::median;
use crate::load::Load;

/// The medians over all rounds.
#[derive(Debug)]
pub(crate) struct Figures {
    p50: Duration,
    p99: Duration,
    /// Calls a second.
    rate: f64,
    /// Computed by the client for each call.
    cpu: Duration,
}

impl Figures {
    pub(crate) fn of(loads: &[Load]) -> Self {
        let at = |load: &Load, percent: usize| load.latencies[(load.latencies.len() - 1) * percent / 100];
        let n = |load: &Load| u32::try_from(load.latencies.len()).unwrap_or(u32::MAX);
        Self {
            p50: median(loads.iter().map(|load| at(load, 50)).collect()),
            p99: median(loads.iter().map(|load| at(load, 99)).collect()),
            rate: 1.0 / median(loads.iter().map(|load| load.elapsed / n(load)).collect()).as_secs_f64(),
            cpu: median(loads.iter().map(|load| load.cpu / n(load)).collect()),
        }
    }
}

/// One way of calling, and how everybody did. The first row is the one without a client.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) rows: Vec<(&'static str, Figures)>,
}

impl Table {
    fn figures(&self, name: &str) -> &Figures {
        &self.rows.iter().find(|(row, _)| *row == name).unwrap().1
    }

    pub(crate) fn p50(&self, name: &str) -> Duration {
        self.figures(name).p50
    }

    pub(crate) fn rate(&self, name: &str) -> f64 {
        self.figures(name).rate
    }

    /// The middle latency of one as a multiple of another's.
    pub(crate) fn ratio(&self, name: &str, other: &str) -> f64 {
        self.p50(name).as_secs_f64() / self.p50(other).as_secs_f64()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  {:<28} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
            self.title, "p50 µs", "p99 µs", "calls/s", "CPU µs", "p50 : 1", "rate : 1"
        )?;
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let Some((_, first)) = self.rows.first() else { return Ok(()) };
        for (name, figures) in &self.rows {
            writeln!(
                f,
                "  {name:<28} {:>9.1} {:>9.1} {:>9.0} {:>9.1} {:>8.2} {:>8.2}",
                micros(figures.p50),
                micros(figures.p99),
                figures.rate,
                micros(figures.cpu),
                figures.p50.as_secs_f64() / first.p50.as_secs_f64(),
                figures.rate / first.rate,
            )?;
        }
        Ok(())
    }
}
