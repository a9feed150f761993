//! From the start of a process to the answer to its first `tools/list`, where the end of the process is not part of it. And
//! a whole `haft call`, beside a server that starts for one call.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::Bench;
use super::calls::{BenchWork, file, write_file};
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, time_table};
use super::server::{BenchProtocolEra, BenchServer, BenchTransport};
use super::turns::{Entrant, interleave};

const ROUNDS: usize = 40;
const RATIO_MAX: f64 = 2.0;

const ABOUT: &str = "\
The time from the spawn of the process until its answer to `tools/list` was read, over pipes. The older era begins with `initialize` and its
notification, the newer with `server/discover`. haft opens an existing journal. *One call* is `haft call read` from its start to its end, beside
a floor that starts and answers one `read`.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("start")?;
    let mut entrants = Vec::new();
    for (case, era) in
        [("older era", BenchProtocolEra::Legacy), ("newer era", BenchProtocolEra::Modern)]
    {
        for peer in PEERS {
            // The Node server is made for the older era alone.
            let repeats = match (peer, era) {
                (Peer::Node, BenchProtocolEra::Modern) => continue,
                (Peer::Node, BenchProtocolEra::Legacy) => 1,
                (Peer::Haft | Peer::Floor | Peer::PlainFloor, _) => 5,
            };
            if bench.peers.server(peer, &dir).is_none() {
                entrants.push(Entrant::absent(case, peer.name(), NODE_ABSENT));
                continue;
            }
            let dir = &dir;
            entrants.push(Entrant::new(case, peer.name(), repeats, move || {
                let command = bench.peers.server(peer, dir);
                let command = command.ok_or_else(|| anyhow::anyhow!(NODE_ABSENT))?;
                let begin = Instant::now();
                let mut server = BenchServer::start(command, BenchTransport::Pipes)?;
                server.open(era)?;
                let elapsed = begin.elapsed();
                server.answers()?;
                Ok(elapsed)
            }));
        }
    }
    entrants.extend(one_call(bench, &dir)?);
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    let floor = Peer::PlainFloor.name();
    let target = |case| BenchTarget::ratio("start", case, floor, RATIO_MAX);
    Ok(ReportSection {
        targets: cases.iter().map(target).collect(),
        ..ReportSection::new("Start", ABOUT, vec![time_table(&cases)])
    })
}

/// Returns the entrants that start a process for one call.
fn one_call<'a>(bench: &'a Bench, dir: &'a Path) -> anyhow::Result<[Entrant<'a>; 2]> {
    const CASE: &str = "one call";
    const REPEATS: usize = 5;
    let path = file(dir, 0);
    write_file(&path)?;
    let input = json!({"path": path}).to_string();
    let haft = Entrant::new(CASE, Peer::Haft.name(), REPEATS, move || {
        let mut command = bench.peers.haft(dir);
        command.args(["call", "read", &input]).stdin(Stdio::null()).stderr(Stdio::null());
        let begin = Instant::now();
        let output = command.output()?;
        let elapsed = begin.elapsed();
        ensure!(output.status.success() && !output.stdout.is_empty(), "haft call failed");
        Ok(elapsed)
    });
    let floor = Entrant::new(CASE, Peer::PlainFloor.name(), REPEATS, move || {
        let command = bench.peers.server(Peer::PlainFloor, dir).context("the floor is built")?;
        let begin = Instant::now();
        let mut server = BenchServer::start(command, BenchTransport::Pipes)?;
        server.open(BenchProtocolEra::Legacy)?;
        server.answers()?;
        server.call(&BenchWork::Read.call(Peer::PlainFloor, &path))?;
        Ok(begin.elapsed())
    });
    Ok([haft, floor])
}
