//! The statements about who has a run. Who may take it from whom is decided by `crate::lease`, with the server's clock: the
//! machines that share a journal need not agree on the time.

use haft_contract::{CallId, RunId, Scope};
use tokio_postgres::{Client, Row};

use super::action::Applied;
use super::batch::{Pass, integer};
use super::failure::Trouble;
use super::row::{Columns as _, holder};
use super::text::stored;
use super::upkeep;
use crate::lease::Standing;
use crate::limits::RESUMES_MAX;
use crate::{Claim, Holder, JournalError, Lease, NewRun, Owner};

pub(super) const STANDING_COLUMNS: &str = "\
id, epoch, owner_id, owner_place, held_since_ms, lease_expires_at_ms, fruitless, fruitless_since, is_going";

const RUN_INSERT: &str = "\
INSERT INTO haft.runs (id, front_end, root, version, started_at_ms, settings, epoch) \
VALUES ($1, $2, $3, $4, $5, $6, (SELECT epoch_floor FROM haft.changes WHERE id = 1))";

const RUN_TAKE: &str = "\
UPDATE haft.runs SET epoch = $1, owner_id = $2, owner_place = $3, held_since_ms = $4, lease_expires_at_ms = $5 \
WHERE id = $6";

const RUN_EXTEND: &str = "UPDATE haft.runs SET lease_expires_at_ms = $1 WHERE id = $2";

const RUN_FREE: &str = "\
UPDATE haft.runs SET owner_id = NULL, owner_place = NULL, held_since_ms = NULL, lease_expires_at_ms = NULL \
WHERE id = $1";

const RUN_FRUITLESS: &str =
    "UPDATE haft.runs SET fruitless = $1, fruitless_since = $2 WHERE id = $3";

const CALLS_LEAVE: &str = "\
WITH open AS MATERIALIZED (\
SELECT change, node, iteration, attempt, seq, row_number() OVER (ORDER BY node, iteration, attempt, seq) AS place \
FROM haft.calls WHERE run = $1 AND status = 'intended'\
), left_open AS (\
UPDATE haft.calls SET status = 'unknown', change = (SELECT last FROM haft.changes WHERE id = 1) + open.place \
FROM open WHERE calls.change = open.change RETURNING calls.change\
), counted AS (\
UPDATE haft.changes SET last = (SELECT max(change) FROM left_open) \
WHERE id = 1 AND EXISTS (SELECT FROM left_open)\
) SELECT node, iteration, attempt, seq FROM open ORDER BY place";

/// What an owner left open, as long as nobody said what became of it.
const CALLS_LEFT: &str = "\
SELECT node, iteration, attempt, seq FROM haft.calls \
WHERE run = $1 AND epoch = $2 AND status = 'unknown' AND envelope IS NULL ORDER BY node, iteration, attempt, seq";

/// What a probe found out is no step ahead: the call that kills each owner is found not to have happened each time.
const PROGRESS: &str = "\
SELECT EXISTS (SELECT FROM haft.calls WHERE run || '' = $1 AND change > $2 \
AND status IN ('succeeded', 'failed', 'refused') AND settled_by IS NULL)";

/// Whoever had a chat open in which no turn was under way died of nothing that it did.
const CHAT_RESTS: &str =
    "SELECT EXISTS (SELECT FROM haft.chat_sessions WHERE id = $1 AND status <> 'running')";

const LAST_OPEN: &str = "\
SELECT node, iteration, attempt, seq FROM haft.calls \
WHERE run || '' = $1 AND change > $2 AND status = 'unknown' ORDER BY change DESC LIMIT 1";

const LAST_CHANGE: &str = "SELECT last FROM haft.changes WHERE id = 1";

const CLOCK: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Takes a run for the claim's owner. Done twice, it finds the lease that it made.
pub(super) async fn open(db: &Client, run: &NewRun, claim: &Claim) -> Applied<Lease> {
    let claim = &by_the_servers_clock(db, claim).await?;
    let mut standing = match standing(db, &run.id).await? {
        Some(standing) if standing.is_going => {
            upkeep::remove_rest(db, &run.id).await?;
            insert(db, run).await?
        }
        Some(standing) => standing,
        None => insert(db, run).await?,
    };
    if let Some(holder) = standing.holder.clone() {
        if holder.owner.id == claim.owner.id {
            extend(db, &run.id, claim).await?;
            return Ok(Ok(Lease { run: holder.run, epoch: holder.epoch, owner: holder.owner }));
        }
        if !holder.is_over(claim.now_ms) {
            return Ok(Err(JournalError::Held { holder: Box::new(holder) }));
        }
        give_up(db, &run.id, &mut standing).await?;
    }
    if standing.fruitless >= RESUMES_MAX {
        return stuck(db, &run.id, &standing).await.map(Err);
    }
    take(db, &run.id, standing.epoch + 1, claim).await.map(Ok)
}

/// Holds a run for longer.
pub(super) async fn renew(db: &Client, lease: &Lease, claim: &Claim) -> Applied<()> {
    let claim = by_the_servers_clock(db, claim).await?;
    match admitted(db, lease).await? {
        Ok(_) => extend(db, &lease.run, &claim).await.map(Ok),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// Returns what the run's row says, if the run is held under this very lease.
pub(super) async fn admitted(db: &Client, lease: &Lease) -> Applied<Standing> {
    Ok(match standing(db, &lease.run).await? {
        Some(standing) => standing.admit_lease(lease).map(|()| standing),
        None => Err(JournalError::UnknownRun { run: lease.run.clone() }),
    })
}

/// Gives a run back. A run that is free under the same epoch, after a session broke, was given back by what was sent in
/// it.
pub(super) async fn close(db: &Client, lease: &Lease, pass: Pass) -> Applied<()> {
    let Some(standing) = standing(db, &lease.run).await? else {
        return Ok(Err(JournalError::UnknownRun { run: lease.run.clone() }));
    };
    if pass == Pass::Again && standing.holder.is_none() && standing.epoch == lease.epoch {
        return Ok(Ok(()));
    }
    if let Err(refusal) = standing.admit_lease(lease) {
        return Ok(Err(refusal));
    }
    leave_open_calls(db, &lease.run).await?;
    free(db, &lease.run).await.map(Ok)
}

/// Takes a run from an owner that is gone, and returns what is in doubt because of that. A run that is free under the
/// same epoch, after a session broke, was taken by what was sent in it, or by somebody else to the same end.
pub(super) async fn abandon(db: &Client, holder: &Holder, pass: Pass) -> Applied<Vec<CallId>> {
    let run = &holder.run;
    let Some(mut standing) = standing(db, run).await? else { return Ok(Ok(Vec::new())) };
    if pass == Pass::Again && standing.holder.is_none() && standing.epoch == holder.epoch {
        let rows = db.query(CALLS_LEFT, &[&run.as_str(), &integer(holder.epoch)?]).await?;
        return call_ids(&rows, run).map(Ok);
    }
    if standing.holder.as_ref() != Some(holder) {
        return Ok(Ok(Vec::new()));
    }
    give_up(db, run, &mut standing).await.map(Ok)
}

/// Returns what the run's row says about who may advance it, `None` if there is none.
pub(super) async fn standing(db: &Client, run: &RunId) -> Result<Option<Standing>, Trouble> {
    let text = format!("SELECT {STANDING_COLUMNS} FROM haft.runs WHERE id = $1");
    let row = db.query_opt(&text, &[&run.as_str()]).await?;
    row.as_ref().map(standing_row).transpose()
}

/// Reads the columns that say who may advance a run.
pub(super) fn standing_row(row: &Row) -> Result<Standing, Trouble> {
    Ok(Standing {
        epoch: row.number(1)?,
        holder: holder(row, 0)?,
        fruitless: row.number(6)?,
        fruitless_since: row.number(7)?,
        is_going: row.try_get(8)?,
    })
}

async fn by_the_servers_clock(db: &Client, claim: &Claim) -> Result<Claim, Trouble> {
    let row = db.query_typed_one(CLOCK, &[]).await?;
    Ok(Claim { now_ms: row.number(0)?, ..claim.clone() })
}

async fn insert(db: &Client, run: &NewRun) -> Result<Standing, Trouble> {
    let NewRun { id, front_end, root, started_at_ms, version, settings } = run;
    let started_at_ms = integer(*started_at_ms)?;
    let [front_end, root, version, settings] =
        [front_end, root, version, settings].map(|text| stored(text));
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&id.as_str(), &front_end, &root, &version, &started_at_ms, &settings];
    db.execute(RUN_INSERT, &parameters).await?;
    Ok(standing(db, id).await?.unwrap_or_default())
}

async fn take(db: &Client, run: &RunId, epoch: u64, claim: &Claim) -> Result<Lease, Trouble> {
    let Owner { id, place } = &claim.owner;
    let (now_ms, expires_at_ms) = (integer(claim.now_ms)?, integer(claim.expires_at_ms())?);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&integer(epoch)?, &stored(id), &stored(place), &now_ms, &expires_at_ms, &run.as_str()];
    db.execute(RUN_TAKE, &parameters).await?;
    Ok(Lease { run: run.clone(), epoch, owner: claim.owner.clone() })
}

async fn extend(db: &Client, run: &RunId, claim: &Claim) -> Result<(), Trouble> {
    let expires_at_ms = integer(claim.expires_at_ms())?;
    db.execute(RUN_EXTEND, &[&expires_at_ms, &run.as_str()]).await?;
    Ok(())
}

async fn free(db: &Client, run: &RunId) -> Result<(), Trouble> {
    db.execute(RUN_FREE, &[&run.as_str()]).await?;
    Ok(())
}

/// Frees a run whose owner died, and counts whether that owner got any further than the ones before, if it did anything.
async fn give_up(
    db: &Client,
    run: &RunId,
    standing: &mut Standing,
) -> Result<Vec<CallId>, Trouble> {
    if !db.query_one(CHAT_RESTS, &[&run.as_str()]).await?.try_get::<_, bool>(0)? {
        count_death(db, run, standing).await?;
    }
    standing.holder = None;
    let calls = leave_open_calls(db, run).await?;
    free(db, run).await?;
    Ok(calls)
}

async fn count_death(db: &Client, run: &RunId, standing: &mut Standing) -> Result<(), Trouble> {
    let since = integer(standing.fruitless_since)?;
    let progress = db.query_one(PROGRESS, &[&run.as_str(), &since]).await?;
    let last_change = db.query_one(LAST_CHANGE, &[]).await?;
    standing.count_death(progress.try_get(0)?, last_change.number(0)?);
    let (fruitless, since) = (i64::from(standing.fruitless), integer(standing.fruitless_since)?);
    db.execute(RUN_FRUITLESS, &[&fruitless, &since, &run.as_str()]).await?;
    Ok(())
}

async fn leave_open_calls(db: &Client, run: &RunId) -> Result<Vec<CallId>, Trouble> {
    call_ids(&db.query(CALLS_LEAVE, &[&run.as_str()]).await?, run)
}

async fn stuck(db: &Client, run: &RunId, standing: &Standing) -> Result<JournalError, Trouble> {
    let since = integer(standing.fruitless_since)?;
    let rows = db.query(LAST_OPEN, &[&run.as_str(), &since]).await?;
    let last = call_ids(&rows, run)?.pop();
    Ok(JournalError::Stuck { run: run.clone(), times: standing.fruitless, last })
}

fn call_ids(rows: &[Row], run: &RunId) -> Result<Vec<CallId>, Trouble> {
    rows.iter()
        .map(|row| {
            let (iteration, attempt) = (row.number(1)?, row.number(2)?);
            let scope = Scope { run: run.clone(), node: row.text(0)?, iteration, attempt };
            Ok(CallId { scope, seq: row.number(3)? })
        })
        .collect()
}
