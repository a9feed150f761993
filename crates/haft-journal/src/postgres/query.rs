//! The queries: what is asked for what, each one statement that is planned for its values when it is asked. What rows mean
//! is read elsewhere.

mod chat;

use haft_contract::{CallId, RunId, Scope};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::failure::Trouble;
use super::row::{CALL_COLUMNS, LATE_COLUMNS, SNAPSHOT_COLUMNS};
use super::text::stored;
use crate::limits::QUERY_BYTES_MAX;
use crate::{CallOrder, CallQuery, RunQuery};

/// A question to the database.
#[derive(Clone, Debug)]
pub(super) struct Query {
    text: String,
    parameters: Vec<Value>,
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(i64),
}

/// How much the texts of a call hold. Nothing has to be unpacked to know it.
pub(super) const CALL_BYTES: &str = "\
octet_length(input) + octet_length(accesses) + coalesce(octet_length(details), 0) + coalesce(octet_length(envelope), 0)";

/// The columns of a run as `row::run_row` reads them. The counts are made when they are asked for: keeping them would
/// cost every call a write for the sake of a list that is looked at now and then. The runs are picked first, so that
/// only their calls are counted.
const RUN_COLUMNS: &str = "\
run.id, run.epoch, run.owner_id, run.owner_place, run.held_since_ms, run.lease_expires_at_ms, run.front_end, run.root, \
run.version, run.settings, run.started_at_ms, max(call.started_at_ms), count(call.change), \
count(*) FILTER (WHERE call.status = 'failed'), count(*) FILTER (WHERE call.status = 'refused'), \
count(*) FILTER (WHERE call.status = 'intended'), count(*) FILTER (WHERE call.status = 'unknown')";

/// Whether a call was refused for now; quotes inside of texts are escaped, so that none is taken for this.
const IS_HELD_BACK: &str =
    "(status = 'refused' AND position('\"held_back\":true' in envelope) > 0)";

/// Whether the driver never heard how a call ended.
const IS_UNHEARD: &str = "(effect = 'once' AND NOT heard AND (status = 'unknown' AND envelope IS NULL OR verdict IS NOT NULL))";

const IN_ATTEMPT: &str = "run = $1 AND node = $2 AND iteration = $3 AND attempt = $4";

impl Query {
    /// Asks in a session.
    pub(super) async fn ask(&self, db: &Client) -> Result<Vec<Row>, Trouble> {
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> = self
            .parameters
            .iter()
            .map(|value| match value {
                Value::Text(text) => (text as &(dyn ToSql + Sync), Type::TEXT),
                Value::Number(number) => (number as &(dyn ToSql + Sync), Type::INT8),
            })
            .collect();
        Ok(db.query_typed(&self.text, &parameters).await?)
    }

    /// Asks for each first key of an attempt, the keys of the calls that share it, the greatest number, and how many were held
    /// back and are unheard of.
    pub(super) fn attempt(scope: &Scope) -> Self {
        let text = format!(
            "SELECT first_key, string_agg(DISTINCT call_key, ',' ORDER BY call_key) FILTER (WHERE NOT coalesce({IS_HELD_BACK}, false)), max(seq), \
             count(*) FILTER (WHERE {IS_HELD_BACK}), count(*) FILTER (WHERE {IS_UNHEARD}) \
             FROM haft.calls WHERE {IN_ATTEMPT} GROUP BY first_key"
        );
        Self { text, parameters: place(scope) }
    }

    /// Asks for the calls of an attempt whose driver never heard how they ended.
    pub(super) fn unheard(scope: &Scope) -> Self {
        let text = format!(
            "SELECT first_key, call_key, seq FROM (\
             SELECT DISTINCT ON (call_key) first_key, call_key, seq, {IS_UNHEARD} AS is_unheard FROM haft.calls \
             WHERE {IN_ATTEMPT} AND NOT coalesce({IS_HELD_BACK}, false) ORDER BY call_key, seq DESC) AS latest \
             WHERE is_unheard ORDER BY seq"
        );
        Self { text, parameters: place(scope) }
    }

    /// Asks for all calls of an attempt in short.
    pub(super) fn recorded(scope: &Scope) -> Self {
        let text = format!(
            "SELECT seq, call_key, effect, status, verdict FROM haft.calls WHERE {IN_ATTEMPT} \
             AND NOT coalesce({IS_HELD_BACK}, false) ORDER BY seq"
        );
        Self { text, parameters: place(scope) }
    }

    /// Asks for the latest call of an attempt that its driver named so.
    pub(super) fn by_driver_id(scope: &Scope, driver_call_id: &str) -> Self {
        let text = format!(
            "SELECT {CALL_COLUMNS} FROM haft.calls WHERE {IN_ATTEMPT} AND driver_call_id = $5 ORDER BY seq DESC LIMIT 1"
        );
        let mut parameters = place(scope);
        parameters.push(text_value(driver_call_id));
        Self { text, parameters }
    }

    /// Asks for the `once` calls of earlier attempts.
    pub(super) fn earlier_effects(scope: &Scope) -> Self {
        let text = "SELECT tool, attempt, seq, status, call_key, verdict, left(input, 200) FROM haft.calls \
             WHERE run = $1 AND node = $2 AND iteration = $3 AND attempt < $4 AND effect = 'once' AND status <> 'refused' \
             AND verdict IS DISTINCT FROM 'not_happened' \
             ORDER BY attempt, seq";
        Self { text: text.to_owned(), parameters: place(scope) }
    }

    /// Asks for the snapshots of a run.
    pub(super) fn snapshots_of_run(run: &RunId) -> Self {
        let text =
            format!("SELECT {SNAPSHOT_COLUMNS} FROM haft.snapshots WHERE run = $1 ORDER BY number");
        Self { text, parameters: vec![text_value(run.as_str())] }
    }

    /// Asks for the snapshots of a call.
    pub(super) fn snapshots_of_call(call: &CallId) -> Self {
        let text = format!(
            "SELECT {SNAPSHOT_COLUMNS} FROM haft.snapshots WHERE {IN_ATTEMPT} AND seq = $5 ORDER BY number"
        );
        let mut parameters = place(&call.scope);
        parameters.push(Value::Number(i64::from(call.seq)));
        Self { text, parameters }
    }

    /// Asks for the outcomes of a run that came too late.
    pub(super) fn late_outcomes(run: &RunId) -> Self {
        let text =
            format!("SELECT {LATE_COLUMNS} FROM haft.late_outcomes WHERE run = $1 ORDER BY number");
        Self { text, parameters: vec![text_value(run.as_str())] }
    }

    /// Asks who holds which run.
    pub(super) fn holders() -> Self {
        let text = "SELECT id, epoch, owner_id, owner_place, held_since_ms, lease_expires_at_ms FROM haft.runs \
             WHERE owner_id IS NOT NULL ORDER BY number";
        Self { text: text.to_owned(), parameters: Vec::new() }
    }

    /// Asks for calls, no more than hold the bytes of one answer: the row that crosses that bound is the last.
    pub(super) fn calls(query: &CallQuery) -> Self {
        // The index that follows a run is of this expression: see the schema.
        let (order, of_run) = match query.order {
            CallOrder::Place => ("run, node, iteration, attempt, seq", "run ="),
            CallOrder::Change => ("change", "run || '' ="),
            CallOrder::Latest => ("change DESC", "run || '' ="),
        };
        let number = |number: u32| Value::Number(i64::from(number));
        let change = |change: u64| Value::Number(i64::try_from(change).unwrap_or(i64::MAX));
        let conditions = [
            query.run.as_ref().map(|run| (of_run, text_value(run.as_str()))),
            query.node.as_deref().map(|node| ("node =", text_value(node))),
            query.iteration.map(|iteration| ("iteration =", number(iteration))),
            query.attempt.map(|attempt| ("attempt =", number(attempt))),
            query.seq.map(|seq| ("seq =", number(seq))),
            query.after_change.map(|after| ("change >", change(after))),
        ];
        let (mut filter, mut parameters) = (String::from("true"), Vec::new());
        for (condition, value) in conditions.into_iter().flatten() {
            parameters.push(value);
            filter.push_str(&format!(" AND {condition} ${}", parameters.len()));
        }
        parameters.push(number(query.rows_max()));
        let limit = parameters.len();
        let text = format!(
            "SELECT {CALL_COLUMNS} FROM (\
             SELECT *, sum(bytes) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM (\
             SELECT *, {CALL_BYTES} AS bytes FROM haft.calls WHERE {filter} ORDER BY {order} LIMIT ${limit}\
             ) AS found) AS measured WHERE bytes_before < {QUERY_BYTES_MAX} ORDER BY {order}"
        );
        Self { text, parameters }
    }

    /// Asks for runs.
    pub(super) fn runs(query: &RunQuery) -> Self {
        let mut parameters = vec![Value::Number(i64::from(query.rows_max()))];
        let mut filter = String::new();
        if let Some(run) = &query.run {
            parameters.push(text_value(run.as_str()));
            filter.push_str("AND id = $2 ");
        }
        if let Some(run) = &query.before {
            parameters.push(text_value(run.as_str()));
            let number = parameters.len();
            filter.push_str(&format!(
                "AND number < (SELECT number FROM haft.runs WHERE id = ${number}) "
            ));
        }
        let text = format!(
            "SELECT {RUN_COLUMNS} FROM \
             (SELECT * FROM haft.runs WHERE NOT is_going {filter}ORDER BY number DESC LIMIT $1) AS run \
             LEFT JOIN haft.calls AS call ON call.run = run.id \
             GROUP BY run.number, {} ORDER BY run.number DESC",
            "run.id, run.epoch, run.owner_id, run.owner_place, run.held_since_ms, run.lease_expires_at_ms, \
             run.front_end, run.root, run.version, run.settings, run.started_at_ms"
        );
        Self { text, parameters }
    }

    /// Asks what decides whether a run may go, for every run. What is said in a chat is asked for apart: beside its calls, each
    /// part would be counted as often as there are calls.
    pub(super) fn ages() -> Self {
        let said_bytes = format!(
            "(SELECT sum({}) FROM haft.chat_parts AS part WHERE part.session_id = run.id)",
            chat::PART_BYTES
        );
        let text = format!(
            "SELECT run.id, run.owner_id IS NOT NULL, \
             greatest(run.started_at_ms, max(call.started_at_ms), max(call.finished_at_ms), chat.updated_at_ms), \
             (coalesce(sum({CALL_BYTES}), 0) + coalesce({said_bytes}, 0))::bigint, coalesce(max(call.change), 0), \
             run.epoch, run.is_going, count(call.change), \
             coalesce(bool_or(call.status = 'unknown' AND verdict IS NULL AND effect = 'once'), false), chat.parent_id \
             FROM haft.runs AS run LEFT JOIN haft.calls AS call ON call.run = run.id \
             LEFT JOIN haft.chat_sessions AS chat ON chat.id = run.id GROUP BY run.number, chat.id ORDER BY run.number"
        );
        Self { text, parameters: Vec::new() }
    }
}

fn place(scope: &Scope) -> Vec<Value> {
    let Scope { run, node, iteration, attempt } = scope;
    vec![
        text_value(run.as_str()),
        text_value(node),
        Value::Number(i64::from(*iteration)),
        Value::Number(i64::from(*attempt)),
    ]
}

fn text_value(text: &str) -> Value {
    Value::Text(stored(text).into_owned())
}
