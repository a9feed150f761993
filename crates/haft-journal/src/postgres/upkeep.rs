//! Removing runs, with the chats that they are of, and looking whether the database is sound. A long run is removed in several commits, so that nobody else
//! is kept waiting for long; from the first on it is marked as going, so that nobody can take what is left of it.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use haft_contract::RunId;
use tokio_postgres::{Client, Row};

use super::action::Applied;
use super::chat::{self, MESSAGE_COLUMNS, PART_COLUMNS, SESSION_COLUMNS};
use super::failure::Trouble;
use super::lease::{self, STANDING_COLUMNS};
use super::row::{self, CALL_COLUMNS, Columns as _, LATE_COLUMNS};
use crate::inspection::Inspection;
use crate::limits::PRUNE_CALLS_MAX;
use crate::upkeep::{Candidates, RunAge};
use crate::{Finding, Retention};

const RUN_LATEST: &str = "SELECT coalesce(max(change), 0) FROM haft.calls WHERE run || '' = $1";

const RUN_MARK: &str = "UPDATE haft.runs SET is_going = true WHERE id = $1";

const CALLS_DELETE: &str = "\
DELETE FROM haft.calls WHERE change = ANY (ARRAY(SELECT change FROM haft.calls WHERE run = $1 LIMIT $2))";

const SNAPSHOTS_DELETE: &str = "\
DELETE FROM haft.snapshots WHERE number = ANY (ARRAY(SELECT number FROM haft.snapshots WHERE run = $1 LIMIT $2))";

const PARTS_DELETE: &str = "\
DELETE FROM haft.chat_parts WHERE id = ANY (ARRAY(SELECT id FROM haft.chat_parts WHERE session_id = $1 LIMIT $2))";

const MESSAGES_DELETE: &str = "\
DELETE FROM haft.chat_messages WHERE id = ANY (ARRAY(SELECT id FROM haft.chat_messages WHERE session_id = $1 LIMIT $2))";

const SESSION_DELETE: &str = "DELETE FROM haft.chat_sessions WHERE id = $1";

const LATE_DELETE: &str = "DELETE FROM haft.late_outcomes WHERE run = $1";

const EPOCH_KEEP: &str = "\
UPDATE haft.changes SET epoch_floor = greatest(epoch_floor, (SELECT epoch FROM haft.runs WHERE id = $1)) WHERE id = 1";

const RUN_DELETE: &str = "DELETE FROM haft.runs WHERE id = $1";

/// Rows that belong to no run.
const STRAYS: [(&str, &str); 3] = [
    ("calls", "SELECT DISTINCT run FROM haft.calls WHERE run NOT IN (SELECT id FROM haft.runs)"),
    (
        "snapshots",
        "SELECT DISTINCT run FROM haft.snapshots WHERE run NOT IN (SELECT id FROM haft.runs)",
    ),
    (
        "late outcomes",
        "SELECT DISTINCT run FROM haft.late_outcomes WHERE run NOT IN (SELECT id FROM haft.runs)",
    ),
];

/// The last change number and the greatest that a call has.
const CHANGES: &str =
    "SELECT last, coalesce((SELECT max(change) FROM haft.calls), 0) FROM haft.changes WHERE id = 1";

/// A run that is to be removed as it was seen.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) run: RunId,
    /// The run of the chat that began this one.
    pub(super) parent: Option<RunId>,
    pub(super) calls: u64,
    epoch: u64,
    last_change: i64,
}

/// How far the removal of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// There is more of it.
    Begun,
    /// It is gone.
    Done,
    /// It is in use again and stays.
    Kept,
}

/// Finds out what is to be removed.
pub(super) fn candidates(
    rows: &[Row],
    retention: Retention,
) -> Result<Candidates<Candidate>, Trouble> {
    let (mut seen, mut going) = (Vec::new(), Vec::new());
    for row in rows {
        let run = row.word(0, |text| RunId::parse(text).ok())?;
        let (epoch, last_change, calls) = (row.number(5)?, row.number(4)?, row.number(7)?);
        let parent = row.optional_word(9, |text| RunId::parse(text).ok())?;
        let candidate =
            Candidate { run: run.clone(), parent: parent.clone(), calls, epoch, last_change };
        if row.try_get(6)? {
            going.push(candidate);
            continue;
        }
        let (latest_ms, bytes) = (row.number(2)?, row.number(3)?);
        let (is_held, is_in_doubt) = (row.try_get(1)?, row.try_get(8)?);
        seen.push((RunAge { run, parent, latest_ms, bytes, is_held, is_in_doubt }, candidate));
    }
    Ok(retention.candidates(going, seen))
}

/// Removes a part of a run, unless it was used since it was looked at. One that is not there is gone, whoever removed
/// it.
pub(super) async fn remove(db: &Client, candidate: &Candidate) -> Applied<Removal> {
    let run = &candidate.run;
    let Some(standing) = lease::standing(db, run).await? else { return Ok(Ok(Removal::Done)) };
    if !standing.is_going {
        let latest: i64 = db.query_one(RUN_LATEST, &[&run.as_str()]).await?.try_get(0)?;
        let is_as_seen = standing.holder.is_none()
            && standing.epoch == candidate.epoch
            && latest == candidate.last_change;
        if !is_as_seen {
            return Ok(Ok(Removal::Kept));
        }
        db.execute(RUN_MARK, &[&run.as_str()]).await?;
    }
    remove_part(db, run).await.map(Ok)
}

/// Removes all that is left of a run.
pub(super) async fn remove_rest(db: &Client, run: &RunId) -> Result<(), Trouble> {
    while remove_part(db, run).await? == Removal::Begun {}
    Ok(())
}

async fn remove_part(db: &Client, run: &RunId) -> Result<Removal, Trouble> {
    let some = i64::from(PRUNE_CALLS_MAX);
    let calls = db.execute(CALLS_DELETE, &[&run.as_str(), &some]).await?;
    let snapshots = db.execute(SNAPSHOTS_DELETE, &[&run.as_str(), &some]).await?;
    let parts = db.execute(PARTS_DELETE, &[&run.as_str(), &some]).await?;
    if [calls, snapshots, parts].contains(&u64::from(PRUNE_CALLS_MAX)) {
        return Ok(Removal::Begun);
    }
    // No part is left that belongs to any of them.
    if db.execute(MESSAGES_DELETE, &[&run.as_str(), &some]).await? == u64::from(PRUNE_CALLS_MAX) {
        return Ok(Removal::Begun);
    }
    for text in [SESSION_DELETE, LATE_DELETE, EPOCH_KEEP, RUN_DELETE] {
        db.execute(text, &[&run.as_str()]).await?;
    }
    Ok(Removal::Done)
}

/// Looks at everything, as it is at one moment, in a session that does nothing else.
pub(super) async fn verify(db: &Client) -> Result<Vec<Finding>, Trouble> {
    let mut inspection = Inspection::default();
    db.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    match rows(db, &mut inspection).await {
        Ok(()) => db.batch_execute("COMMIT").await?,
        // What cannot be read is what was looked for; anything else is no finding.
        Err(Trouble::Database(err)) if is_about_content(&err) => {
            inspection.find("the database can be read", super::failure::told(&err));
        }
        Err(trouble) => return Err(trouble),
    }
    Ok(inspection.into_findings())
}

async fn rows(db: &Client, inspection: &mut Inspection) -> Result<(), Trouble> {
    for (what, text) in STRAYS {
        for row in db.query_typed(text, &[]).await? {
            inspection.find("rows belong to runs", format!("there are {what} of {}", row.text(0)?));
        }
    }
    let changes = db.query_typed_one(CHANGES, &[]).await?;
    let (last, greatest): (i64, i64) = (changes.try_get(0)?, changes.try_get(1)?);
    if greatest > last {
        inspection
            .find("changes are counted", format!("the last is {last}, and a call has {greatest}"));
    }
    let runs = format!("SELECT {STANDING_COLUMNS}, settings FROM haft.runs ORDER BY number");
    each_row(db, &runs, inspection, |row, inspection| {
        let run: RunId = row.word(0, |text| RunId::parse(text).ok())?;
        inspection.run(&run, lease::standing_row(row)?, &row.text(9)?);
        Ok(())
    })
    .await?;
    let calls = format!(
        "SELECT {CALL_COLUMNS} FROM haft.calls ORDER BY run, node, iteration, attempt, seq"
    );
    each_row(db, &calls, inspection, |row, inspection| {
        inspection.call(&row::call_row(row)?);
        Ok(())
    })
    .await?;
    let late = format!("SELECT {LATE_COLUMNS} FROM haft.late_outcomes ORDER BY number");
    each_row(db, &late, inspection, |row, inspection| {
        inspection.late_outcome(&row::late_outcome(row)?);
        Ok(())
    })
    .await?;
    chats(db, inspection).await
}

async fn chats(db: &Client, inspection: &mut Inspection) -> Result<(), Trouble> {
    let sessions = format!("SELECT {SESSION_COLUMNS} FROM haft.chat_sessions ORDER BY id");
    each_row(db, &sessions, inspection, |row, inspection| {
        inspection.chat(&chat::session_row(row)?);
        Ok(())
    })
    .await?;
    let messages = format!("SELECT {MESSAGE_COLUMNS} FROM haft.chat_messages ORDER BY id");
    each_row(db, &messages, inspection, |row, inspection| {
        inspection.message(&chat::message_row(row)?);
        Ok(())
    })
    .await?;
    let parts = format!("SELECT {PART_COLUMNS} FROM haft.chat_parts ORDER BY id");
    each_row(db, &parts, inspection, |row, inspection| {
        chat::part_row(row, 0)?.iter().for_each(|part| inspection.part(part));
        Ok(())
    })
    .await
}

/// Shows every row as it comes; one that makes no sense is a finding and not the end.
async fn each_row(
    db: &Client,
    text: &str,
    inspection: &mut Inspection,
    show: impl Fn(&Row, &mut Inspection) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let no_parameters: [(&str, tokio_postgres::types::Type); 0] = [];
    let mut rows = pin!(db.query_typed_raw(text, no_parameters).await?);
    while let Some(row) = rows.try_next().await? {
        match show(&row, inspection) {
            Ok(()) => {}
            Err(Trouble::Senseless(reason)) => inspection.find("rows make sense", reason),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

fn is_about_content(err: &tokio_postgres::Error) -> bool {
    err.code().is_some_and(|code| code.code().starts_with("XX"))
}
