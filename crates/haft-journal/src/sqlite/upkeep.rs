//! Removing runs, with the chats that they are of, and looking whether the file is sound. A long run is removed in several commits, so that nobody else is
//! locked out for long; from the first on it is marked as going, so that nobody can take what is left of it.

use haft_contract::RunId;
use rusqlite::{Connection, Row, params};

use super::chat;
use super::job::Applied;
use super::lease;
use super::reader::{self, number, optional_word, word};
use super::transaction::Writing;
use crate::inspection::Inspection;
use crate::limits::PRUNE_CALLS_MAX;
use crate::upkeep::{Candidates, RunAge};
use crate::{Finding, Retention};

/// What is said in a chat is asked for apart: beside its calls, each part would be counted as often as there are calls.
pub(super) const AGES: &str = "\
SELECT run.id, run.owner_id IS NOT NULL, \
max(run.started_at_ms, coalesce(max(call.started_at_ms), 0), coalesce(max(call.finished_at_ms), 0), \
coalesce(chat.updated_at_ms, 0)), \
coalesce(sum(octet_length(input) + octet_length(accesses) + coalesce(octet_length(details), 0) \
+ coalesce(octet_length(envelope), 0)), 0) + (SELECT coalesce(sum(coalesce(octet_length(part.text), 0) \
+ coalesce(octet_length(part.input_json), 0) + coalesce(octet_length(part.output_json), 0) \
+ coalesce(octet_length(part.signatures_json), 0)), 0) FROM chat_parts AS part WHERE part.session_id = run.id), \
coalesce(max(call.closed), 0), run.epoch, run.is_going, \
coalesce(max(call.status = 'unknown' AND verdict IS NULL AND effect = 'once'), 0), chat.parent_id \
FROM runs AS run LEFT JOIN calls AS call ON call.run = run.id LEFT JOIN chat_sessions AS chat ON chat.id = run.id \
GROUP BY run.number ORDER BY run.number";

/// A run that may go has no open call, so that this is the greatest change number of its calls.
pub(super) const RUN_LATEST: &str = "\
SELECT coalesce(max(closed), 0) FROM calls INDEXED BY calls_of_run WHERE run = ?1 AND closed > 0";

pub(super) const RUN_MARK: &str = "UPDATE runs SET is_going = 1 WHERE id = ?1";

pub(super) const CALLS_DELETE: &str = "\
DELETE FROM calls WHERE number IN (SELECT number FROM calls WHERE run = ?1 LIMIT ?2)";

pub(super) const SNAPSHOTS_DELETE: &str = "\
DELETE FROM snapshots WHERE number IN (SELECT number FROM snapshots WHERE run = ?1 LIMIT ?2)";

pub(super) const PARTS_DELETE: &str = "\
DELETE FROM chat_parts WHERE rowid IN (SELECT rowid FROM chat_parts WHERE session_id = ?1 LIMIT ?2)";

pub(super) const MESSAGES_DELETE: &str = "\
DELETE FROM chat_messages WHERE rowid IN (SELECT rowid FROM chat_messages WHERE session_id = ?1 LIMIT ?2)";

pub(super) const SESSION_DELETE: &str = "DELETE FROM chat_sessions WHERE id = ?1";

pub(super) const LATE_DELETE: &str = "DELETE FROM late_outcomes WHERE run = ?1";

pub(super) const EPOCH_KEEP: &str = "\
UPDATE changes SET epoch_floor = max(epoch_floor, (SELECT epoch FROM runs WHERE id = ?1)) WHERE id = 1";

pub(super) const RUN_DELETE: &str = "DELETE FROM runs WHERE id = ?1";

const RUNS_STANDING: &str = "\
SELECT id, epoch, owner_id, owner_place, held_since_ms, lease_expires_at_ms, fruitless, fruitless_since, is_going, \
settings FROM runs ORDER BY number";

/// A run that is to be removed as it was seen.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) run: RunId,
    /// The run of the chat that began this one.
    pub(super) parent: Option<RunId>,
    epoch: u64,
    last_change: i64,
}

/// How far the removal of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// So many calls are gone, and there are more.
    Begun(u64),
    /// The last so many calls are gone, and the run.
    Done(u64),
    /// The run is in use again and stays.
    Kept,
}

/// Finds out what is to be removed.
pub(super) fn candidates(
    db: &Connection,
    retention: Retention,
) -> rusqlite::Result<Candidates<Candidate>> {
    let (mut seen, mut going) = (Vec::new(), Vec::new());
    let mut statement = db.prepare_cached(AGES)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let run = word(row, 0, |text| RunId::parse(text).ok())?;
        let parent = optional_word(row, 8, |text| RunId::parse(text).ok())?;
        let candidate = Candidate {
            run: run.clone(),
            parent: parent.clone(),
            epoch: number(row, 5)?,
            last_change: row.get(4)?,
        };
        if row.get(6)? {
            going.push(candidate);
            continue;
        }
        let (latest_ms, bytes) = (number(row, 2)?, number(row, 3)?);
        let (is_held, is_in_doubt) = (row.get(1)?, row.get(7)?);
        seen.push((RunAge { run, parent, latest_ms, bytes, is_held, is_in_doubt }, candidate));
    }
    Ok(retention.candidates(going, seen))
}

/// Removes a part of a run, unless it was used since it was looked at.
pub(super) fn remove(tx: &mut Writing<'_>, candidate: &Candidate) -> Applied<Removal> {
    let run = &candidate.run;
    let Some(standing) = tx.standing(run)?.cloned() else { return Ok(Ok(Removal::Kept)) };
    if !standing.is_going {
        let latest: i64 =
            tx.db.prepare_cached(RUN_LATEST)?.query_row([run.as_str()], |row| row.get(0))?;
        let is_as_seen = standing.holder.is_none()
            && standing.epoch == candidate.epoch
            && latest == candidate.last_change;
        if !is_as_seen {
            return Ok(Ok(Removal::Kept));
        }
        tx.db.prepare_cached(RUN_MARK)?.execute([run.as_str()])?;
        tx.forget_standing(run);
    }
    remove_part(tx, run).map(Ok)
}

/// Removes all that is left of a run.
pub(super) fn remove_rest(tx: &mut Writing<'_>, run: &RunId) -> rusqlite::Result<()> {
    while let Removal::Begun(_) = remove_part(tx, run)? {}
    Ok(())
}

fn remove_part(tx: &mut Writing<'_>, run: &RunId) -> rusqlite::Result<Removal> {
    let some = params![run.as_str(), PRUNE_CALLS_MAX];
    tx.keep_change()?;
    let calls = tx.db.prepare_cached(CALLS_DELETE)?.execute(some)?;
    let snapshots = tx.db.prepare_cached(SNAPSHOTS_DELETE)?.execute(some)?;
    let parts = tx.db.prepare_cached(PARTS_DELETE)?.execute(some)?;
    let is_full = |rows: usize| u32::try_from(rows).is_ok_and(|rows| rows == PRUNE_CALLS_MAX);
    let calls_count = u64::try_from(calls).unwrap_or_default();
    if is_full(calls) || is_full(snapshots) || is_full(parts) {
        return Ok(Removal::Begun(calls_count));
    }
    // No part is left that belongs to any of them.
    if is_full(tx.db.prepare_cached(MESSAGES_DELETE)?.execute(some)?) {
        return Ok(Removal::Begun(calls_count));
    }
    for text in [SESSION_DELETE, LATE_DELETE, EPOCH_KEEP, RUN_DELETE] {
        tx.db.prepare_cached(text)?.execute([run.as_str()])?;
    }
    tx.forget_standing(run);
    Ok(Removal::Done(calls_count))
}

/// Looks at everything, as it is at one moment.
pub(super) fn verify(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let snapshot = db.unchecked_transaction()?;
    let mut inspection = Inspection::default();
    for look in [file, rows] {
        if let Err(err) = look(&snapshot, &mut inspection) {
            // What cannot be read is what was looked for; anything else is no finding.
            if !is_about_content(&err) {
                return Err(err);
            }
            inspection.find("the file can be read", err.to_string());
        }
    }
    Ok(inspection.into_findings())
}

fn file(db: &Connection, inspection: &mut Inspection) -> rusqlite::Result<()> {
    let mut statement = db.prepare("PRAGMA integrity_check")?;
    let mut answers = statement.query([])?;
    while let Some(row) = answers.next()? {
        let answer: String = row.get(0)?;
        if answer != "ok" {
            inspection.find("the file is whole", answer);
        }
    }
    let mut statement = db.prepare("PRAGMA foreign_key_check")?;
    let mut answers = statement.query([])?;
    while let Some(row) = answers.next()? {
        let (table, number): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        inspection.find("rows belong to runs", format!("row {number:?} of table {table}"));
    }
    Ok(())
}

fn rows(db: &Connection, inspection: &mut Inspection) -> rusqlite::Result<()> {
    each_row(db, RUNS_STANDING, inspection, |row, inspection| {
        let run: RunId = word(row, 0, |text| RunId::parse(text).ok())?;
        let settings: String = row.get(9)?;
        inspection.run(&run, lease::standing_row(row)?, &settings);
        Ok(())
    })?;
    each_row(db, &reader::every_call(), inspection, |row, inspection| {
        inspection.call(&reader::call_row(row)?);
        Ok(())
    })?;
    each_row(db, reader::EVERY_LATE_OUTCOME, inspection, |row, inspection| {
        inspection.late_outcome(&reader::late_outcome(row)?);
        Ok(())
    })?;
    let [sessions, messages, parts] = chat::everything();
    each_row(db, &sessions, inspection, |row, inspection| {
        inspection.chat(&chat::session_row(row)?);
        Ok(())
    })?;
    each_row(db, &messages, inspection, |row, inspection| {
        inspection.message(&chat::message_row(row)?);
        Ok(())
    })?;
    each_row(db, &parts, inspection, |row, inspection| {
        inspection.part(&chat::part_row(row)?);
        Ok(())
    })
}

/// Shows every row; one that makes no sense is a finding and not the end.
fn each_row(
    db: &Connection,
    text: &str,
    inspection: &mut Inspection,
    show: impl Fn(&Row<'_>, &mut Inspection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = db.prepare(text)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Err(err) = show(row, inspection) {
            inspection.find("rows make sense", err.to_string());
        }
    }
    Ok(())
}

fn is_about_content(err: &rusqlite::Error) -> bool {
    err.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
}
