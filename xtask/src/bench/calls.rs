//! Reads and writes of 4 KiB in servers that run: one at a time for the latency, and sixteen in flight for the rate.
//! Each answer and each written file is compared with the expected content.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, rate_table, time_table};
use super::server::{BenchCall, BenchProtocolEra, BenchServer, BenchTransport};
use super::turns::{Case, Entrant, interleave};
use crate::files;

const ROUNDS: usize = 20;
const FILE_BYTES: usize = 4_096;
const IN_FLIGHT: usize = 16;
/// The bytes that a row adds to a log at least: a page and its header.
const LOG_PAGE_BYTES: usize = 4_096 + 24;
/// How much longer than on a bare server on the SDK's own transport a call may take, alone and with others in flight.
const READ_RATIO_MAX: f64 = 1.6;
const READ_BATCH_RATIO_MAX: f64 = 1.0;
/// How much longer a write may take than what makes it durable: two synced rows, and a file that is replaced.
const WRITE_RATIO_MAX: f64 = 1.3;

const ABOUT_READ: &str = "\
The tool `read` (`read_text_file` of the Node server) on a file of 4,096 bytes. Clients in Python give their servers
pipes, clients in Node sockets. The floor is the cost of the SDK and the standard library, on haft's
transport and on the SDK's own. First one call at a time,
then sixteen in flight.";

const ABOUT_WRITE: &str = "\
The tool `write` (`write_file` of the Node server) with 4,096 bytes, over pipes. haft has its intent on disk before it
writes and its outcome before it answers, and replaces the whole file. The floor and the Node server request no sync.
*Two synced rows, replace* is the least that gives this: two appends to a log, each synced, and between them a new file
that is synced and renamed over the old one, with its directory synced. The last row of the first table is the cost of one request to this disk. First one call at a time, then
sixteen in flight, each to a separate file.";

const PIPES: (&str, BenchTransport) = ("over pipes", BenchTransport::Pipes);
const SOCKETS: (&str, BenchTransport) = ("over sockets", BenchTransport::Sockets);

/// The tool that is called.
#[derive(Clone, Copy)]
pub(super) enum BenchWork {
    Read,
    Write,
}

/// The calls of one turn, their number, and the connection.
struct CallBenchPlan {
    work: BenchWork,
    calls: usize,
    batch_calls: u32,
    wires: &'static [(&'static str, BenchTransport)],
}

const READ: CallBenchPlan = CallBenchPlan {
    work: BenchWork::Read,
    calls: 200,
    batch_calls: 1_000,
    wires: &[PIPES, SOCKETS],
};
const WRITE: CallBenchPlan =
    CallBenchPlan { work: BenchWork::Write, calls: 20, batch_calls: 160, wires: &[PIPES] };

pub(super) fn measure_read(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("read")?;
    write_file(&file(&dir, 0))?;
    let rounds = bench.rounds(ROUNDS);
    let calls = interleave(READ.calls(bench, &dir)?, rounds)?;
    let batches = interleave(READ.batches(bench, &dir)?, rounds)?;
    let target = |what: &'static str, limit| {
        move |case: &Case| BenchTarget::ratio(what, case, Peer::PlainFloor.name(), limit)
    };
    let alone = calls.iter().map(target("read, p50", READ_RATIO_MAX));
    let in_flight = batches.iter().map(target("read, 16 in flight", READ_BATCH_RATIO_MAX));
    Ok(ReportSection {
        targets: alone.chain(in_flight).collect(),
        ..ReportSection::new(
            "Read of 4 KiB",
            ABOUT_READ,
            vec![time_table(&calls), rate_table(&batches, READ.batch_calls)],
        )
    })
}

pub(super) fn measure_write(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("write")?;
    let rounds = bench.rounds(ROUNDS);
    let mut calls = WRITE.calls(bench, &dir)?;
    calls.push(durable_replace(PIPES.0, WRITE.calls, &dir)?);
    calls.push(one_sync(PIPES.0, WRITE.calls, &dir)?);
    let calls = interleave(calls, rounds)?;
    let batches = interleave(WRITE.batches(bench, &dir)?, rounds)?;
    let target = |case: &Case| BenchTarget::ratio("write", case, DURABLE_REPLACE, WRITE_RATIO_MAX);
    Ok(ReportSection {
        targets: calls.iter().map(target).collect(),
        ..ReportSection::new(
            "Write of 4 KiB",
            ABOUT_WRITE,
            vec![time_table(&calls), rate_table(&batches, WRITE.batch_calls)],
        )
    })
}

impl BenchWork {
    pub(super) fn call(self, peer: Peer, file: &Path) -> BenchCall {
        let arguments = match self {
            Self::Read => json!({"path": file}),
            Self::Write => json!({"path": file, "content": content()}),
        };
        let tool = match (self, peer) {
            (Self::Read, Peer::Haft | Peer::Floor | Peer::PlainFloor) => "read",
            (Self::Read, Peer::Node) => "read_text_file",
            (Self::Write, Peer::Haft | Peer::Floor | Peer::PlainFloor) => "write",
            (Self::Write, Peer::Node) => "write_file",
        };
        BenchCall::new(tool, arguments)
    }

    /// Fails unless the call did what it was to do with the file.
    fn check(self, result: &Value, file: &Path) -> anyhow::Result<()> {
        let text = match self {
            Self::Read => {
                result.pointer("/content/0/text").and_then(Value::as_str).map(str::to_owned)
            }
            Self::Write => std::fs::read_to_string(file).ok(),
        };
        ensure!(text == Some(content()), "the call did not do its work: {result}");
        Ok(())
    }

    /// Returns which file the call of that number is about.
    fn file(self, dir: &Path, number: usize) -> PathBuf {
        match self {
            Self::Read => file(dir, 0),
            Self::Write => file(dir, number % IN_FLIGHT),
        }
    }
}

impl CallBenchPlan {
    /// Returns entrants that make one call after the other.
    fn calls(&self, bench: &Bench, dir: &Path) -> anyhow::Result<Vec<Entrant<'static>>> {
        self.entrants(bench, dir, |case, peer, mut server| {
            let (work, file) = (self.work, self.work.file(dir, 0));
            let call = work.call(peer, &file);
            Entrant::new(case, peer.name(), self.calls, move || {
                let (elapsed, result) = server.call(&call)?;
                work.check(&result, &file)?;
                Ok(elapsed)
            })
        })
    }

    /// Returns entrants that keep several calls in flight.
    fn batches(&self, bench: &Bench, dir: &Path) -> anyhow::Result<Vec<Entrant<'static>>> {
        self.entrants(bench, dir, |case, peer, mut server| {
            let (work, dir) = (self.work, dir.to_owned());
            let numbers = 0..self.batch_calls as usize;
            let calls: Vec<BenchCall> =
                numbers.map(|number| work.call(peer, &work.file(&dir, number))).collect();
            Entrant::new(case, peer.name(), 1, move || {
                let (elapsed, results) = server.call_all(&calls, IN_FLIGHT)?;
                for (number, result) in results.iter().enumerate() {
                    work.check(result, &work.file(&dir, number))?;
                }
                Ok(elapsed)
            })
        })
    }

    /// Starts every server that is installed, once for each wire.
    fn entrants(
        &self,
        bench: &Bench,
        dir: &Path,
        entrant: impl Fn(&str, Peer, BenchServer) -> Entrant<'static>,
    ) -> anyhow::Result<Vec<Entrant<'static>>> {
        let mut entrants = Vec::new();
        for (case, wire) in self.wires {
            for peer in PEERS {
                entrants.push(match bench.peers.server(peer, dir) {
                    Some(command) => entrant(case, peer, open(command, *wire)?),
                    None => Entrant::absent(case, peer.name(), NODE_ABSENT),
                });
            }
        }
        Ok(entrants)
    }
}

/// Starts a server and brings it to where it can be called.
pub(super) fn open(command: Command, wire: BenchTransport) -> anyhow::Result<BenchServer> {
    let mut server = BenchServer::start(command, wire)?;
    server.open(BenchProtocolEra::Legacy)?;
    server.answers()?;
    Ok(server)
}

/// Returns the entrant that does the least that keeps anything through a crash.
pub(super) fn one_sync(case: &str, repeats: usize, dir: &Path) -> anyhow::Result<Entrant<'static>> {
    let path = dir.join("synced");
    let mut file =
        File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    let content = content();
    Ok(Entrant::new(case, "append 4 KiB, fdatasync", repeats, move || {
        let begin = Instant::now();
        file.write_all(content.as_bytes())?;
        file.sync_data()?;
        Ok(begin.elapsed())
    }))
}

/// The least that a durable write with an intent and an outcome takes.
const DURABLE_REPLACE: &str = "two synced rows, replace";

/// Returns the entrant that writes an intent, replaces a file and writes an outcome, each on disk before the next.
fn durable_replace(case: &str, repeats: usize, dir: &Path) -> anyhow::Result<Entrant<'static>> {
    let dir = dir.join("replaced");
    files::create_dir(&dir)?;
    let mut log = File::create(dir.join("log"))?;
    let (directory, content) = (File::open(&dir)?, content());
    let mut row = move || {
        log.write_all(&[0; LOG_PAGE_BYTES])?;
        log.sync_data()
    };
    Ok(Entrant::new(case, DURABLE_REPLACE, repeats, move || {
        let begin = Instant::now();
        row()?;
        let mut new = File::create(dir.join("new"))?;
        new.write_all(content.as_bytes())?;
        new.sync_all()?;
        std::fs::rename(dir.join("new"), dir.join("file"))?;
        directory.sync_all()?;
        row()?;
        Ok(begin.elapsed())
    }))
}

/// Writes the file that reads are about.
pub(super) fn write_file(path: &Path) -> anyhow::Result<()> {
    files::write(path, content())
}

/// Returns the path of the file of that number.
pub(super) fn file(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("file-{number}.txt"))
}

fn content() -> String {
    const LINE: &str = "What this line says is of no account, only how long it is: 64.\n";
    LINE.repeat(FILE_BYTES.div_ceil(LINE.len())).chars().take(FILE_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_its_size() {
        assert_eq!(content().len(), FILE_BYTES);
    }
}
