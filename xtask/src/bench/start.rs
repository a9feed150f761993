//! From the start of a process to the answer to its first `tools/list`. How it ends is not part of it.

use std::time::Instant;

use super::Bench;
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{Section, Target, time_table};
use super::server::{Era, Server, Wire};
use super::turns::{Entrant, interleave};

const ROUNDS: usize = 40;
const RATIO_MAX: f64 = 1.5;

const ABOUT: &str = "\
From before the process is spawned until its answer to `tools/list` has been read, over pipes: `initialize` and its
notification first in the older era, `server/discover` in the newer. haft opens a journal that exists already.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let dir = bench.make_dir("start")?;
    let mut entrants = Vec::new();
    for (case, era) in [("older era", Era::Legacy), ("newer era", Era::Modern)] {
        for peer in PEERS {
            // The Node server is made for the older era alone.
            let repeats = match (peer, era) {
                (Peer::Node, Era::Modern) => continue,
                (Peer::Node, Era::Legacy) => 1,
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
                let mut server = Server::start(command, Wire::Pipes)?;
                server.open(era)?;
                let elapsed = begin.elapsed();
                server.answers()?;
                Ok(elapsed)
            }));
        }
    }
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    let floor = Peer::Floor.name();
    Ok(Section {
        title: "Start".to_owned(),
        about: ABOUT.to_owned(),
        tables: vec![time_table(&cases)],
        notes: Vec::new(),
        targets: cases.iter().map(|case| Target::ratio("start", case, floor, RATIO_MAX)).collect(),
    })
}
