//! How large the answer to `tools/list` is, which every client takes into its model's context, and how large the programs are.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Bench;
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, ReportTable};
use super::server::{BenchProtocolEra, BenchServer, BenchTransport};
use crate::elf;
use crate::markers::grouped;

const LIST_BYTES_MAX: u64 = 7_500;
/// Bytes of the program `haft`, and of all three.
const HAFT_BYTES_MAX: u64 = 20_000_000;
const PROGRAMS_BYTES_MAX: u64 = 40_000_000;

const ABOUT: &str = "\
The answer to `tools/list` is counted whole, as the line that the server writes, in both eras. The programs are those
built here, each checked to have no table of symbols.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let mut table = ReportTable::new(&["bytes", "tools", "older era", "newer era", "program"]);
    let mut targets = Vec::new();
    for peer in PEERS {
        let (name, program) = (peer.name().to_owned(), bench.peers.binary_bytes(peer)?);
        let program = program.map_or_else(String::new, grouped);
        let Some((tools, older)) = tools_list(bench, peer, BenchProtocolEra::Legacy)? else {
            table.row([name, NODE_ABSENT.to_owned(), String::new(), String::new(), program]);
            continue;
        };
        let newer = match peer {
            Peer::Haft | Peer::Floor => tools_list(bench, peer, BenchProtocolEra::Modern)?,
            Peer::PlainFloor | Peer::Node => None,
        };
        let newer = newer.map(|(_, bytes)| bytes);
        if peer == Peer::Haft {
            let largest = older.max(newer.unwrap_or(older));
            targets.push(BenchTarget::number("tools/list", "bytes", largest, LIST_BYTES_MAX));
        }
        let newer = newer.map_or_else(String::new, grouped);
        table.row([name, tools.to_string(), grouped(older), newer, program]);
    }
    let mut sizes = ReportTable::new(&["program", "bytes"]);
    let mut all_bytes = 0;
    for program in bench.peers.programs() {
        let contents = std::fs::read(program)?;
        let name = program.file_name().context("a program has a name")?.to_string_lossy();
        ensure!(!elf::has_symbols(&contents)?, "{name} is not stripped");
        let bytes = u64::try_from(contents.len())?;
        if name == "haft" {
            targets.push(BenchTarget::number("haft, stripped", "bytes", bytes, HAFT_BYTES_MAX));
        }
        all_bytes += bytes;
        sizes.row([name.into_owned(), grouped(bytes)]);
    }
    targets.push(BenchTarget::number("all programs", "bytes", all_bytes, PROGRAMS_BYTES_MAX));
    Ok(ReportSection { targets, ..ReportSection::new("Sizes", ABOUT, vec![table, sizes]) })
}

/// Returns how many tools there are, and how many bytes the answer has that says so.
fn tools_list(
    bench: &Bench,
    peer: Peer,
    era: BenchProtocolEra,
) -> anyhow::Result<Option<(usize, u64)>> {
    let dir = bench.make_dir("size")?;
    let Some(command) = bench.peers.server(peer, &dir) else { return Ok(None) };
    let mut server = BenchServer::start(command, BenchTransport::Pipes)?;
    server.open(era)?;
    let bytes = server.answer_bytes();
    let results = server.answers()?;
    let tools = results.first().and_then(|result| result.get("tools")).and_then(Value::as_array);
    Ok(Some((tools.map_or(0, Vec::len), bytes.try_into()?)))
}
