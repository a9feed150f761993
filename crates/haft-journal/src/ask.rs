//! Asks: questions to a person about one call, as rows that every process on the journal can list and answer. The first
//! valid answer wins. Whether a call needs an ask, and what an answer changes, is not decided here.

use haft_contract::{CallAddress, ContentDigest, RunId};
use serde::Serialize;
use tokio::sync::watch;

use crate::limits::QUERY_ASKS_MAX;
use crate::words::words;

words! {
    /// How an ask stands.
    AskState {
        /// It waits for an answer.
        Pending = "pending",
        /// A person answered it.
        Answered = "answered",
        /// Its deadline passed, which denies the call.
        Expired = "expired",
        /// The call does not need an answer any more: it was cancelled, or its process died.
        Withdrawn = "withdrawn",
    }
}

words! {
    /// The meaning of an answer for the call.
    AskVerdict {
        /// Allow this call only. If the ask is a question, the answers come with it.
        Once = "once",
        /// Allow the call, and add the offered rules to the session.
        Session = "session",
        /// Allow the call, and add the exact rules to the session.
        SessionExact = "session_exact",
        /// Allow the call, and add the offered rules to the project.
        Always = "always",
        /// Allow the call, and add the exact rules to the project.
        AlwaysExact = "always_exact",
        /// Allow the call with another input, which passes all checks again.
        Edited = "edited",
        /// Refuse this call only.
        Reject = "reject",
        /// Refuse the call, and add rules to the session that deny such calls.
        RejectSession = "reject_session",
    }
}

/// An ask that is about to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAsk {
    /// Names the ask; no other ask has the same name.
    pub id: String,
    /// The call that waits.
    pub call: CallAddress,
    /// The fencing token of the lease under which the call is made.
    pub fencing_token: u64,
    /// The tool.
    pub tool: String,
    /// The kind of front end that made the call.
    pub front_end: String,
    /// The subject of the ask, as a JSON object without contents.
    pub summary: String,
    /// All that a person is shown, with contents. It lies in the content store, until the ask ends.
    pub shown: String,
    /// The time now, in milliseconds since 1970. A store that several machines share uses its own clock.
    pub now_ms: u64,
    /// Time for an answer, in milliseconds; no limit if there is none.
    pub lasts_ms: Option<u64>,
}

/// An answer that is about to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAskAnswer {
    /// The ask.
    pub ask: String,
    /// Its meaning for the call.
    pub verdict: AskVerdict,
    /// Who answers.
    pub by: String,
    /// The front end through which the answer comes.
    pub through: String,
    /// The SHA-256 of what that person was shown, in hexadecimal.
    pub shown_sha256: String,
    /// Words of the person for the model.
    pub words: Option<String>,
    /// The JSON that comes with it: for [`AskVerdict::Edited`] the new input, and for [`AskVerdict::Once`] the answers, if the
    /// ask is a question.
    pub edited_input: Option<String>,
    /// The time now, in milliseconds since 1970.
    pub now_ms: u64,
}

/// How an ask ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskEnd {
    /// Its deadline passed.
    Expired,
    /// The call does not need an answer any more.
    Withdrawn,
}

impl From<AskEnd> for AskState {
    fn from(end: AskEnd) -> Self {
        match end {
            AskEnd::Expired => Self::Expired,
            AskEnd::Withdrawn => Self::Withdrawn,
        }
    }
}

/// An ask as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskRow {
    /// Names the ask.
    pub id: String,
    /// The call that waits.
    #[serde(serialize_with = "as_text")]
    pub call: CallAddress,
    /// The fencing token under which the call is made.
    pub fencing_token: u64,
    /// The tool.
    pub tool: String,
    /// The kind of front end that made the call.
    pub front_end: String,
    /// The agents that led to the call, the outermost first; empty if no session of an agent made it.
    pub agents: Vec<String>,
    /// The process that asks.
    pub asker: String,
    /// The subject of the ask, as a JSON object without contents.
    #[serde(serialize_with = "as_json")]
    pub summary: String,
    /// The size and the SHA-256 of all that a person is shown.
    pub shown: ContentDigest,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at_ms: u64,
    /// When it expires, if it does.
    pub deadline_ms: Option<u64>,
    /// How it stands.
    pub state: AskState,
    /// When it ended. Unknown if its process died.
    pub ended_at_ms: Option<u64>,
    /// The answer that won.
    pub answer: Option<AskAnswerRow>,
}

/// The answer of an ask as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskAnswerRow {
    /// Its meaning for the call.
    pub verdict: AskVerdict,
    /// Who answered.
    pub by: String,
    /// The front end through which the answer came.
    pub through: String,
    /// The SHA-256 of what that person was shown.
    pub shown_sha256: String,
    /// Words of the person for the model.
    pub words: Option<String>,
    /// The size and the SHA-256 of the JSON that came with it: the edited input, or the answers to questions.
    pub edited: Option<ContentDigest>,
    /// When the process that asked received the answer; none if it has not.
    pub received_at_ms: Option<u64>,
}

fn as_text<S: serde::Serializer>(call: &CallAddress, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(call)
}

fn as_json<S: serde::Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(json) => json.serialize(to),
        Err(_) => text.serialize(to),
    }
}

/// Asks for asks: those that fit every field that is set, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskQuery {
    /// Only the ask of this name.
    pub id: Option<String>,
    /// Only asks of this run.
    pub run: Option<RunId>,
    /// Only asks that stand so.
    pub state: Option<AskState>,
    /// The latest first, instead of the oldest.
    pub latest_first: bool,
    /// Answers no more asks than this, and never more than [`QUERY_ASKS_MAX`].
    pub limit: u32,
}

impl AskQuery {
    /// Returns the query for the asks that wait for an answer.
    pub fn pending() -> Self {
        Self { state: Some(AskState::Pending), ..Self::default() }
    }

    /// Returns the query for one ask.
    pub fn of_id(id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..Self::default() }
    }

    pub(crate) fn rows_max(&self) -> u32 {
        self.limit.min(QUERY_ASKS_MAX)
    }
}

/// Asks for all asks, as far as the bounds allow.
impl Default for AskQuery {
    fn default() -> Self {
        Self { id: None, run: None, state: None, latest_first: false, limit: QUERY_ASKS_MAX }
    }
}

/// Says when asks may have changed.
#[derive(Debug)]
pub struct AskChanges {
    /// Changes that this process made.
    own: watch::Receiver<u64>,
    /// Changes that the store is told of, if it is told.
    told: Option<watch::Receiver<u64>>,
    /// The longest wait, in milliseconds.
    pause_ms: u64,
}

impl AskChanges {
    pub(crate) fn new(
        own: watch::Receiver<u64>,
        told: Option<watch::Receiver<u64>>,
        pause_ms: u64,
    ) -> Self {
        Self { own, told, pause_ms }
    }

    /// Waits until asks may have changed since the last time. It returns without a change, too, after a bounded pause: not
    /// every store is told of what other processes write.
    pub async fn changed(&mut self) {
        let told = async {
            let is_told = match &mut self.told {
                Some(told) => told.changed().await.is_ok(),
                None => false,
            };
            if !is_told {
                std::future::pending::<()>().await;
            }
        };
        let own = async {
            if self.own.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = told => {}
            () = own => {}
            () = tokio::time::sleep(std::time::Duration::from_millis(self.pause_ms)) => {}
        }
    }
}
