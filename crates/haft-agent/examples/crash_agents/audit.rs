//! Looks at what is left of a world in which everything is done: that it was done once, that what is kept says so, and
//! that each token is counted once.

use std::collections::BTreeSet;
use std::path::PathBuf;

use haft_contract::Envelope;
use haft_faults::crash::{CrashScenario, CrashTestError, FinishedWorld};
use haft_journal::{
    CallQuery, CallStatus, Journal, MessageFinish, MessagePart, MessageQuery, PartKind, PartState,
    SessionMessage, SessionQuery, SessionRow, SessionStatus, SqliteJournal, TokenCounts,
};

use crate::script::{ASIDE, DELEGATED, OWN, World};
use crate::worker;

/// The scenario, with what was found in all worlds.
#[derive(Default)]
pub(crate) struct Conversations {
    in_doubt: u64,
    unmade: u64,
}

impl CrashScenario for Conversations {
    const NAME: &'static str = "agents";
    const PROGRESS_PREFIX: &'static str = ORDERED;

    async fn work(world: PathBuf, life: u64) -> Result<(), CrashTestError> {
        worker::work(World(world), life).await
    }

    fn audit(&mut self, seen: &FinishedWorld<'_>) -> Result<(), CrashTestError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(audit(&World::at(seen.world), &acknowledged(seen.lines), self))
    }

    fn summary(&self) -> String {
        format!("{} calls in doubt, {} not made", self.in_doubt, self.unmade)
    }
}

/// How the line begins that says that an order was answered.
const ORDERED: &str = "ordered ";

/// One conversation.
struct Kept {
    session: SessionRow,
    messages: Vec<(SessionMessage, Vec<MessagePart>)>,
}

/// Returns the orders that a worker said were answered.
fn acknowledged(lines: &[String]) -> BTreeSet<u64> {
    let numbers = lines.iter().filter_map(|line| line.strip_prefix(ORDERED));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Looks at a world, of which these orders were acknowledged.
async fn audit(
    world: &World,
    acknowledged: &BTreeSet<u64>,
    found: &mut Conversations,
) -> Result<(), CrashTestError> {
    let journal = SqliteJournal::open(world.journal())?;
    let findings = journal.verify().await?;
    if !findings.is_empty() {
        return Err(format!("the journal is not sound: {findings:?}").into());
    }
    orders(world, acknowledged)?;
    for kept in conversations(&journal).await? {
        check(&journal, world, &kept, found).await.map_err(|err| {
            format!("session {} of {}: {err}", kept.session.id, kept.session.agent)
        })?;
    }
    Ok(())
}

/// Each number was ordered once; those in the background, once at most.
fn orders(world: &World, acknowledged: &BTreeSet<u64>) -> Result<(), CrashTestError> {
    let orders = world.orders()?;
    for number in OWN.chain(DELEGATED).chain(ASIDE) {
        let count = orders.get(&number).copied().unwrap_or_default();
        let may_be_missing = ASIDE.contains(&number) && !acknowledged.contains(&number);
        if count != 1 && !(count == 0 && may_be_missing) {
            return Err(format!("{number} was ordered {count} times").into());
        }
    }
    Ok(())
}

async fn conversations(journal: &SqliteJournal) -> Result<Vec<Kept>, CrashTestError> {
    let journal: &dyn Journal = journal;
    let mut kept = Vec::new();
    for session in
        journal.sessions(SessionQuery { with_opaque: true, ..SessionQuery::default() }).await?
    {
        let messages = journal.session_messages(&session.id, MessageQuery::default()).await?;
        kept.push(Kept { session, messages });
    }
    Ok(kept)
}

async fn check(
    journal: &SqliteJournal,
    world: &World,
    kept: &Kept,
    found: &mut Conversations,
) -> Result<(), CrashTestError> {
    let Kept { session, messages } = kept;
    let is_child = session.parent_id.is_some();
    match (is_child, session.status) {
        (false, SessionStatus::Idle) | (true, SessionStatus::Completed | SessionStatus::Failed) => {
        }
        (_, status) => return Err(format!("it is {status}").into()),
    }
    let rows = journal.calls(CallQuery::of_run(session.id.run())).await?;
    let parts = || messages.iter().flat_map(|(_, parts)| parts);
    for row in &rows {
        // A call that was found not to have been made, and then was made, has two rows and one part.
        let is_of_row = |part: &&MessagePart| part.tool_call_id == row.driver_call_id;
        let of_row = parts().filter(is_of_row).count();
        if of_row != 1 {
            return Err(format!("{of_row} parts are of the call {}", row.id()).into());
        }
        found.in_doubt += u64::from(row.status == CallStatus::Unknown);
    }
    for part in parts().filter(|part| part.kind == PartKind::Tool) {
        check_call(world, part)?;
        found.unmade += u64::from(part.call_id.is_none());
    }
    check_counts(session, messages)
}

/// The answer of a call is there, and says of an order what the ledger says.
fn check_call(world: &World, part: &MessagePart) -> Result<(), CrashTestError> {
    let wrong = |what: &str| CrashTestError::from(format!("{what}: {part:?}"));
    let output = part.output_json.as_deref().ok_or_else(|| wrong("a call without an answer"))?;
    let envelope: Envelope = serde_json::from_str(output)?;
    if part.tool.as_deref() != Some("order") {
        return Ok(());
    }
    let input: serde_json::Value =
        serde_json::from_str(part.input_json.as_deref().unwrap_or("{}"))?;
    let number = input["number"].as_u64().ok_or_else(|| wrong("an order of nothing"))?;
    let is_ordered = world.orders()?.contains_key(&number);
    let text = envelope.text();
    let is_true = match part.state {
        Some(PartState::OutputAvailable) => is_ordered,
        Some(PartState::OutputError) => {
            text.contains("may or may not have happened") || text.contains("was not made")
        }
        Some(PartState::InputStreaming | PartState::InputAvailable) | None => false,
    };
    if is_true { Ok(()) } else { Err(wrong("an answer that is not true")) }
}

/// The session counts what its answers took, each once, and so many steps.
fn check_counts(
    session: &SessionRow,
    messages: &[(SessionMessage, Vec<MessagePart>)],
) -> Result<(), CrashTestError> {
    let mut sum = TokenCounts::default();
    let mut steps = 0;
    for (message, _) in messages {
        if message.completed_at_ms.is_none() {
            return Err(format!("a message without an end: {message:?}").into());
        }
        sum.input += message.tokens.input;
        sum.output += message.tokens.output;
        sum.reasoning += message.tokens.reasoning;
        sum.cache_read += message.tokens.cache_read;
        sum.cache_write += message.tokens.cache_write;
        let is_whole = [MessageFinish::Stop, MessageFinish::ToolCalls].map(Some);
        steps += u32::from(is_whole.contains(&message.finish));
    }
    if (sum, steps) != (session.tokens, session.steps) {
        return Err(format!(
            "it counts {:?} in {} steps, its messages {sum:?} in {steps}",
            session.tokens, session.steps
        )
        .into());
    }
    Ok(())
}
