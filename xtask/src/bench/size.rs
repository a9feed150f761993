//! How large the answer to `tools/list` is, which every client takes into its model's context, and how large the programs are.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Bench;
use super::peers::{NODE_ABSENT, PEERS, Peer};
use super::report::{BenchTarget, ReportSection, ReportTable};
use super::server::{BenchProtocolEra, BenchServer, BenchTransport};
use crate::elf::ElfProgram;
use crate::markers::grouped;

/// Bytes of the list that reach a model: names, descriptions and parameters.
const LIST_BYTES_MAX: u64 = 9_000;
/// Bytes of the program `haft`, and of all three.
const HAFT_BYTES_MAX: u64 = 20_000_000;
const PROGRAMS_BYTES_MAX: u64 = 40_000_000;

const ABOUT: &str = "\
The answer to `tools/list` is counted whole, as the line that the server writes, in both eras, and once as a model reads
it: names, descriptions and parameters. The programs are those built here, each checked to have no table of symbols.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let mut table =
        ReportTable::new(&["bytes", "tools", "for a model", "older era", "newer era", "program"]);
    let mut targets = Vec::new();
    for peer in PEERS {
        let (name, program) = (peer.name().to_owned(), bench.peers.binary_bytes(peer)?);
        let program = program.map_or_else(String::new, grouped);
        let Some(older) = tools_list(bench, peer, BenchProtocolEra::Legacy)? else {
            let none = String::new;
            table.row([name, NODE_ABSENT.to_owned(), none(), none(), none(), program]);
            continue;
        };
        let newer = match peer {
            Peer::Haft | Peer::Floor => tools_list(bench, peer, BenchProtocolEra::Modern)?,
            Peer::PlainFloor | Peer::Node => None,
        };
        if peer == Peer::Haft {
            let bytes = older.model_bytes;
            targets.push(BenchTarget::number("tools/list", "bytes", bytes, LIST_BYTES_MAX));
        }
        let newer = newer.map_or_else(String::new, |newer| grouped(newer.bytes));
        let for_model = grouped(older.model_bytes);
        table.row([name, older.tools.to_string(), for_model, grouped(older.bytes), newer, program]);
    }
    let mut sizes = ReportTable::new(&["program", "bytes"]);
    let mut all_bytes = 0;
    for program in bench.peers.programs() {
        let contents = std::fs::read(program)?;
        let name = program.file_name().context("a program has a name")?.to_string_lossy();
        ensure!(!ElfProgram::read(&contents)?.has_symbols(), "{name} is not stripped");
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

/// The size of an answer to `tools/list`.
struct ToolListSize {
    tools: usize,
    /// The whole answer, as a line.
    bytes: u64,
    model_bytes: u64,
}

/// Returns the size of the list of tools, or `None` if the peer cannot be started here.
fn tools_list(
    bench: &Bench,
    peer: Peer,
    era: BenchProtocolEra,
) -> anyhow::Result<Option<ToolListSize>> {
    let dir = bench.make_dir("size")?;
    let Some(command) = bench.peers.server(peer, &dir) else { return Ok(None) };
    let mut server = BenchServer::start(command, BenchTransport::Pipes)?;
    server.open(era)?;
    let bytes = server.answer_bytes();
    let results = server.answers()?;
    let tools = results.first().and_then(|result| result.get("tools")).and_then(Value::as_array);
    let tools = tools.map(Vec::as_slice).unwrap_or_default();
    let read_by_model = |tool: &Value| {
        let fields = ["name", "description", "inputSchema"];
        let fields = fields.map(|name| (name.to_owned(), tool.get(name).cloned()));
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect::<Value>()
    };
    let for_model: Value = tools.iter().map(read_by_model).collect();
    let model_bytes = for_model.to_string().len().try_into()?;
    Ok(Some(ToolListSize { tools: tools.len(), bytes: bytes.try_into()?, model_bytes }))
}
