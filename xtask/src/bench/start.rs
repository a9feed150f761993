//! From the start of a process to the answer to its first `tools/list`. How it ends is not part of it.

use std::time::Instant;

use super::Bench;
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, time_table};
use super::server::{BenchProtocolEra, BenchServer, BenchTransport};
use super::turns::{Entrant, interleave};

const ROUNDS: usize = 40;
const RATIO_MAX: f64 = 1.5;

const ABOUT: &str = "\
The time from the spawn of the process until its answer to `tools/list` was read, over pipes. The older era begins with `initialize` and its
notification, the newer with `server/discover`. haft opens an existing journal.";

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
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    let floor = Peer::Floor.name();
    let target = |case| BenchTarget::ratio("start", case, floor, RATIO_MAX);
    Ok(ReportSection {
        targets: cases.iter().map(target).collect(),
        ..ReportSection::new("Start", ABOUT, vec![time_table(&cases)])
    })
}
