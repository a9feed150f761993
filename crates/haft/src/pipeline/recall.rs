//! Has this very call happened already? Then its recorded answer is the answer, and nothing executes.
//!
//! This comes before the tool and the input are looked at: what was answered once does not depend on the tools, schemas
//! and rules of today.

use haft_contract::{Effect, Envelope, ErrorCode, Metadata};
use haft_journal::{CallRow, Status, Verdict};

use super::arrive::{Arrived, Entry};
use crate::recover::{self, Insight};
use crate::run::{Resume, RunError, RunState, Standing};
use crate::sidecar::Sidecars;

/// A call that has to be made, or the answer of one that was made.
pub(super) enum Recalled {
    Fresh(Arrived),
    /// Begun before, its end unknown; the tool may be able to find out.
    Doubtful(Arrived, Box<CallRow>),
    Answered(Envelope),
}

pub(super) async fn recall(mut arrived: Arrived, run: &RunState) -> Result<Recalled, RunError> {
    let (row, occurrence) = match arrived.standing() {
        Standing::New(_) => return Ok(Recalled::Fresh(arrived)),
        Standing::UnderWay => return Ok(Recalled::Answered(under_way(&arrived))),
        Standing::Recorded { row, occurrence } => (row.as_ref().clone(), *occurrence),
    };
    let insight = match disposition(&row, run.resume) {
        Disposition::Answer => Insight::Happened(Box::new(row.clone())),
        Disposition::Execute => Insight::NotHappened,
        // That it ended could not be recorded, or it would not be known to be unheard of.
        Disposition::UnderWay if arrived.is_unheard() => Insight::InDoubt,
        Disposition::UnderWay => return Ok(Recalled::Answered(under_way(&arrived))),
        Disposition::FindOut => recover::look(&run.session.shared, &row).await?,
    };
    Ok(match insight {
        Insight::Happened(row) => {
            if arrived.is_unheard() {
                hear(&row, run).await?;
                arrived.heard(row.seq);
            }
            Recalled::Answered(answer(&row)?)
        }
        Insight::NotHappened => {
            arrived.heard(row.seq);
            let again = arrived.again(occurrence);
            let may_have_happened =
                row.effect == Effect::Once && row.verdict == Some(Verdict::Retry);
            Recalled::Fresh(if may_have_happened { again.repeating(row.id()) } else { again })
        }
        Insight::InDoubt if arrived.has_probe() && row.status == Status::Unknown => {
            Recalled::Doubtful(arrived.again(occurrence), Box::new(row))
        }
        Insight::InDoubt => {
            arrived.entry().uncount(run);
            Recalled::Answered(in_doubt(&row))
        }
    })
}

/// Records that the driver is told what became of a call, so that the next one like it is another one.
pub(super) async fn hear(row: &CallRow, run: &RunState) -> Result<(), RunError> {
    if row.settled_by.is_some() {
        run.session.shared.parts.journal.hear(row.id()).await?;
    }
    Ok(())
}

/// What a recorded call means for the same call now.
enum Disposition {
    Answer,
    Execute,
    FindOut,
    UnderWay,
}

fn disposition(row: &CallRow, resume: Resume) -> Disposition {
    match (row.status, row.verdict) {
        (Status::Intended, _) => Disposition::UnderWay,
        (Status::Failed, Some(Verdict::NotHappened)) | (Status::Unknown, Some(Verdict::Retry)) => {
            Disposition::Execute
        }
        (Status::Succeeded | Status::Failed, _) => Disposition::Answer,
        // It comes again because it was told to.
        (Status::Refused, _) if row.was_held_back() => Disposition::Execute,
        (Status::Refused, _) => match resume {
            Resume::Rejudge => Disposition::Execute,
            Resume::Continue | Resume::Replay => Disposition::Answer,
        },
        (Status::Unknown, _) => match row.effect {
            Effect::Read | Effect::Idempotent => Disposition::Execute,
            Effect::Once => Disposition::FindOut,
        },
    }
}

/// Returns the recorded answer, as it was but for the mark that it was recalled.
pub(super) fn answer(row: &CallRow) -> Result<Envelope, RunError> {
    let recorded = row.parsed_envelope().ok().flatten();
    let Some(mut envelope) = recorded else {
        let metadata = Metadata {
            call_id: Some(row.id().to_string()),
            replayed: true,
            code: Some(ErrorCode::Unavailable),
            ..Metadata::default()
        };
        let error_text = format!(
            "call {} is recorded as {}, but its answer cannot be read; look at it with haft runs show",
            row.id(),
            row.status
        );
        return Ok(Envelope::Error { error_text, metadata });
    };
    let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
    metadata.replayed = true;
    // Whoever settled the call may have given no more than the data.
    metadata.call_id.get_or_insert_with(|| row.id().to_string());
    Sidecars::note_loss(metadata);
    Ok(envelope)
}

/// Says that nobody knows what became of a call, and what to do about it.
pub(super) fn in_doubt(row: &CallRow) -> Envelope {
    let call = row.id();
    let end = match row.envelope {
        None => "its end was never recorded",
        Some(_) => "was stopped before its end",
    };
    let error_text = format!(
        "in doubt: {} was begun as call {call} and {end}, so it may or may not have happened. It is \
         not repeated. Find out which, then say so with: haft runs settle {call} happened|not-happened|retry",
        row.tool
    );
    let metadata = Metadata {
        call_id: Some(call.to_string()),
        code: Some(ErrorCode::InDoubt),
        ..Metadata::default()
    };
    Envelope::Error { error_text, metadata }
}

fn under_way(arrived: &Arrived) -> Envelope {
    let entry: &Entry = arrived.entry();
    let metadata = Metadata {
        duration_ms: entry.elapsed_ms(),
        code: Some(ErrorCode::Unavailable),
        ..Metadata::default()
    };
    let error_text = format!(
        "this call of {} is being executed already under the same name: wait for its answer, or give a new call a name \
         of its own",
        entry.tool()
    );
    Envelope::Error { error_text, metadata }
}
