//! What it costs to run a command that does nothing.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::Bench;
use super::calls::{one_sync, open};
use super::peers::Peer;
use super::report::{Section, time_table};
use super::server::{Call, Wire};
use super::turns::{Entrant, interleave};

const ROUNDS: usize = 20;
const CALLS: usize = 20;

const ABOUT: &str = "\
The tool `bash` with the command `true` in a server that runs, over pipes, beside starting `true` and `sh -c true` with
the standard library and waiting for them. haft journals the intent before and the outcome after, each synced to disk,
and confines the process; unconfined, it watches over the tree of processes alone. What one request to this disk costs is in the last row.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let dir = bench.make_dir("bash")?;
    let mut entrants = Vec::new();
    for (name, flags) in [("haft", &[][..]), ("haft, unconfined", &["--unsafe-no-sandbox"])] {
        let mut haft = bench.peers.server(Peer::Haft, &dir).context("haft is built")?;
        haft.args(flags);
        let mut haft = open(haft, Wire::Pipes)?;
        let call = Call { tool: "bash", arguments: json!({"cmd": "true"}) };
        entrants.push(Entrant::new("", name, CALLS, move || {
            let (elapsed, _) = haft.call(&call)?;
            Ok(elapsed)
        }));
    }
    for (name, program, arguments) in
        [("spawn `true`", "true", &[][..]), ("spawn `sh -c true`", "sh", &["-c", "true"])]
    {
        entrants.push(Entrant::new("", name, CALLS, move || {
            let begin = Instant::now();
            let status = Command::new(program).args(arguments).status()?;
            let elapsed = begin.elapsed();
            ensure!(status.success(), "{program} failed ({status})");
            Ok(elapsed)
        }));
    }
    entrants.push(one_sync("", CALLS, &dir)?);
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    Ok(Section {
        title: "bash of `true`".to_owned(),
        about: ABOUT.to_owned(),
        tables: vec![time_table(&cases)],
        notes: Vec::new(),
        targets: Vec::new(),
    })
}
