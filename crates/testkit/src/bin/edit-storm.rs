//! Adds servers to one file, one edit after the other: `edit-storm FILE PREFIX FIRST COUNT`.

use std::path::Path;
use std::process::ExitCode;

use switchboard::config::edit::{IfExists, OwnFile};
use switchboard::config::file::ServerEntry;
use switchboard::config::write::Privacy;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, prefix, first, count] = args.as_slice() else { return ExitCode::from(2) };
    let (Ok(first), Ok(count)) = (first.parse::<usize>(), count.parse::<usize>()) else {
        return ExitCode::from(2);
    };
    let file = OwnFile::new(Path::new(file), Privacy::Shared);
    for number in first..first + count {
        let name = format!("{prefix}{number}");
        let entry = ServerEntry { command: Some(name.clone()), ..ServerEntry::default() };
        if let Err(error) = file.add(&name, &entry, IfExists::Refuse) {
            use std::io::Write;
            drop(writeln!(std::io::stderr(), "{error}"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
