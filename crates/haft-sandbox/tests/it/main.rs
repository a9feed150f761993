//! The crate's guarantees, tested from outside: paths, change sets, processes. Tests of a root run
//! twice: with this kernel's features and with those of every kernel.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod apply;
mod channel;
mod confined;
mod files;
mod lifeline;
mod oracle;
mod paths;
mod process;
mod protect;
mod proxy;
mod race;
mod spawn;

use std::path::Path;

use haft_sandbox::Root;

/// Opens a directory in each possible way.
fn roots(path: &Path) -> [Root; 2] {
    [Root::open(path).unwrap(), Root::open_portably(path).unwrap()]
}

/// Returns the names in a directory, at any depth, as text.
fn tree(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut pending = vec![path.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            names.push(entry.path().strip_prefix(path).unwrap().display().to_string());
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
        }
    }
    names.sort();
    names
}
