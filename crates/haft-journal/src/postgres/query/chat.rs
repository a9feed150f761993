//! The queries for chats.

use super::{Query, Value, text_value};
use crate::limits::QUERY_BYTES_MAX;
use crate::postgres::chat::{MESSAGE_COLUMNS, PART_COLUMNS, SESSION_COLUMNS};
use crate::{ChatId, ChatQuery, MessageQuery};

/// How much a part holds. Nothing has to be unpacked to know it.
pub(super) const PART_BYTES: &str = "\
coalesce(octet_length(part.text), 0) + coalesce(octet_length(part.input_json), 0) \
+ coalesce(octet_length(part.output_json), 0) + coalesce(octet_length(part.signatures_json), 0)";

/// Whether the run of a session is not being removed.
const IS_STAYING: &str =
    "NOT EXISTS (SELECT FROM haft.runs WHERE runs.id = session.id AND runs.is_going)";

impl Query {
    /// Asks for one chat.
    pub(in crate::postgres) fn chat(id: &ChatId) -> Self {
        let text = format!(
            "SELECT {SESSION_COLUMNS} FROM haft.chat_sessions AS session WHERE id = $1 AND {IS_STAYING}"
        );
        Self { text, parameters: vec![text_value(id.as_str())] }
    }

    /// Asks for chats.
    pub(in crate::postgres) fn chats(query: &ChatQuery) -> Self {
        let conditions = [
            query.parent.as_ref().map(|parent| ("parent_id =", parent.as_str())),
            query.before.as_ref().map(|before| ("id <", before.as_str())),
            query.root.as_deref().map(|root| ("root =", root)),
        ];
        let mut parameters = vec![Value::Number(i64::from(query.rows_max()))];
        let mut filter = String::from(IS_STAYING);
        for (condition, text) in conditions.into_iter().flatten() {
            parameters.push(text_value(text));
            filter.push_str(&format!(" AND {condition} ${}", parameters.len()));
        }
        if query.only_top {
            filter.push_str(" AND parent_id IS NULL");
        }
        if !query.with_opaque {
            filter.push_str(" AND inspectable");
        }
        let text = format!(
            "SELECT {SESSION_COLUMNS} FROM haft.chat_sessions AS session WHERE {filter} ORDER BY id DESC LIMIT $1"
        );
        Self { text, parameters }
    }

    /// Asks for messages with their parts, no more than hold the bytes of one answer: the message that crosses that bound is
    /// the last.
    pub(in crate::postgres) fn messages(chat: &ChatId, query: &MessageQuery) -> Self {
        let after = query.after.as_ref().map_or("", |after| after.as_str());
        let filter = if query.with_rewound { "" } else { "AND rewound_at_ms IS NULL " };
        let text = format!(
            "SELECT {}, {} FROM (\
             SELECT *, sum(bytes) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM (\
             SELECT *, coalesce(octet_length(error), 0) + coalesce((SELECT sum({PART_BYTES}) \
             FROM haft.chat_parts AS part WHERE part.message_id = message.id), 0) AS bytes \
             FROM haft.chat_messages AS message WHERE session_id = $1 AND id > $2 {filter}\
             AND NOT EXISTS (SELECT FROM haft.runs WHERE runs.id = $1 AND runs.is_going) ORDER BY id LIMIT $3\
             ) AS found) AS message LEFT JOIN haft.chat_parts AS part ON part.message_id = message.id \
             WHERE bytes_before < {QUERY_BYTES_MAX} ORDER BY message.id, part.id",
            of("message", MESSAGE_COLUMNS),
            of("part", PART_COLUMNS)
        );
        let rows_max = Value::Number(i64::from(query.rows_max()));
        Self { text, parameters: vec![text_value(chat.as_str()), text_value(after), rows_max] }
    }
}

/// Says whose columns these are.
fn of(table: &str, columns: &str) -> String {
    let columns: Vec<String> =
        columns.split(", ").map(|column| format!("{table}.{column}")).collect();
    columns.join(", ")
}
