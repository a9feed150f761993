//! The only way to execute a tool.
//!
//! One record of the call, its [`CallState`](call_state::CallState), moves through the stages by value. Each stage returns
//! its evidence beside it, a later stage takes that evidence by value, and only the module of a stage makes its evidence. A
//! stage that is skipped therefore does not compile: [`execute`](execute::execute) needs an intent, an intent needs a
//! history and a grant, and so on up to the call as it arrived.
//!
//! These are all stages, in order. `cargo xtask generated` compares the table with `run_stages` and copies it into the
//! documents that show it.
//!
//! | stage | file in `crates/haft/src/pipeline/` | gives | refuses with |
//! |---|---|---|---|
//! | recall | `history/recall.rs` | the call's number and keys, or the recorded answer of the same call | `IN_DOUBT` |
//! | validate | `validate.rs` | a tool that exists, and an input that satisfies its schema | `TOOL_NOT_FOUND`, `INVALID_INPUT` |
//! | repeat | `history/earlier_attempts.rs` | a call that earlier attempts of the task do not hold back, or the answer that one of them got | `IN_DOUBT`, `PERMISSION_DENIED` |
//! | capable | `capable.rs` | canonical accesses inside the tool's and the agent's capabilities | `CAPABILITY_DENIED`, `TOOL_PATH_ESCAPE`, `TOOL_PATH_INVALID` |
//! | permit | `permit.rs` | a call that rules allow or want a person asked about | `PERMISSION_DENIED`, `TOOL_NETWORK_DISABLED`, `TOOL_GIT_REMOTE_DISABLED` |
//! | watch | `watch.rs`, `approve.rs` | a grant, after watchdogs and at most one question to a person | `WATCHDOG_DENIED`, `PERMISSION_DENIED` |
//! | probe | `history/probe.rs` | for a call in doubt: whether it happened | `IN_DOUBT` |
//! | snapshot | `snapshot.rs` | the hook around the effect; its failure never fails a call | |
//! | intend | `intend.rs` | an intent, which only a journal makes | |
//! | execute | `execute.rs` | the tool's result, its panic or its abandonment | |
//! | truncate | `truncate.rs` | an envelope of bounded size | |
//! | record | `record.rs` | the envelope, once its outcome is in the journal | |
//!
//! Nothing executes without an intent, with one exception: the probe of a call in doubt asks, after all gates, whether that
//! call happened ([`ExecutionRight`](execute::ExecutionRight)).

mod approve;
mod call_state;
mod capable;
mod earlier_outputs;
mod execute;
mod history;
mod intend;
mod permit;
mod record;
mod refusal;
mod rehearse;
mod snapshot;
mod truncate;
mod validate;
mod watch;

use std::sync::Arc;

use haft_contract::Envelope;

pub(crate) use call_state::ArrivedCall;
pub(crate) use history::{
    AttemptTrackers, CallLease, PriorCalls, RunHistory, check_files_of_calls, load_retry_warning,
};
pub use history::{ResumeMode, RetryWarning};
pub use record::PendingRecord;
pub(crate) use rehearse::rehearse;

use crate::connection_state::ConnectionState;
use crate::run_error::RunError;
use crate::wait_log::CallWaitKind;
use refusal::PipelineStop;
use watch::WatchedCallState;

/// The time at which the envelope of an executed call leaves the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnvelopeTiming {
    /// Once the outcome is in the journal, as durably as the effect needs.
    AfterRecord,
    /// Before the outcome is in the journal, if the call succeeded.
    BeforeRecord,
}

/// The envelope of a call, and the pending record of its outcome.
type AnswerWithRecording = (Envelope, PendingRecord);

/// Passes a call through all stages.
pub(crate) async fn run_pipeline(
    mut arrived: ArrivedCall,
    lease: CallLease,
    timing: EnvelopeTiming,
    (history, connection): (&RunHistory, &Arc<ConnectionState>),
) -> Result<AnswerWithRecording, RunError> {
    let adoptable = arrived.take_adoptable();
    earlier_outputs::adopt_named_outputs(&arrived, connection).await;
    let passed = run_stages(arrived, lease, timing, (history, connection)).await;
    let (mut envelope, recording) = match passed {
        Ok(answered) => answered,
        Err(PipelineStop::Answered(envelope)) => (*envelope, PendingRecord::done()),
        Err(PipelineStop::Refused(refusal)) => {
            // This refusal says nothing about whether the call in doubt happened before.
            let envelope = match refusal.state.in_doubt() {
                Some(row) => history::in_doubt_answer(&refusal.state, row),
                None => record::record_refusal(*refusal, &connection.shared.parts).await?,
            };
            (envelope, PendingRecord::done())
        }
        Err(PipelineStop::Failed(err)) => return Err(err),
    };
    if let Envelope::Output { metadata, .. } = &mut envelope
        && metadata.replayed
    {
        connection.sidecars.adopt(metadata);
        if let Some((tool, input)) = &adoptable {
            connection.adopt_call(tool, input, &envelope);
        }
    }
    Ok((envelope, recording))
}

/// Passes a call through all stages, in the order of the table above.
async fn run_stages(
    arrived: ArrivedCall,
    lease: CallLease,
    timing: EnvelopeTiming,
    (history, connection): (&RunHistory, &Arc<ConnectionState>),
) -> Result<AnswerWithRecording, PipelineStop> {
    let parts = &connection.shared.parts;
    let state = history::recall(arrived, lease, history, &connection.shared).await?;
    let (state, mut valid) = validate::validate(state, connection)?;
    let (mut state, unrepeated) = history::check_earlier_attempts(state, connection).await?;
    let (state, granted) = loop {
        let (judging, judged) = capable::capable(state, valid, connection)?;
        connection.shared.load_conditions(judged.accesses()).await;
        let judged = judged.with_held_paths(connection.shared.holds_paths());
        let (judging, judged, permission) = permit::permit(judging, judged, connection)?;
        match watch::watch(judging, judged, permission, connection).await? {
            WatchedCallState::Granted(state, granted) => break (*state, granted),
            // A person wrote another input, which passes all checks from the first one on.
            WatchedCallState::Edited(edited) => {
                (state, valid) = validate::validate(*edited, connection)?;
            }
        }
    };
    let (mut state, history) = history::probe(state, &granted, unrepeated, connection).await?;
    // The hook and the intent run at the same time, so the hook delays the call little. Both end before the effect
    // begins.
    let hook = snapshot::pending_effect_hook(&state, &granted, parts.snapshots.as_ref());
    let waits = state.waits();
    let (intended, begun) = tokio::join!(
        intend::intend(&state, &granted, history, &*parts.journal),
        waits.measure(CallWaitKind::Snapshot, hook.run_before_effect())
    );
    let intended = match intended {
        Ok(intended) => intended,
        Err(stop) => {
            begun.cancel_effect();
            return Err(stop);
        }
    };
    let executed = execute::execute(&state, &granted, intended, connection).await;
    let outcome = truncate::truncate(&mut state, &granted, executed, connection);
    let recording = async {
        match timing {
            EnvelopeTiming::AfterRecord => {
                Ok((record::record(state, outcome, parts).await?, PendingRecord::done()))
            }
            EnvelopeTiming::BeforeRecord => record::record_ahead(state, outcome, parts).await,
        }
    };
    let (answered, ()) = tokio::join!(recording, begun.run_after_effect(parts));
    answered.map_err(PipelineStop::from)
}
