//! Opens a chat that was had before, by this process or by one that was killed, and puts right what that left: an answer that
//! is not whole, and subagents in the background that nobody runs any more. Whoever opens it may go on by another agent or
//! another model.

use std::collections::HashSet;
use std::sync::Arc;

use haft::Session;
use haft_contract::Envelope;
use haft_journal::{
    ChatFirmness, ChatId, ChatMode, ChatPart, ChatRecord, ChatSession, ChatStatus, MessageId,
    MessageQuery,
};
use serde_json::Value;

use crate::abandon::{abandon, abandon_children};
use crate::calls::kept;
use crate::chat::{Chat, ChatCore};
use crate::children::BackgroundEnd;
use crate::definition::AgentDefinition;
use crate::delegate::children_of;
use crate::error::AgentError;
use crate::fork;
use crate::host::{Changes, HostShared};
use crate::ledger::Ledger;
use crate::narrow::{self, Layer};
use crate::transcript::Entry;

/// Why a subagent in the background is not done whose process has ended.
const ENDED: &str = "haft ended before it was done";

/// What a chat is opened as.
struct Opening {
    /// The row, as it is to be.
    row: ChatSession,
    agent: Arc<AgentDefinition>,
    layers: Vec<Layer>,
    /// Whether another agent goes on with it, which may not do what the former one began.
    is_handed_over: bool,
}

/// Opens a chat, by another agent or model from then on where the changes say so.
pub(crate) async fn open(
    host: &Arc<HostShared>,
    id: &ChatId,
    changes: &Changes,
) -> Result<Chat, AgentError> {
    let mut row = row(host, id).await?;
    if let Some(model) = &changes.model {
        (row.model, _) = host.parts.models.model(Some(model))?;
    }
    let Some(name) = changes.agent.as_ref().filter(|name| **name != row.agent) else {
        let agent = host.agent(&row.agent)?;
        let layers = layers_now(host, &row, &[])?;
        return open_as(host, Opening { row, agent, layers, is_handed_over: false }).await;
    };
    // What a subagent's ancestors may not must hold for whoever goes on with its chat, or with a fork of it.
    if row.parent_id.is_some() || layers(&row)?.len() > 1 {
        return Err(AgentError::OfSubagent(row.id));
    }
    let agent = host.primary(name)?;
    let layers = vec![Layer::of(&agent)];
    row.agent.clone_from(&agent.name);
    row.permissions_json = narrow::kept(&layers);
    open_as(host, Opening { row, agent, layers, is_handed_over: true }).await
}

/// Opens a chat beneath the one that had it begun, which may be held to less by now than then. It goes on by the model that it
/// would have if it were begun now.
pub(crate) async fn open_beneath(above: &ChatCore, row: &ChatSession) -> Result<Chat, AgentError> {
    let host = &above.host;
    let mut row = self::row(host, &row.id).await?;
    let agent = host.agent(&row.agent)?;
    let model = agent.model.as_deref().unwrap_or(&above.model_name);
    (row.model, _) = host.parts.models.model(Some(model))?;
    let layers = layers_now(host, &row, &above.layers)?;
    open_as(host, Opening { row, agent, layers, is_handed_over: false }).await
}

async fn open_as(host: &Arc<HostShared>, opening: Opening) -> Result<Chat, AgentError> {
    let Opening { row: wanted, agent, layers, is_handed_over } = opening;
    let core = host.core(&wanted, agent, &layers)?;
    core.run.open().await?;
    if is_handed_over {
        core.children.end_all().await;
    }
    // As it is now that nobody else can change it.
    let mut row = self::row(host, &wanted.id).await?;
    let mut is_changed = is_handed_over || row.model != wanted.model;
    row.model = wanted.model;
    row.agent = wanted.agent;
    if is_handed_over {
        row.permissions_json = wanted.permissions_json;
    }
    let mut ledger = Ledger::load(&core, row).await?;
    ledger.settle_interrupted().await?;
    adopt_outputs(&mut ledger).await?;
    adopt_calls(&core.session, ledger.entries.iter().flat_map(|entry| &entry.parts)).await;
    settle_children(&ledger).await?;
    let mut status = ledger.row.status;
    if status == ChatStatus::Running {
        let is_task = ledger.row.parent_id.is_some();
        status = if is_task { ChatStatus::Failed } else { ChatStatus::Idle };
        is_changed = true;
    }
    if is_changed {
        ledger.stand(status, ChatFirmness::Durable).await?;
    }
    Ok(Chat::of(core, ledger.row))
}

/// Returns the row of a chat of this workspace.
pub(crate) async fn row(host: &HostShared, id: &ChatId) -> Result<ChatSession, AgentError> {
    let row = host.parts.runtime.journal().chat(id).await?;
    let row = row.ok_or_else(|| AgentError::UnknownChat(id.clone()))?;
    if row.root != host.root() {
        Err(AgentError::OtherRoot { chat: row.id, root: row.root })
    } else if fork::is_unfinished(&row) {
        Err(AgentError::UnfinishedFork(row.id))
    } else {
        Ok(row)
    }
}

/// Returns what a chat was narrowed to when it was begun.
pub(crate) fn layers(row: &ChatSession) -> Result<Vec<Layer>, AgentError> {
    serde_json::from_str(&row.permissions_json).map_err(|err| AgentError::Damaged {
        chat: row.id.clone(),
        what: format!("what it is narrowed to cannot be read: {err}"),
    })
}

/// Returns what a chat is narrowed to now, beneath `above`: what it was narrowed to when it was begun, and what its agent and
/// those above it are now. What one of them gave up since, it has not any more.
pub(crate) fn layers_now(
    host: &HostShared,
    row: &ChatSession,
    above: &[Layer],
) -> Result<Vec<Layer>, AgentError> {
    let begun = layers(row)?;
    let names: Vec<String> =
        begun.iter().map(|layer| layer.agent.clone()).chain([row.agent.clone()]).collect();
    // An agent that is not there any more leaves what it was.
    let today = names.iter().filter_map(|name| host.agent(name).ok());
    let today: Vec<Layer> = today.map(|agent| Layer::of(&agent)).collect();
    let mut layers = above.to_vec();
    for layer in begun.into_iter().chain(today) {
        if !layers.contains(&layer) {
            layers.push(layer);
        }
    }
    Ok(layers)
}

/// Returns what was said in a chat, without what was set aside.
pub(crate) async fn entries(host: &HostShared, chat: &ChatId) -> Result<Vec<Entry>, AgentError> {
    let journal = host.parts.runtime.journal();
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map(|entry| entry.message.id.clone());
        let query = MessageQuery { after, ..MessageQuery::default() };
        let page = journal.chat_messages(chat, query).await?;
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page.into_iter().map(|(message, parts)| Entry { message, parts }));
    }
}

/// Has the agent's calls read what was cut out of the outputs that the model reads the beginnings of.
async fn adopt_outputs(ledger: &mut Ledger) -> Result<(), AgentError> {
    let read: HashSet<MessageId> =
        ledger.in_force().into_iter().map(|entry| entry.message.id.clone()).collect();
    let mut adopted = Vec::new();
    for entry in ledger.entries.iter_mut().filter(|entry| read.contains(&entry.message.id)) {
        for part in &mut entry.parts {
            if adopt_output(&ledger.core.session, part).await {
                adopted.push(ChatRecord::Part(part.clone()));
            }
        }
    }
    if adopted.is_empty() {
        return Ok(());
    }
    ledger.record(adopted, ChatFirmness::Ordered).await
}

/// Takes over what was cut out of the output of a call, into the session that goes on with it. Returns whether the part has
/// changed by that.
pub(crate) async fn adopt_output(session: &Session, part: &mut ChatPart) -> bool {
    let output = part.output_json.as_deref().filter(|output| output.contains("output_path"));
    let Some(Ok(mut envelope)) = output.map(serde_json::from_str::<Envelope>) else { return false };
    let session = session.clone();
    let adopted = tokio::task::spawn_blocking(move || {
        let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
        let before = metadata.output_path.clone();
        session.adopt_output(metadata);
        (metadata.output_path != before).then_some(envelope)
    });
    let Ok(Some(envelope)) = adopted.await else { return false };
    part.output_json = Some(kept(&envelope));
    true
}

/// Takes over what calls gave the agent, into the session that goes on with it: tools that were found, skills that were loaded,
/// the list of what is to be done.
pub(crate) async fn adopt_calls(session: &Session, parts: impl Iterator<Item = &ChatPart>) {
    let call = |part: &ChatPart| {
        let tool = part.tool.clone().filter(|tool| haft::is_adopted(tool))?;
        let input: Value = serde_json::from_str(part.input_json.as_deref()?).ok()?;
        let answer: Envelope = serde_json::from_str(part.output_json.as_deref()?).ok()?;
        Some((tool, input, answer))
    };
    let calls: Vec<_> = parts.filter_map(call).collect();
    if calls.is_empty() {
        return;
    }
    let session = session.clone();
    let adopting = move || {
        calls.iter().for_each(|(tool, input, answer)| session.adopt_call(tool, input, answer));
    };
    // What is not had after all is had by calling it once more, and the session says so then.
    let _ = tokio::task::spawn_blocking(adopting).await;
}

/// Has the ends of subagents in the background told that were not. Those that nobody runs have failed.
async fn settle_children(ledger: &Ledger) -> Result<(), AgentError> {
    let core: &ChatCore = &ledger.core;
    let rows = children_of(&core.host, &core.id).await?;
    // The oldest first.
    for row in rows.into_iter().rev() {
        let is_waited_for = row.mode == ChatMode::Foreground || row.delivered;
        if is_waited_for || core.children.knows(&row.id) {
            continue;
        }
        let is_over = match row.status {
            ChatStatus::Completed | ChatStatus::Failed | ChatStatus::Aborted => true,
            ChatStatus::Idle | ChatStatus::Running => false,
        };
        let child = row.id.clone();
        let abandoned = if is_over {
            abandon_children(&core.host, &child).await
        } else {
            abandon(&core.host, row.clone()).await
        };
        match abandoned {
            Ok(()) => {}
            // It goes on elsewhere, and what comes of it is told to whoever opens this chat then.
            Err(err) if err.is_of_another_holder() => continue,
            // What went wrong may not the next time, and its calls have no answers yet.
            Err(err) if !err.is_lasting() => return Err(err),
            // It is over all the same, whatever its own came to.
            Err(_) if is_over => {}
            // One that cannot be put right, because its agent is gone, has failed for this chat.
            Err(_) => {
                let updated_at_ms = core.now_ms();
                let failed = ChatSession { status: ChatStatus::Failed, updated_at_ms, ..row };
                ledger.record(vec![ChatRecord::Session(failed)], ChatFirmness::Ordered).await?;
            }
        }
        core.children.end(BackgroundEnd { child, why: (!is_over).then(|| ENDED.to_owned()) });
    }
    Ok(())
}
