//! The only way to execute a tool.
//!
//! Each stage takes the previous stage's type by value and its fields are private to the module that makes them, so a
//! stage that is skipped does not compile: [`execute`](execute::execute) needs an intent, an intent needs a call that
//! watchdogs let through, and so on up to the call as it arrived.

mod approve;
mod arrive;
mod capable;
mod execute;
mod intend;
mod panic;
mod permit;
mod probe;
mod recall;
mod record;
mod refusal;
mod rehearse;
mod repeat;
mod snapshot;
mod truncate;
mod validate;
mod watch;

pub(crate) use arrive::RECORDED_BYTES_MAX;
pub(crate) use execute::STOP_MS;
pub(crate) use panic::Contained;
use std::sync::Arc;

use haft_contract::Envelope;
pub use record::Recording;
pub(crate) use rehearse::rehearse;
pub(crate) use truncate::ERROR_BYTES_MAX;

use crate::call::Call;
use crate::run::{RunError, RunState};
use crate::session::is_adopted;
use haft_journal::CallRow;
use recall::Recalled;
use refusal::Stop;
use repeat::Repeated;

/// When the envelope of a call that was executed leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    Recorded,
    /// While its outcome is on the way to the journal, if the call succeeded.
    Ahead,
}

/// A call that is answered, and what is still to come of it.
type Left = (Envelope, Recording);

/// Passes a call through all stages.
pub(crate) async fn pass(
    call: Call,
    leaves: Leaves,
    run: &Arc<RunState>,
) -> Result<Left, RunError> {
    let adopted = is_adopted(&call.tool).then(|| (call.tool.clone(), call.input.clone()));
    let passed = pass_stages(call, leaves, run).await;
    let (mut envelope, recording) = passed.inspect_err(|err| run.heed(err))?;
    if let Envelope::Output { metadata, .. } = &mut envelope
        && metadata.replayed
    {
        run.session.sidecars.adopt(metadata);
        if let Some((tool, input)) = &adopted {
            run.session.adopt_call(tool, input, &envelope);
        }
    }
    Ok((envelope, recording))
}

async fn pass_stages(call: Call, leaves: Leaves, run: &Arc<RunState>) -> Result<Left, RunError> {
    let arrived = arrive::arrive(call, run).await?;
    let (arrived, doubtful) = match recall::recall(arrived, run).await? {
        Recalled::Fresh(arrived) => (arrived, None),
        Recalled::Doubtful(arrived, row) => (arrived, Some(row)),
        Recalled::Answered(envelope) => return Ok((envelope, Recording::done())),
    };
    match admit_and_execute(arrived, doubtful, (leaves, run)).await {
        Ok(left) => Ok(left),
        Err(Stop::Refused(refusal)) => {
            Ok((record::refused(*refusal, run).await?, Recording::done()))
        }
        Err(Stop::Failed(err)) => Err(err),
    }
}

async fn admit_and_execute(
    arrived: arrive::Arrived,
    doubtful: Option<Box<CallRow>>,
    (leaves, run): (Leaves, &Arc<RunState>),
) -> Result<Left, Stop> {
    let watched = match (admit(arrived, run).await, &doubtful) {
        (Ok(Admitted::Watched(watched)), _) => *watched,
        (Ok(Admitted::Answered(envelope)), _) => return Ok((*envelope, Recording::done())),
        // That it may not begin now says nothing about whether it happened before.
        (Err(Stop::Refused(refusal)), Some(row)) => {
            refusal.entry.uncount(run);
            return Ok((recall::in_doubt(row), Recording::done()));
        }
        (Err(stop), _) => return Err(stop),
    };
    let watched = match probe::probe(watched, doubtful, run).await? {
        Ok(watched) => watched,
        Err(envelope) => return Ok((envelope, Recording::done())),
    };
    // The first look is over when the effect begins; until then it costs no time of its own.
    let ahead = snapshot::ahead(&watched, run);
    let (intended, begun) = tokio::join!(intend::intend(watched, run), ahead.begin());
    let intended = match intended {
        Ok(intended) => intended,
        Err(stop) => {
            begun.forget();
            return Err(stop);
        }
    };
    let executed = execute::execute(intended, run).await;
    let truncated = truncate::truncate(executed, run);
    let recording = async {
        match leaves {
            Leaves::Recorded => Ok((record::record(truncated, run).await?, Recording::done())),
            Leaves::Ahead => record::record_ahead(truncated, run).await,
        }
    };
    let (left, ()) = tokio::join!(recording, begun.end(run));
    left.map_err(Stop::from)
}

/// A call that passed all gates, or that is answered without.
enum Admitted {
    Watched(Box<watch::Watched>),
    Answered(Box<Envelope>),
}

async fn admit(arrived: arrive::Arrived, run: &Arc<RunState>) -> Result<Admitted, Stop> {
    let valid = validate::validate(arrived, run)?;
    let valid = match repeat::repeat(valid, run).await? {
        Repeated::Go(valid) => *valid,
        Repeated::Answered(envelope) => return Ok(Admitted::Answered(envelope)),
    };
    let capable = capable::capable(valid, run)?;
    run.session.shared.learn_conditions(capable.accesses()).await;
    let permitted = permit::permit(capable, run)?;
    let watched = watch::watch(permitted, run).await?;
    Ok(Admitted::Watched(Box::new(watched)))
}
