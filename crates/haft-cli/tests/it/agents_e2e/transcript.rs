//! Whether what is kept of a session is true: every call has its answer and its row, every answer its end, and every token
//! is counted once.

use serde_json::Value;

use super::worker::effects;
use crate::agent::Stage;

/// The record of one session.
pub(super) struct Transcript {
    pub(super) session: Value,
    messages: Vec<Value>,
    pub(super) parts: Vec<Value>,
    rows: Vec<Value>,
}

impl Transcript {
    pub(super) fn of(stage: &Stage, id: &str) -> Self {
        let lines = stage.world.run(&["sessions", "export", id]);
        let records: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let all = |name: &str| {
            records.iter().filter(|record| record["record"] == name).cloned().collect::<Vec<_>>()
        };
        let run = stage.world.json(&["runs", "show", id, "--json"]);
        Self {
            session: all("session").remove(0),
            messages: all("message"),
            parts: all("part"),
            rows: run["calls"].as_array().unwrap().clone(),
        }
    }

    /// Returns whether nothing was said in it yet.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the calls that were asked for.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter(|part| part["type"] == "tool")
    }

    /// Returns the calls of which it is not known whether they happened.
    pub(super) fn in_doubt(&self) -> usize {
        self.calls().filter(|part| part["output_json"]["metadata"]["code"] == "IN_DOUBT").count()
    }

    pub(super) fn check(&self, stage: &Stage, what: &str) {
        let done = effects(&stage.world);
        for message in &self.messages {
            assert!(!message["completed_at_ms"].is_null(), "{message}; {what}");
        }
        for part in self.calls() {
            self.check_call(part, &done, what);
        }
        // A call that was found not to have been made, and then was made, has two rows and one part.
        for row in &self.rows {
            let is_of_row = |part: &&Value| part["tool_call_id"] == row["driver_call_id"];
            assert_eq!(self.calls().filter(is_of_row).count(), 1, "{row}; {what}");
        }
        self.check_counts(what);
    }

    /// The answer of a call says what the journal says, and what was done.
    fn check_call(&self, part: &Value, done: &[String], what: &str) {
        let state = part["state"].as_str().unwrap();
        assert!(["output-available", "output-error"].contains(&state), "{part}; {what}");
        let answer = part["output_json"].to_string();
        let row = self.rows.iter().find(|row| row["call"] == part["call_id"]);
        let status = row.map(|row| row["status"].as_str().unwrap());
        match status {
            None => assert!(answer.contains("was not made"), "{part}; {what}"),
            Some("succeeded") => assert_eq!(state, "output-available", "{part}; {what}"),
            Some("unknown") => assert!(answer.contains("may or may not"), "{part}; {what}"),
            Some(status) => panic!("{status}: {part}; {what}"),
        }
        if let Some(said) = part["output_json"]["data"]["output"].as_str()
            && let Some(word) = said.trim().strip_prefix("added ")
        {
            assert!(done.iter().any(|it| it == word), "{part}; {what}");
        }
    }

    /// The session counts what its messages count, each once.
    fn check_counts(&self, what: &str) {
        for field in ["input", "output", "reasoning", "cache_read", "cache_write"] {
            let field = format!("tokens_{field}");
            let number = |row: &Value| row[&field].as_u64().unwrap();
            let sum: u64 = self.messages.iter().map(number).sum();
            assert_eq!(number(&self.session), sum, "{field}; {what}");
        }
        let is_answer =
            |message: &&Value| ["stop", "tool-calls"].iter().any(|it| message["finish"] == *it);
        let answers = self.messages.iter().filter(is_answer);
        let used = answers.clone().filter(|message| message["tokens_input"] == 30).count();
        assert_eq!(answers.count(), used, "{what}");
    }
}
