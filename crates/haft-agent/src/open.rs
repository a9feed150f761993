//! Opens a chat that was had before, by this process or by one that was killed, and puts right what that left: an answer that
//! is not whole, and subagents in the background that nobody runs any more.

use std::collections::HashSet;
use std::sync::Arc;

use haft::Session;
use haft_contract::Envelope;
use haft_journal::{
    ChatFirmness, ChatId, ChatMode, ChatPart, ChatRecord, ChatSession, ChatStatus, MessageId,
    MessageQuery,
};

use crate::abandon::abandon;
use crate::calls::kept;
use crate::chat::{Chat, ChatCore};
use crate::definition::AgentDefinition;
use crate::delegate::{BackgroundEnd, children_of};
use crate::error::AgentError;
use crate::host::HostShared;
use crate::ledger::Ledger;
use crate::narrow::{self, Layer};
use crate::transcript::Entry;

/// Why a subagent in the background is not done whose process has ended.
const ENDED: &str = "haft ended before it was done";

pub(crate) async fn open(host: &Arc<HostShared>, id: &ChatId) -> Result<Chat, AgentError> {
    open_beneath(host, id, &[]).await
}

/// Opens a chat beneath layers that its own are added to: those of the chat above, which may be held to less by now than when
/// it had this one begun.
pub(crate) async fn open_beneath(
    host: &Arc<HostShared>,
    id: &ChatId,
    above: &[Layer],
) -> Result<Chat, AgentError> {
    let row = row(host, id).await?;
    let agent = host.agent(&row.agent)?;
    let layers = layers_now(host, &row, above)?;
    open_with(host, row, agent, layers).await
}

/// Opens a chat that another agent goes on with.
pub(crate) async fn open_as(
    host: &Arc<HostShared>,
    id: &ChatId,
    agent: &str,
) -> Result<Chat, AgentError> {
    let row = row(host, id).await?;
    if row.agent == agent {
        return open(host, id).await;
    }
    // What a subagent's ancestors may not must hold for whoever goes on with its chat, or with a fork of it.
    if row.parent_id.is_some() || layers(&row)?.len() > 1 {
        return Err(AgentError::OfSubagent(row.id));
    }
    let agent = host.primary(agent)?;
    let layers = vec![Layer::of(&agent)];
    let permissions_json = narrow::kept(&layers);
    let mut chat = open_with(host, row, agent, layers).await?;
    chat.settled().await?.permissions_json = permissions_json;
    chat.record().await?;
    Ok(chat)
}

async fn open_with(
    host: &Arc<HostShared>,
    row: ChatSession,
    agent: Arc<AgentDefinition>,
    layers: Vec<Layer>,
) -> Result<Chat, AgentError> {
    let core = host.core(&row, agent, &layers)?;
    core.run.open().await?;
    // As it is now that nobody else can change it.
    let mut row = self::row(host, &row.id).await?;
    row.agent.clone_from(&core.agent.name);
    let mut ledger = Ledger::load(&core, row).await?;
    ledger.settle_interrupted().await?;
    adopt_outputs(&mut ledger).await?;
    settle_children(&ledger).await?;
    if ledger.row.status == ChatStatus::Running {
        let is_task = ledger.row.parent_id.is_some();
        let status = if is_task { ChatStatus::Failed } else { ChatStatus::Idle };
        ledger.stand(status, ChatFirmness::Durable).await?;
    }
    Ok(Chat::of(core, ledger.row))
}

/// Returns the row of a chat of this workspace.
pub(crate) async fn row(host: &HostShared, id: &ChatId) -> Result<ChatSession, AgentError> {
    let row = host.parts.runtime.journal().chat(id).await?;
    let row = row.ok_or_else(|| AgentError::UnknownChat(id.clone()))?;
    if row.root == host.root() {
        Ok(row)
    } else {
        Err(AgentError::OtherRoot { chat: row.id, root: row.root })
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

/// Has the ends of subagents in the background told that were not. Those that nobody runs have failed.
async fn settle_children(ledger: &Ledger) -> Result<(), AgentError> {
    let core: &ChatCore = &ledger.core;
    let rows = children_of(core).await?;
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
        // One that cannot be put right, because somebody has opened it or its agent is gone, has failed for this chat.
        if !is_over && abandon(&core.host, row.clone()).await.is_err() {
            let failed =
                ChatSession { status: ChatStatus::Failed, updated_at_ms: core.now_ms(), ..row };
            ledger.record(vec![ChatRecord::Session(failed)], ChatFirmness::Ordered).await?;
        }
        core.children.end(BackgroundEnd { child, why: (!is_over).then(|| ENDED.to_owned()) });
    }
    Ok(())
}
