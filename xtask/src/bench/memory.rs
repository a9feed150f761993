//! How much memory of a server is resident: when it has begun, when it has worked, and for haft also when it has
//! searched, which takes the most.

use anyhow::Context as _;
use serde_json::json;

use super::Bench;
use super::calls::{BenchWork, file, open, write_file};
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, ReportTable};
use super::samples::Samples;
use super::server::{BenchCall, BenchTransport};
use super::tree;
use crate::markers::grouped;

const ROUNDS: usize = 5;
const READS: usize = 1_000;
const RESIDENT_BYTES_MAX: u64 = 20_000_000;

const ABOUT: &str = "\
`VmRSS` of the process in kB of 1,000 bytes, the median of several processes. It includes the pages of the program
itself. Measured after the answer to `tools/list`, after 1,000 more reads of 4 KiB, and, for haft, after one more `grep` with
many matches in the generated tree. haft holds all of these matches before it answers in order.";

/// The processes of one peer and their memory.
#[derive(Default)]
struct MemorySamples {
    begun: Samples<u64>,
    read: Samples<u64>,
    searched: Samples<u64>,
}

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    tree::generate(&bench.kept_dir)?;
    write_file(&file(&bench.kept_dir, 0))?;
    let mut seen = PEERS.map(|_| MemorySamples::default());
    for _ in 0..bench.rounds(ROUNDS) {
        for (peer, seen) in PEERS.into_iter().zip(&mut seen) {
            let dir = &bench.kept_dir;
            let Some(command) = bench.peers.server(peer, dir) else { continue };
            let mut server = open(command, BenchTransport::Pipes)?;
            seen.begun.push(server.resident_bytes()?);
            let call = BenchWork::Read.call(peer, &file(dir, 0));
            for _ in 0..READS {
                server.call(&call)?;
            }
            seen.read.push(server.resident_bytes()?);
            if peer == Peer::Haft {
                let arguments = json!({"pattern": tree::MANY, "path": tree::NAME});
                server.call(&BenchCall { tool: "grep", arguments })?;
                seen.searched.push(server.resident_bytes()?);
            }
        }
    }
    let mut table =
        ReportTable::new(&["kB", "after tools/list", "after 1,000 reads", "after a grep"]);
    let cell = |samples: &Samples<u64>, absent: &str| match samples.median() {
        Some(bytes) => grouped(bytes / 1_000),
        None => absent.to_owned(),
    };
    for (peer, seen) in PEERS.into_iter().zip(&seen) {
        let MemorySamples { begun, read, searched } = seen;
        let cells = [cell(begun, NODE_ABSENT), cell(read, ""), cell(searched, "")];
        table.row([peer.name().to_owned()].into_iter().chain(cells));
    }
    let [haft, ..] = seen;
    let target = |what: &str, samples: &Samples<u64>| {
        let bytes = samples.median().context("haft was not measured")?;
        anyhow::Ok(BenchTarget::number(what, "bytes", bytes, RESIDENT_BYTES_MAX))
    };
    Ok(ReportSection {
        targets: vec![
            target("resident after 1,000 reads", &haft.read)?,
            target("resident after a grep with many matches", &haft.searched)?,
        ],
        ..ReportSection::new("Resident memory", ABOUT, vec![table])
    })
}
