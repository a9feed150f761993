//! How much memory a server uses: when it has begun, when it has worked, and for haft also when it has searched, which takes
//! the most.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::Bench;
use super::calls::{BenchWork, file, open, write_file};
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, ReportTable};
use super::samples::Samples;
use super::server::{BenchCall, BenchServer, BenchTransport};
use super::tree;
use crate::markers::grouped;

const ROUNDS: usize = 5;
const READS: usize = 1_000;
/// How much more private memory than the bare server haft may use after the reads.
const READ_BYTES_MAX: u64 = 5_000_000;
/// How much more it may use a moment after the grep.
const SEARCHED_BYTES_MAX: u64 = 10_000_000;
/// The time in which memory that was freed goes back to the system.
const SETTLE: Duration = Duration::from_millis(500);

const ABOUT: &str = "\
The memory of the process in kB of 1,000 bytes, the median of several processes. *Private* memory is anonymous memory and file pages that the
process has changed (`smaps_rollup`). *All* is `VmRSS`, with the pages of the program, which its processes share. Measured after the answer to
`tools/list`, after 1,000 more reads of 4 KiB, and, for haft, half a second after one more `grep` with many matches in the
generated tree. haft holds all of these matches before it answers in order.";

/// The processes of one peer and their memory.
#[derive(Default)]
struct MemorySamples {
    begun: StageSamples,
    read: StageSamples,
    searched: StageSamples,
}

/// Bytes at one stage of a process.
#[derive(Default)]
struct StageSamples {
    private: Samples<u64>,
    all: Samples<u64>,
}

impl StageSamples {
    fn push(&mut self, server: &BenchServer) -> anyhow::Result<()> {
        let memory = server.memory()?;
        self.private.push(memory.private_bytes);
        self.all.push(memory.all_bytes);
        Ok(())
    }
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
            seen.begun.push(&server)?;
            let call = BenchWork::Read.call(peer, &file(dir, 0));
            for _ in 0..READS {
                server.call(&call)?;
            }
            seen.read.push(&server)?;
            if peer == Peer::Haft {
                let arguments = json!({"pattern": tree::MANY, "path": tree::NAME});
                server.call(&BenchCall::new("grep", arguments))?;
                std::thread::sleep(SETTLE);
                seen.searched.push(&server)?;
            }
        }
    }
    let mut table = ReportTable::new(&[
        "private kB (all kB)",
        "after tools/list",
        "after 1,000 reads",
        "after a grep",
    ]);
    let cell = |samples: &StageSamples, absent: &str| {
        let kilobytes = |samples: &Samples<u64>| Some(grouped(samples.median()? / 1_000));
        match kilobytes(&samples.private).zip(kilobytes(&samples.all)) {
            Some((private, all)) => format!("{private} ({all})"),
            None => absent.to_owned(),
        }
    };
    for (peer, seen) in PEERS.into_iter().zip(&seen) {
        let MemorySamples { begun, read, searched } = seen;
        let cells = [cell(begun, NODE_ABSENT), cell(read, ""), cell(searched, "")];
        table.row([peer.name().to_owned()].into_iter().chain(cells));
    }
    let [haft, _, floor, _] = &seen;
    let floor = floor.read.private.median().context("the floor was not measured")?;
    let target = |what: &str, samples: &StageSamples, bytes_max| {
        let bytes = samples.private.median().context("haft was not measured")?;
        anyhow::Ok(BenchTarget::number(what, "bytes", bytes.saturating_sub(floor), bytes_max))
    };
    Ok(ReportSection {
        targets: vec![
            target(
                "private after 1,000 reads, beyond the SDK's stdio server",
                &haft.read,
                READ_BYTES_MAX,
            )?,
            target(
                "private after a grep with many matches, beyond it",
                &haft.searched,
                SEARCHED_BYTES_MAX,
            )?,
        ],
        ..ReportSection::new("Memory", ABOUT, vec![table])
    })
}
