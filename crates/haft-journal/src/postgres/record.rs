//! The statements about single calls that come now and then: what became of one in doubt, and which snapshots belong to
//! one. They run inside a transaction that the writer opens and commits.

use haft_contract::{CallId, Scope};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use super::action::Applied;
use super::batch::{Pass, integer};
use super::lease;
use super::query::Query;
use super::row;
use super::text::stored;
use crate::entry::envelope_json;
use crate::{CallQuery, CallRow, JournalError, SettledBy, Settlement, SnapshotNote, Status};

const NEXT_CHANGE: &str = "UPDATE haft.changes SET last = last + 1 WHERE id = 1 RETURNING last";

const CALL_HEAR: &str = "\
UPDATE haft.calls SET heard = true WHERE run = $1 AND node = $2 AND iteration = $3 AND attempt = $4 AND seq = $5";

const CALL_RESOLVE: &str = "\
UPDATE haft.calls SET change = $1, status = $2, verdict = $3, settled_by = $4, finished_at_ms = $5, envelope = $6 \
WHERE change = $7";

pub(super) const FRUITLESS_RESET: &str = "UPDATE haft.runs SET fruitless = 0 WHERE id = $1";

const SNAPSHOT_UPSERT: &str = "\
INSERT INTO haft.snapshots (run, node, iteration, attempt, seq, root, before, after, note, taken_at_ms) \
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
ON CONFLICT (run, node, iteration, attempt, seq, root) DO UPDATE SET \
before = excluded.before, after = excluded.after, note = excluded.note, taken_at_ms = excluded.taken_at_ms";

/// Records that the driver was told what became of a call.
pub(super) async fn hear(db: &Client, call: &CallId) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &call.scope;
    let (iteration, attempt) = (i64::from(*iteration), i64::from(*attempt));
    let (run, seq) = (run.as_str(), i64::from(call.seq));
    let place: [&(dyn ToSql + Sync); 5] = [&run, &stored(node), &iteration, &attempt, &seq];
    let heard = db.execute(CALL_HEAR, &place).await?;
    Ok(if heard == 1 { Ok(()) } else { Err(JournalError::UnknownCall { call: call.clone() }) })
}

/// Writes what became of a call in doubt. A row that says so already, after a session broke, is the one that was
/// written in it.
pub(super) async fn resolve(db: &Client, settlement: &Settlement, pass: Pass) -> Applied<CallRow> {
    let call = &settlement.call;
    let rows = Query::calls(&CallQuery::of_call(call.clone())).ask(db).await?;
    let Some(row) = rows.first() else {
        return Ok(Err(JournalError::UnknownCall { call: call.clone() }));
    };
    let mut row = row::call_row(row)?;
    let mut resolved = row.clone();
    resolved.resolve(settlement, row.change);
    if pass == Pass::Again && resolved == row {
        return Ok(Ok(row));
    }
    if row.status != Status::Unknown {
        return Ok(Err(JournalError::NotInDoubt { call: call.clone(), status: row.status }));
    }
    let old_change = integer(row.change)?;
    let next_change: i64 = db.query_one(NEXT_CHANGE, &[]).await?.try_get(0)?;
    row.resolve(settlement, u64::try_from(next_change).unwrap_or_default());
    let (settled_at_ms, envelope) =
        (integer(settlement.settled_at_ms)?, envelope_json(&settlement.envelope));
    let parameters: [&(dyn ToSql + Sync); 7] = [
        &next_change,
        &row.status.as_str(),
        &settlement.verdict.as_str(),
        &settlement.by.as_str(),
        &settled_at_ms,
        &stored(&envelope),
        &old_change,
    ];
    db.execute(CALL_RESOLVE, &parameters).await?;
    if settlement.by == SettledBy::Operator {
        db.execute(FRUITLESS_RESET, &[&call.scope.run.as_str()]).await?;
    }
    Ok(Ok(row))
}

/// Writes which snapshots belong to a call. Done twice, it is done once.
pub(super) async fn note_snapshot(db: &Client, note: &SnapshotNote) -> Applied<()> {
    let Scope { run, node, iteration, attempt } = &note.call.scope;
    if lease::standing(db, run).await?.is_none_or(|standing| standing.is_going) {
        return Ok(Err(JournalError::UnknownRun { run: run.clone() }));
    }
    let optional = |text: &'_ Option<String>| text.as_deref().map(|text| stored(text).into_owned());
    let parameters: [&(dyn ToSql + Sync); 10] = [
        &run.as_str(),
        &stored(node),
        &i64::from(*iteration),
        &i64::from(*attempt),
        &i64::from(note.call.seq),
        &stored(&note.root),
        &optional(&note.before),
        &optional(&note.after),
        &optional(&note.note),
        &integer(note.taken_at_ms)?,
    ];
    db.execute(SNAPSHOT_UPSERT, &parameters).await?;
    Ok(Ok(()))
}
