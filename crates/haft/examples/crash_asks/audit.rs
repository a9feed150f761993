//! Checks a world in which all calls are answered.

use std::collections::{HashMap, HashSet};

use haft_journal::{
    AskJournal as _, AskQuery, AskRow, AskState, AskVerdict, CallQuery, CallStatus, Journal as _,
    SqliteJournal,
};

use crate::CrashFailure;
use crate::world::{CALLS, Counts, World};

/// Fails if a call executed without a valid answer, or twice, or if anything is left of an ask.
pub(crate) fn audit(world: &World, counts: &mut Counts) -> Result<(), CrashFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(check(world, counts))
}

async fn check(world: &World, counts: &mut Counts) -> Result<(), CrashFailure> {
    let journal = SqliteJournal::open(world.journal())?;
    let findings = journal.verify().await?;
    if !findings.is_empty() {
        return Err(format!("the journal is not sound: {findings:?}").into());
    }
    let asks = journal.asks(AskQuery::default()).await?;
    let mut by_call: HashMap<String, Vec<&AskRow>> = HashMap::new();
    for ask in &asks {
        by_call.entry(ask.call.to_string()).or_default().push(ask);
        count(ask, counts)?;
    }
    let answered = World::lines(&world.answered())?;
    counts.in_doubt += answered.iter().filter(|line| line.ends_with("IN_DOUBT")).count() as u64;
    for number in 0..CALLS {
        let begin = format!("{number} ");
        if !answered.iter().any(|line| line.starts_with(&begin)) {
            return Err(format!("call {number} has no answer").into());
        }
    }
    let ledger = World::lines(&world.ledger())?;
    let keys: HashSet<&str> = ledger.iter().filter_map(|line| line.split(' ').next()).collect();
    if keys.len() != ledger.len() {
        return Err(format!("a call executed twice: {ledger:?}").into());
    }
    let mut executed = 0;
    for row in journal.calls(CallQuery::default()).await? {
        if row.status == CallStatus::Refused {
            continue;
        }
        // Whatever has an intent was allowed, by an answer that the process received before.
        let asked = by_call.get(&row.id().to_string()).map(Vec::as_slice).unwrap_or_default();
        let is_allowed = |ask: &&&AskRow| {
            ask.answer.as_ref().is_some_and(|answer| {
                answer.received_at_ms.is_some()
                    && answer.shown_sha256 == ask.shown.sha256
                    && [AskVerdict::Once, AskVerdict::Edited].contains(&answer.verdict)
            })
        };
        let Some(ask) = asked.iter().find(is_allowed) else {
            return Err(format!("call {} has an intent and no answer: {asked:?}", row.id()).into());
        };
        let is_edited = ask.answer.as_ref().is_some_and(|it| it.verdict == AskVerdict::Edited);
        let edited = format!("edited-{}", ask.id);
        if is_edited != row.input.contains(&edited) {
            return Err(format!("call {} executed {} for {ask:?}", row.id(), row.input).into());
        }
        executed += usize::from(row.status == CallStatus::Succeeded);
    }
    if executed < ledger.len() {
        return Err(
            format!("{executed} calls succeeded, and {} had an effect", ledger.len()).into()
        );
    }
    let contents = world.directory().join("journal.sqlite-contents").join("run-asked");
    // A kill between a commit and the removal of its files leaves a text that no row names. It goes with its run.
    if let Ok(left) = std::fs::read_dir(contents) {
        counts.contents_left +=
            left.flatten().filter(|it| it.file_name().len() == 64).count() as u64;
    }
    Ok(())
}

fn count(ask: &AskRow, counts: &mut Counts) -> Result<(), CrashFailure> {
    counts.asks += 1;
    match (ask.state, &ask.answer) {
        (AskState::Answered, Some(answer)) => {
            counts.unreceived += u64::from(answer.received_at_ms.is_none());
            match answer.verdict {
                AskVerdict::Edited => counts.edited += 1,
                AskVerdict::Reject => counts.rejected += 1,
                _ => counts.allowed += 1,
            }
        }
        (AskState::Withdrawn, None) => counts.withdrawn += 1,
        _ => return Err(format!("an ask did not end well: {ask:?}").into()),
    }
    Ok(())
}
