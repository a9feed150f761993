//! The time that a step of the agents' loop adds to the model's client, and the memory that idle sessions hold. An example
//! program of haft-agent measures both; the model is a script in a separate process.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::Bench;
use super::journal::run_cases;
use super::report::{BenchTarget, ReportSection, ReportTable, time_table};
use crate::markers::grouped;
use crate::process::capture;

const ROUNDS: usize = 60;
/// Calls of one turn, one in each step; the last answer has none.
const CALLS: usize = 20;
const CHATS: u64 = 100;
/// The longest time that haft may add to a step.
const ADDED_US_MAX: u64 = 2_000;
/// The most memory that an open session may hold.
const CHAT_BYTES_MAX: u64 = 100_000;
const BARE: &str = "the client alone";
const BEFORE: &str = "with one chat";

const ABOUT: &str = "\
One turn of a scripted model, which is a separate process on this machine. Each answer of the model requests one call of a tool that does
nothing. The time is that of the turn divided by its answers. *The client alone* requests the same answers in the same order and ignores them. haft
streams each answer into the journal, judges, records and makes the call, and sends its result to the model. A *once* call has its intent on disk before
the tool is called, and its outcome before the model receives it.";

const ABOUT_MEMORY: &str = "\
`VmRSS` of a process, in kB of 1,000 bytes. The process opens sessions of six messages each, which another process created, and then runs one more
turn in each.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("agents")?;
    let mut steps = program(bench, "steps", &dir);
    steps.args([bench.rounds(ROUNDS), CALLS].map(|number| number.to_string()));
    let mut cases = run_cases(steps)?;
    let mut targets = Vec::new();
    for case in &mut cases {
        let what = format!("{}, over the client alone, p50", case.name);
        targets.extend(BenchTarget::added(&what, case, BARE, ADDED_US_MAX));
    }
    let mut fill = program(bench, "fill", &dir);
    capture(fill.arg(CHATS.to_string())).context("no chats could be had")?;
    let printed =
        capture(&mut program(bench, "idle", &dir)).context("the measuring program failed")?;
    let (table, chats) = memory(&printed)?;
    targets.extend(chats);
    Ok(ReportSection {
        notes: vec![format!("A turn has {CALLS} calls; {CHATS} sessions are opened.")],
        targets,
        ..ReportSection::new(
            "Agents",
            &format!("{ABOUT}\n\n{ABOUT_MEMORY}"),
            vec![time_table(&cases), table],
        )
    })
}

fn program(bench: &Bench, work: &str, dir: &Path) -> Command {
    let mut program = Command::new(&bench.peers.chats);
    program.arg(work).arg(dir).arg(&bench.peers.scripted_model);
    program
}

/// Returns the memory of all sessions, of one session, and the most that one may hold.
fn memory(printed: &str) -> anyhow::Result<(ReportTable, Vec<BenchTarget>)> {
    let mut sizes = BTreeMap::new();
    for line in printed.lines() {
        let size = line.split_once('\t').and_then(|(when, size)| Some((when, size.parse().ok()?)));
        sizes.extend([size.with_context(|| format!("{line:?} is no size"))?]);
    }
    let size = |when: &str| -> anyhow::Result<u64> {
        sizes.get(when).copied().with_context(|| format!("no size {when}"))
    };
    let before = size(BEFORE)?;
    let mut table = ReportTable::new(&["kB", "the process", "for each session"]);
    table.row([BEFORE.to_owned(), grouped(before / 1_000), String::new()]);
    let mut targets = Vec::new();
    for when in ["opened", "after one more turn"] {
        let bytes = size(when)?;
        let each = bytes.saturating_sub(before) / CHATS;
        table.row([
            format!("{CHATS} more, {when}"),
            grouped(bytes / 1_000),
            format!("{}.{}", each / 1_000, each % 1_000 / 100),
        ]);
        targets.push(BenchTarget::number(
            &format!("a chat, {when}"),
            "bytes",
            each,
            CHAT_BYTES_MAX,
        ));
    }
    Ok((table, targets))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::journal::cases;
    use super::super::report::TargetVerdict;
    use super::*;

    fn found(targets: &[BenchTarget]) -> Vec<(&str, TargetVerdict)> {
        targets.iter().map(|target| (target.found.as_str(), target.verdict)).collect()
    }

    #[test]
    fn what_haft_adds_is_beside_what_it_is_added_to() {
        let printed = "read\thaft\t3000000\nread\tthe client alone\t1000000\n\
                       once\thaft\t3100000\nonce\tthe client alone\t1000000\n";
        let mut cases = cases(printed).expect("it is well formed");
        let target = |case| BenchTarget::added("step", case, BARE, ADDED_US_MAX);
        let targets: Vec<BenchTarget> = cases.iter_mut().filter_map(target).collect();
        assert_eq!(
            found(&targets),
            [("2,000 µs", TargetVerdict::Met), ("2,100 µs", TargetVerdict::NotMet)]
        );
        assert_eq!(cases[0].median("what haft adds to that"), Some(Duration::from_millis(2)));
    }

    #[test]
    fn each_chat_has_its_share() {
        let printed = "with one chat\t20000000\nopened\t30000000\nafter one more turn\t30050000\n";
        let (table, targets) = memory(printed).expect("it is well formed");
        assert_eq!(
            found(&targets),
            [("100,000 bytes", TargetVerdict::Met), ("100,500 bytes", TargetVerdict::NotMet)]
        );
        let text = table.to_string();
        assert!(text.contains("100.5"), "{text}");
        assert!(memory("opened 5\n").is_err());
        assert!(memory("opened\t5\n").is_err());
    }
}
