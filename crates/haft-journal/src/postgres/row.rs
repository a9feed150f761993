//! From PostgreSQL's rows to the journal's. What they hold may have been changed by others, so a value that makes no sense
//! is an error that names its column, never a panic.

use haft_contract::{CallId, RunId, Scope};
use tokio_postgres::Row;

use super::failure::Trouble;
use super::text::restored;
use crate::row::parse_effect;
use crate::{
    CallRow, EarlierEffect, Holder, LateOutcome, Owner, RecordedCall, RunRow, SettledBy,
    SnapshotNote, Status, UnheardCall, Verdict,
};

pub(super) const CALL_COLUMNS: &str = "\
change, run, node, iteration, attempt, seq, tool, effect, status, started_at_ms, finished_at_ms, \
first_key, call_key, driver_call_id, input, accesses, epoch, details, envelope, verdict, settled_by";

pub(super) const LATE_COLUMNS: &str =
    "run, node, iteration, attempt, seq, tool, epoch, status, envelope, finished_at_ms";

pub(super) const SNAPSHOT_COLUMNS: &str =
    "run, node, iteration, attempt, seq, root, before, after, note, taken_at_ms";

/// How columns are read.
pub(super) trait Columns {
    /// Returns a text as it was before it was stored.
    fn text(&self, column: usize) -> Result<String, Trouble>;
    fn optional_text(&self, column: usize) -> Result<Option<String>, Trouble>;
    fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Trouble>;
    fn optional_number<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, Trouble>;
    /// Returns what a word of a closed list stands for.
    fn word<T>(&self, column: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T, Trouble>;
    fn optional_word<T>(
        &self,
        column: usize,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Trouble>;
}

impl Columns for Row {
    fn text(&self, column: usize) -> Result<String, Trouble> {
        Ok(restored(self.try_get(column)?))
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, Trouble> {
        Ok(self.try_get::<_, Option<String>>(column)?.map(restored))
    }

    fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, Trouble> {
        let value: i64 = self.try_get(column)?;
        T::try_from(value).map_err(|_| senseless(self, column, value))
    }

    fn optional_number<T: TryFrom<i64>>(&self, column: usize) -> Result<Option<T>, Trouble> {
        match self.try_get::<_, Option<i64>>(column)? {
            Some(_) => self.number(column).map(Some),
            None => Ok(None),
        }
    }

    fn word<T>(&self, column: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T, Trouble> {
        let text: &str = self.try_get(column)?;
        parse(text).ok_or_else(|| senseless(self, column, text))
    }

    fn optional_word<T>(
        &self,
        column: usize,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Trouble> {
        match self.try_get::<_, Option<&str>>(column)? {
            Some(_) => self.word(column, parse).map(Some),
            None => Ok(None),
        }
    }
}

fn senseless(row: &Row, column: usize, found: impl std::fmt::Debug) -> Trouble {
    let name = row.columns().get(column).map_or("?", tokio_postgres::Column::name);
    Trouble::Senseless(format!(
        "column {name} holds {found:?}, of which this haft can make no sense"
    ))
}

/// Reads the row of a call from [`CALL_COLUMNS`].
pub(super) fn call_row(row: &Row) -> Result<CallRow, Trouble> {
    let CallId { scope, seq } = call_id(row, 1)?;
    Ok(CallRow {
        change: row.number(0)?,
        scope,
        seq,
        tool: row.text(6)?,
        effect: row.word(7, parse_effect)?,
        status: row.word(8, Status::parse)?,
        started_at_ms: row.number(9)?,
        finished_at_ms: row.optional_number(10)?,
        first_key: row.text(11)?,
        call_key: row.text(12)?,
        driver_call_id: row.optional_text(13)?,
        input: row.text(14)?,
        accesses: row.text(15)?,
        epoch: row.number(16)?,
        details: row.optional_text(17)?,
        envelope: row.optional_text(18)?,
        verdict: row.optional_word(19, Verdict::parse)?,
        settled_by: row.optional_word(20, SettledBy::parse)?,
    })
}

/// What an attempt holds of one first key.
pub(super) struct AttemptGroup {
    pub(super) first_key: String,
    pub(super) keys: Vec<String>,
    pub(super) last_seq: u32,
    pub(super) held_back: u32,
    pub(super) unheard: u32,
}

/// Reads what an attempt holds of one first key.
pub(super) fn attempt_group(row: &Row) -> Result<AttemptGroup, Trouble> {
    let joined = row.optional_text(1)?;
    Ok(AttemptGroup {
        first_key: row.text(0)?,
        keys: joined.iter().flat_map(|keys| keys.split(',')).map(str::to_owned).collect(),
        last_seq: row.number(2)?,
        held_back: row.number(3)?,
        unheard: row.number(4)?,
    })
}

/// Reads a call whose driver never heard how it ended: its keys and its number.
pub(super) fn unheard_call(row: &Row) -> Result<UnheardCall, Trouble> {
    Ok(UnheardCall { first_key: row.text(0)?, call_key: row.text(1)?, seq: row.number(2)? })
}

/// Reads a call in short: its number, key, effect, status and verdict.
pub(super) fn recorded_call(row: &Row) -> Result<RecordedCall, Trouble> {
    Ok(RecordedCall {
        seq: row.number(0)?,
        call_key: row.text(1)?,
        effect: row.word(2, parse_effect)?,
        status: row.word(3, Status::parse)?,
        verdict: row.optional_word(4, Verdict::parse)?,
    })
}

/// Reads a call of an earlier attempt: its tool, attempt, number, status, key and verdict.
pub(super) fn earlier_effect(row: &Row) -> Result<EarlierEffect, Trouble> {
    Ok(EarlierEffect {
        tool: row.text(0)?,
        attempt: row.number(1)?,
        seq: row.number(2)?,
        status: row.word(3, Status::parse)?,
        call_key: row.text(4)?,
        verdict: row.optional_word(5, Verdict::parse)?,
        input: row.text(6)?,
    })
}

/// Reads a late outcome from [`LATE_COLUMNS`].
pub(super) fn late_outcome(row: &Row) -> Result<LateOutcome, Trouble> {
    Ok(LateOutcome {
        call: call_id(row, 0)?,
        tool: row.text(5)?,
        epoch: row.number(6)?,
        status: row.word(7, Status::parse)?,
        envelope: row.text(8)?,
        finished_at_ms: row.number(9)?,
    })
}

/// Reads the note of a snapshot from [`SNAPSHOT_COLUMNS`].
pub(super) fn snapshot_note(row: &Row) -> Result<SnapshotNote, Trouble> {
    Ok(SnapshotNote {
        call: call_id(row, 0)?,
        root: row.text(5)?,
        before: row.optional_text(6)?,
        after: row.optional_text(7)?,
        note: row.optional_text(8)?,
        taken_at_ms: row.number(9)?,
    })
}

/// Reads a run: its holder's columns, its own, and what is counted of its calls.
pub(super) fn run_row(row: &Row) -> Result<RunRow, Trouble> {
    Ok(RunRow {
        id: row.word(0, |text| RunId::parse(text).ok())?,
        holder: holder(row, 0)?,
        front_end: row.text(6)?,
        root: row.text(7)?,
        version: row.text(8)?,
        settings: row.text(9)?,
        started_at_ms: row.number(10)?,
        last_call_at_ms: row.optional_number(11)?,
        calls: row.number(12)?,
        failed: row.number(13)?,
        refused: row.number(14)?,
        intended: row.number(15)?,
        unknown: row.number(16)?,
    })
}

/// Reads a holder from six columns: the run, its epoch, and the four of the lease.
pub(super) fn holder(row: &Row, first: usize) -> Result<Option<Holder>, Trouble> {
    let Some(id) = row.optional_text(first + 2)? else { return Ok(None) };
    Ok(Some(Holder {
        run: row.word(first, |text| RunId::parse(text).ok())?,
        epoch: row.number(first + 1)?,
        owner: Owner { id, place: row.text(first + 3)? },
        since_ms: row.number(first + 4)?,
        expires_at_ms: row.number(first + 5)?,
    }))
}

/// Reads which call it is from five columns.
fn call_id(row: &Row, first: usize) -> Result<CallId, Trouble> {
    let scope = Scope {
        run: row.word(first, |text| RunId::parse(text).ok())?,
        node: row.text(first + 1)?,
        iteration: row.number(first + 2)?,
        attempt: row.number(first + 3)?,
    };
    Ok(CallId { scope, seq: row.number(first + 4)? })
}
