//! A person's verdict about a call in doubt, and its record in the journal.

use haft::{Clock as _, SystemClock};
use haft_contract::{CallAddress, Envelope, EnvelopeMetadata};
use haft_journal::{CallRow, Journal, JournalError, SettledBy, Settlement, SettlementVerdict};
use serde_json::Value;

/// Records the verdict, and returns the row of the settled call.
pub(crate) async fn record_verdict(
    journal: &dyn Journal,
    call: &CallAddress,
    verdict: SettlementVerdict,
    result: Option<Value>,
) -> Result<CallRow, JournalError> {
    let metadata =
        EnvelopeMetadata { call_id: Some(call.to_string()), ..EnvelopeMetadata::default() };
    let error =
        |text: &str| Envelope::Error { error_text: text.to_owned(), metadata: metadata.clone() };
    // A resume answers the call with this envelope.
    let envelope = match verdict {
        SettlementVerdict::Happened => {
            let unknown =
                "an operator found out that this call happened; what it answered is not known";
            let data = result.unwrap_or_else(|| Value::from(unknown));
            Envelope::Output { data, metadata }
        }
        SettlementVerdict::NotHappened => {
            error("an operator found out that this call did not happen")
        }
        SettlementVerdict::Retry => {
            error("an operator wants this call repeated, although it may have happened")
        }
    };
    let settlement = Settlement {
        call: call.clone(),
        verdict,
        by: SettledBy::Operator,
        envelope,
        settled_at_ms: SystemClock.now_ms(),
    };
    journal.resolve(settlement).await
}
