//! The cost of a command that does nothing.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::Bench;
use super::calls::{one_sync, open};
use super::peers::Peer;
use super::report::{ReportSection, time_table};
use super::server::{BenchCall, BenchTransport};
use super::turns::{Entrant, interleave};

const ROUNDS: usize = 20;
const CALLS: usize = 20;

const ABOUT: &str = "\
The tool `bash` with the command `true` in a running server, over pipes. Beside it, the standard library starts `true` and `sh -c true` and
waits for them. haft journals the intent before and the outcome after, each synced to disk, and confines the process. Unconfined, haft only watches the
tree of processes. The last row is the cost of one request to this disk.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("bash")?;
    let mut entrants = Vec::new();
    for (name, flags) in [("haft", &[][..]), ("haft, unconfined", &["--unsafe-no-sandbox"])] {
        let mut haft = bench.peers.server(Peer::Haft, &dir).context("haft is built")?;
        haft.args(flags);
        let mut haft = open(haft, BenchTransport::Pipes)?;
        let call = BenchCall::new("bash", json!({"cmd": "true"}));
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
    Ok(ReportSection::new("bash of `true`", ABOUT, vec![time_table(&cases)]))
}
