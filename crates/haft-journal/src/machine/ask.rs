//! Asks and their answers. All writers of a store take turns, so of two answers the first one is the one that finds the ask
//! pending.

use haft_contract::{ContentDigest, RunId};
use serde_json::value::RawValue;

use super::codec::{self, integer};
use super::lease_state::lease_state;
use super::recall::all;
use super::{Stop, contents};
use crate::limits::QUERY_BYTES_MAX;
use crate::store::{
    Column, Inserted, Reader, Row, RowCondition, RowError, RowQuery, RowUpdate, Transaction, Value,
    asks, sessions,
};
use crate::stored_content::StoredContent;
use crate::{
    AskAnswerRow, AskEnd, AskQuery, AskRow, AskState, AskVerdict, JournalError, NewAsk,
    NewAskAnswer,
};

/// Sessions above a session that are looked at. Depth 5 is the most that haft makes.
const AGENTS_MAX: usize = 16;

/// Records an ask.
pub(super) fn open(
    tx: &mut dyn Transaction,
    ask: &NewAsk,
    shown: &StoredContent,
) -> Result<AskRow, Stop> {
    let run = &ask.call.scope.run;
    let asker = admit(tx, run, ask.fencing_token)?;
    let now_ms = tx.now_ms(ask.now_ms)?;
    let deadline_ms = ask.lasts_ms.map(|lasts_ms| now_ms.saturating_add(lasts_ms));
    let agents = agents(tx, run)?;
    let [of_run, node, iteration, attempt, seq] = codec::call_key(&ask.call);
    let cells = [
        (asks::ID, ask.id.as_str().into()),
        (asks::RUN, of_run),
        (asks::NODE, node),
        (asks::ITERATION, iteration),
        (asks::ATTEMPT, attempt),
        (asks::SEQ, seq),
        (asks::FENCING_TOKEN, integer(ask.fencing_token)?),
        (asks::TOOL, ask.tool.as_str().into()),
        (asks::FRONT_END, ask.front_end.as_str().into()),
        (asks::AGENTS, agents.into()),
        (asks::ASKER, asker.into()),
        (asks::SUMMARY, ask.summary.as_str().into()),
        (asks::SHOWN_SHA256, shown.digest.sha256.as_str().into()),
        (asks::SHOWN_BYTES, integer(shown.digest.bytes)?),
        (asks::ASKED_AT_MS, integer(now_ms)?),
        (asks::DEADLINE_MS, optional_integer(deadline_ms)?),
        (asks::STATE, AskState::Pending.as_str().into()),
    ];
    if tx.insert(&asks::TABLE, &cells)? == Inserted::Taken {
        return Err(JournalError::UnfitRecord {
            record: format!("ask {}", ask.id),
            run: run.clone(),
            expected: "a name that no other ask has".to_owned(),
        }
        .into());
    }
    contents::insert(tx, run, std::slice::from_ref(shown))?;
    known(tx, &ask.id)
}

/// Records the first valid answer.
pub(super) fn answer(tx: &mut dyn Transaction, answer: &NewAskAnswer) -> Result<AskRow, Stop> {
    let ask = known(tx, &answer.ask)?;
    if ask.state != AskState::Pending {
        return Err(JournalError::AskEnded { ask: Box::new(ask) }.into());
    }
    let now_ms = tx.now_ms(answer.now_ms)?;
    let run = &ask.call.scope.run;
    let is_asked =
        lease_state(tx, run)?.is_some_and(|state| state.admit(run, ask.fencing_token).is_ok());
    let is_late = ask.deadline_ms.is_some_and(|deadline_ms| deadline_ms <= now_ms);
    if !is_asked || is_late {
        let end = if is_asked { AskEnd::Expired } else { AskEnd::Withdrawn };
        let ended = finish(tx, ask, end, Some(now_ms))?;
        return Err(JournalError::AskEnded { ask: Box::new(ended) }.into());
    }
    if answer.shown_sha256 != ask.shown.sha256 {
        return Err(JournalError::AskDiffers { ask: ask.id }.into());
    }
    let edited = edited_content(&ask, answer)?;
    let digest = edited.as_ref().map(|edited| &edited.digest);
    let changes = [
        (asks::STATE, AskState::Answered.as_str().into()),
        (asks::ENDED_AT_MS, integer(now_ms)?),
        (asks::VERDICT, answer.verdict.as_str().into()),
        (asks::ANSWERED_BY, answer.by.as_str().into()),
        (asks::ANSWERED_THROUGH, answer.through.as_str().into()),
        (asks::ANSWER_SHOWN_SHA256, answer.shown_sha256.as_str().into()),
        (asks::WORDS, answer.words.clone().into()),
        (asks::EDITED_SHA256, digest.map(|digest| digest.sha256.as_str()).into()),
        (asks::EDITED_BYTES, optional_integer(digest.map(|digest| digest.bytes))?),
    ];
    change(tx, &ask.id, &changes)?;
    contents::remove(tx, run, &ask.shown)?;
    contents::insert(tx, run, edited.as_slice())?;
    known(tx, &ask.id)
}

/// Returns the JSON that comes with an answer as the content store has it: an edited input, or the answers to questions. It names
/// its ask, so that no other text is the same.
fn edited_content(
    ask: &AskRow,
    answer: &NewAskAnswer,
) -> Result<Option<StoredContent>, JournalError> {
    match (answer.verdict, &answer.edited_input) {
        (AskVerdict::Edited | AskVerdict::Once, Some(input)) => {
            let id = serde_json::Value::from(ask.id.as_str());
            Ok(Some(StoredContent::of(format!("{{\"ask\":{id},\"input\":{input}}}"))))
        }
        (AskVerdict::Edited, None) => Err(JournalError::UnfitRecord {
            record: format!("the answer of ask {}", ask.id),
            run: ask.call.scope.run.clone(),
            expected: "the edited input".to_owned(),
        }),
        (_, _) => Ok(None),
    }
}

/// The text of an edited input in the content store.
#[derive(serde::Deserialize)]
struct EditedInput<'a> {
    #[serde(borrow)]
    input: &'a RawValue,
}

/// Ends an ask without an answer.
pub(super) fn end(
    tx: &mut dyn Transaction,
    id: &str,
    end: AskEnd,
    now_ms: u64,
) -> Result<AskRow, Stop> {
    let ask = known(tx, id)?;
    if ask.state != AskState::Pending {
        return Ok(ask);
    }
    let now_ms = tx.now_ms(now_ms)?;
    finish(tx, ask, end, Some(now_ms))
}

/// Records that the process that asked received the answer.
pub(super) fn receive(
    tx: &mut dyn Transaction,
    id: &str,
    now_ms: u64,
) -> Result<(AskRow, Option<String>), Stop> {
    let ask = known(tx, id)?;
    let run = ask.call.scope.run.clone();
    admit(tx, &run, ask.fencing_token)?;
    let Some(answer) = &ask.answer else { return Ok((ask, None)) };
    let mut input = None;
    if let Some(digest) = &answer.edited {
        let text = contents::content(tx, &run, digest)?;
        input = text.and_then(|text| {
            let edited: EditedInput<'_> = serde_json::from_str(&text).ok()?;
            Some(edited.input.get().to_owned())
        });
        contents::remove(tx, &run, digest)?;
    }
    if answer.received_at_ms.is_none() {
        let now_ms = tx.now_ms(now_ms)?;
        change(tx, id, &[(asks::RECEIVED_AT_MS, integer(now_ms)?)])?;
    }
    Ok((known(tx, id)?, input))
}

/// Withdraws the asks of a run whose lease ends, and removes what no process is left to receive.
pub(super) fn withdraw_of_run(tx: &mut dyn Transaction, run: &RunId) -> Result<(), Stop> {
    let open = [AskState::Pending, AskState::Answered];
    let query = RowQuery::of(&asks::TABLE, asks::TABLE.columns).with([
        RowCondition::Equal(asks::RUN, run.as_str().into()),
        RowCondition::OneOf(asks::STATE, open.map(|state| state.as_str().into()).to_vec()),
        RowCondition::Equal(asks::RECEIVED_AT_MS, Value::Null),
    ]);
    for ask in all(tx, &query, ask_row)? {
        if ask.state == AskState::Pending {
            finish(tx, ask, AskEnd::Withdrawn, None)?;
        } else if let Some(edited) = ask.answer.and_then(|answer| answer.edited) {
            contents::remove(tx, run, &edited)?;
        }
    }
    Ok(())
}

/// Returns the asks that a query asks for.
pub(super) fn asks(reader: &mut dyn Reader, query: &AskQuery) -> Result<Vec<AskRow>, Stop> {
    const ORDER: &[Column] = &[asks::ASKED_AT_MS, asks::ID];
    let conditions = [
        query.id.as_deref().map(|id| RowCondition::Equal(asks::ID, id.into())),
        query.run.as_ref().map(|run| RowCondition::Equal(asks::RUN, run.as_str().into())),
        query.state.map(|state| RowCondition::Equal(asks::STATE, state.as_str().into())),
    ];
    let asked = RowQuery {
        bytes_max: Some(QUERY_BYTES_MAX),
        ..RowQuery::of(&asks::TABLE, asks::TABLE.columns).at_most(query.rows_max())
    };
    let asked = asked.with(conditions.into_iter().flatten());
    let asked = if query.latest_first { asked.latest_first(ORDER) } else { asked.in_order(ORDER) };
    all(reader, &asked, ask_row)
}

fn finish(
    tx: &mut dyn Transaction,
    ask: AskRow,
    end: AskEnd,
    now_ms: Option<u64>,
) -> Result<AskRow, Stop> {
    let changes = [
        (asks::STATE, AskState::from(end).as_str().into()),
        (asks::ENDED_AT_MS, optional_integer(now_ms)?),
    ];
    change(tx, &ask.id, &changes)?;
    contents::remove(tx, &ask.call.scope.run, &ask.shown)?;
    Ok(AskRow { state: end.into(), ended_at_ms: now_ms, ..ask })
}

/// Answers an error unless the lease of this fencing token holds. Returns where its owner runs.
fn admit(tx: &mut dyn Transaction, run: &RunId, fencing_token: u64) -> Result<String, Stop> {
    let state = lease_state(tx, run)?.filter(|state| !state.is_being_removed);
    let state = state.ok_or_else(|| JournalError::UnknownRun { run: run.clone() })?;
    state.admit(run, fencing_token)?;
    Ok(state.holder.map(|holder| holder.owner.location).unwrap_or_default())
}

fn change(tx: &mut dyn Transaction, id: &str, changes: &[(Column, Value)]) -> Result<(), Stop> {
    let (table, key) = (&asks::TABLE, &[Value::from(id)]);
    tx.update(&RowUpdate { table, key, place: None, expected: &[], changes })?;
    Ok(())
}

fn known(reader: &mut dyn Reader, id: &str) -> Result<AskRow, Stop> {
    match reader.get(&asks::TABLE, &[id.into()], asks::TABLE.columns)? {
        Some(mut row) => Ok(ask_row(&mut row)?),
        None => Err(JournalError::UnknownAsk { ask: id.to_owned() }.into()),
    }
}

/// Returns the agents of the sessions that led to a run, the outermost first, as a JSON list.
fn agents(reader: &mut dyn Reader, run: &RunId) -> Result<String, Stop> {
    const COLUMNS: &[Column] = &[sessions::AGENT, sessions::PARENT_ID];
    let mut agents = Vec::new();
    let mut next = Some(Value::from(run.as_str()));
    while let Some(id) = next.take() {
        let Some(mut row) = reader.get(&sessions::TABLE, &[id], COLUMNS)? else { break };
        agents.push(row.text(sessions::AGENT)?);
        if agents.len() < AGENTS_MAX {
            next = row.optional_text(sessions::PARENT_ID)?.map(Value::from);
        }
    }
    agents.reverse();
    Ok(serde_json::to_string(&agents).expect("a list of strings always serializes"))
}

/// Reads an ask.
pub(super) fn ask_row(row: &mut Row) -> Result<AskRow, RowError> {
    use asks as of;
    let verdict = row.optional_word(of::VERDICT, AskVerdict::parse)?;
    let answer = match verdict {
        None => None,
        Some(verdict) => Some(AskAnswerRow {
            verdict,
            by: row.text(of::ANSWERED_BY)?,
            through: row.text(of::ANSWERED_THROUGH)?,
            shown_sha256: row.text(of::ANSWER_SHOWN_SHA256)?,
            words: row.optional_text(of::WORDS)?,
            edited: match row.optional_text(of::EDITED_SHA256)? {
                None => None,
                Some(sha256) => {
                    Some(ContentDigest { sha256, bytes: row.number(of::EDITED_BYTES)? })
                }
            },
            received_at_ms: row.optional_number(of::RECEIVED_AT_MS)?,
        }),
    };
    Ok(AskRow {
        id: row.text(of::ID)?,
        call: codec::address(row, [of::RUN, of::NODE, of::ITERATION, of::ATTEMPT, of::SEQ])?,
        fencing_token: row.number(of::FENCING_TOKEN)?,
        tool: row.text(of::TOOL)?,
        front_end: row.text(of::FRONT_END)?,
        // A text that is not such a list was written by another hand.
        agents: serde_json::from_str(&row.text(of::AGENTS)?).unwrap_or_default(),
        asker: row.text(of::ASKER)?,
        summary: row.text(of::SUMMARY)?,
        shown: ContentDigest {
            sha256: row.text(of::SHOWN_SHA256)?,
            bytes: row.number(of::SHOWN_BYTES)?,
        },
        asked_at_ms: row.number(of::ASKED_AT_MS)?,
        deadline_ms: row.optional_number(of::DEADLINE_MS)?,
        state: row.word(of::STATE, AskState::parse)?,
        ended_at_ms: row.optional_number(of::ENDED_AT_MS)?,
        answer,
    })
}

fn optional_integer(number: Option<u64>) -> Result<Value, codec::TooLarge> {
    number.map_or(Ok(Value::Null), integer)
}
