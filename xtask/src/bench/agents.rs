//! What a step of the agents' loop adds to the client that asks the model, and how much memory chats hold in which nobody says
//! anything. An example program of the crate of agents does the measuring; the model is a script in a process of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::journal::cases;
use super::report::{Section, Table, Target, time_table};
use super::samples::grouped;
use super::turns::{Case, Figure, Row};
use crate::process::capture;

const ROUNDS: usize = 60;
/// Calls of one turn, one in each step; the last answer has none.
const CALLS: usize = 20;
const CHATS: u64 = 100;
/// What haft may add to a step.
const ADDED_US_MAX: u64 = 2_000;
/// What an open chat may hold.
const CHAT_BYTES_MAX: u64 = 100_000;
const BARE: &str = "the client alone";
const BEFORE: &str = "with one chat";

const ABOUT: &str = "\
A turn in which a scripted model, a process of its own on this machine, asks for one call in each answer, of a tool that does nothing; \
the time is that of the turn divided by its answers. *The client alone* asks for the same answers in the same order and does nothing with \
them. haft streams each answer into the journal, judges, records and makes the call, and sends the model what came of it. A *once* \
call has its intent on disk before the tool is called, and its outcome before the model hears of it.";

const ABOUT_MEMORY: &str = "\
`VmRSS` of a process in kB of 1,000 bytes that opens chats of six messages each, which another process had, and then has one more turn in each.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let dir = bench.make_dir("agents")?;
    let mut cases = steps(bench, &dir)?;
    let mut targets: Vec<Target> = cases.iter_mut().filter_map(step_target).collect();
    let printed = idle(bench, &dir)?;
    let (table, chats) = memory(&sizes(&printed)?)?;
    targets.extend(chats);
    Ok(Section {
        title: "Agents".to_owned(),
        about: format!("{ABOUT}\n\n{ABOUT_MEMORY}"),
        tables: vec![time_table(&cases), table],
        notes: vec![format!("A turn has {CALLS} calls; {CHATS} chats are opened.")],
        targets,
    })
}

fn program(bench: &Bench, work: &str, dir: &Path) -> Command {
    let mut program = Command::new(bench.peers.chats_program());
    program.arg(work).arg(dir).arg(bench.peers.model_program());
    program
}

fn steps(bench: &Bench, dir: &Path) -> anyhow::Result<Vec<Case>> {
    let mut steps = program(bench, "steps", dir);
    steps.args([bench.rounds(ROUNDS), CALLS].map(|number| number.to_string()));
    cases(&capture(&mut steps).context("the measuring program failed")?)
}

fn idle(bench: &Bench, dir: &Path) -> anyhow::Result<String> {
    let mut fill = program(bench, "fill", dir);
    capture(fill.arg(CHATS.to_string())).context("no chats could be had")?;
    capture(&mut program(bench, "idle", dir)).context("the measuring program failed")
}

/// Compares what haft adds to the client alone with what it may add, and puts that into the case.
fn step_target(case: &mut Case) -> Option<Target> {
    let added: Duration = case.rows.first()?.figure.median()?.saturating_sub(case.median(BARE)?);
    let row = Row { name: "what haft adds to that".to_owned(), figure: Figure::Computed(added) };
    case.rows.push(row);
    let found = u64::try_from(added.as_micros()).unwrap_or(u64::MAX);
    Some(Target::number(
        &format!("{}, over the client alone, p50", case.name),
        "µs",
        found,
        ADDED_US_MAX,
    ))
}

/// Reads what a process says of its size, by when that was.
fn sizes(printed: &str) -> anyhow::Result<BTreeMap<&str, u64>> {
    let size = |line| {
        let (when, bytes) = str::split_once(line, '\t')?;
        Some((when, bytes.parse().ok()?))
    };
    let sizes =
        printed.lines().map(|line| size(line).with_context(|| format!("{line:?} is no size")));
    sizes.collect()
}

/// Returns what all chats and each of them hold, and what each of them may.
fn memory(sizes: &BTreeMap<&str, u64>) -> anyhow::Result<(Table, Vec<Target>)> {
    let size = |when: &str| sizes.get(when).copied().with_context(|| format!("no size {when}"));
    let before = size(BEFORE)?;
    let mut table = Table::new(&["kB", "the process", "for each chat"]);
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
        targets.push(Target::number(&format!("a chat, {when}"), "bytes", each, CHAT_BYTES_MAX));
    }
    Ok((table, targets))
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
    use super::*;

    fn found(targets: &[Target]) -> Vec<(&str, Verdict)> {
        targets.iter().map(|target| (target.found.as_str(), target.verdict)).collect()
    }

    #[test]
    fn what_haft_adds_is_beside_what_it_is_added_to() {
        let printed = "read\thaft\t3000000\nread\tthe client alone\t1000000\n\
                       once\thaft\t3100000\nonce\tthe client alone\t1000000\n";
        let mut cases = cases(printed).expect("it is well formed");
        let targets: Vec<Target> = cases.iter_mut().filter_map(step_target).collect();
        assert_eq!(found(&targets), [("2,000 µs", Verdict::Met), ("2,100 µs", Verdict::NotMet)]);
        assert_eq!(cases[0].median("what haft adds to that"), Some(Duration::from_millis(2)));
    }

    #[test]
    fn each_chat_has_its_share() {
        let printed = "with one chat\t20000000\nopened\t30000000\nafter one more turn\t30050000\n";
        let (table, targets) = memory(&sizes(printed).expect("it is well formed")).expect("whole");
        assert_eq!(
            found(&targets),
            [("100,000 bytes", Verdict::Met), ("100,500 bytes", Verdict::NotMet)]
        );
        let text = table.to_string();
        assert!(text.contains("100.5"), "{text}");
        assert!(sizes("opened 5\n").is_err());
        assert!(memory(&sizes("opened\t5\n").expect("it is well formed")).is_err());
    }
}
