//! What can be typed.

use std::path::PathBuf;
use std::time::Duration;

/// How to use it.
pub(crate) const USAGE: &str =
    "usage: soak/run [--minutes N] [--seed N] [--servers N] [--rate N] [--json FILE] [--plan] [--page]

  --minutes N   how long faults happen (3); a fraction is fine
  --seed N      which faults, in which order (1)
  --servers N   how many servers (50, at least 25)
  --rate N      calls a second (20)
  --json FILE   writes what was counted there
  --plan        only prints the faults of this seed
  --page        only writes the table of docs/reliability.md again, from docs/reliability/soak.json
  --debug       takes the debug build as it is
";

/// A run, as it was asked for.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word on the command line")]
pub(crate) struct Options {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) servers: usize,
    pub(crate) rate: usize,
    pub(crate) json: Option<PathBuf>,
    pub(crate) is_plan: bool,
    pub(crate) is_page: bool,
    /// Whether mounts are nobody's but ours: `soak/run` says so when it has made it so.
    pub(crate) may_mount: bool,
    pub(crate) wants_help: bool,
}

impl Options {
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            time: Duration::from_mins(3),
            seed: 1,
            servers: 50,
            rate: 20,
            json: None,
            is_plan: false,
            is_page: false,
            may_mount: false,
            wants_help: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--minutes" => {
                    let minutes: f64 = number(&arg, &value()?)?;
                    options.time = Duration::try_from_secs_f64(minutes * 60.0).map_err(|e| e.to_string())?;
                }
                "--seed" => options.seed = number(&arg, &value()?)?,
                "--servers" => options.servers = number::<usize>(&arg, &value()?)?.max(25),
                "--rate" => options.rate = number::<usize>(&arg, &value()?)?.max(1),
                "--json" => options.json = Some(PathBuf::from(value()?)),
                "--plan" => options.is_plan = true,
                "--page" => options.is_page = true,
                "--may-mount" => options.may_mount = true,
                "-h" | "--help" => options.wants_help = true,
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} needs a number, not {text}"))
}
