//! The calls of one connection that wait for a later request to answer their question. Each waits once, for a bounded
//! time, in a bounded crowd; whatever becomes of the client, each ends and is recorded.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft::Clock;
use rmcp::ErrorData;
use rmcp::model::{InputRequests, InputRequiredResult, InputResponses};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::in_flight_call::InFlightCall;
use crate::limits::{CALLS_SUSPENDED_MAX, QUESTION_MS_MAX};
use crate::pending_ask::PendingClientAsk;
use crate::request_state::{CallBinding, RequestState, RequestStateSigner};

pub(crate) struct SuspendedCalls {
    signer: RequestStateSigner,
    clock: Arc<dyn Clock>,
    // Written by the request whose call asks and by the request that answers. The lock is held only to move an entry in or
    // out. A channel to one owner would make each of these requests wait for it.
    queue: Mutex<SuspendedCallQueue>,
    call_added: Notify,
    /// Calls that no client can answer any more, until they are recorded.
    ending_tasks: TaskTracker,
}

#[derive(Default)]
struct SuspendedCallQueue {
    /// The oldest first, which is also the first to expire.
    calls: VecDeque<SuspendedCall>,
    last_number: u64,
    is_closed: bool,
}

struct SuspendedCall {
    state: RequestState,
    call: InFlightCall,
    ask: PendingClientAsk,
}

/// The outcome of a client's return to a waiting call.
pub(crate) enum SuspendedCallOutcome {
    /// It waits on, and its client is told the question again.
    StillWaiting(InputRequiredResult),
    /// It goes on, with a note about the answer.
    Resumed(InFlightCall, Option<String>),
}

impl SuspendedCalls {
    pub(crate) fn new(seal: RequestStateSigner, clock: Arc<dyn Clock>) -> Self {
        Self {
            signer: seal,
            clock,
            queue: Mutex::default(),
            call_added: Notify::new(),
            ending_tasks: TaskTracker::new(),
        }
    }

    /// Lets a call wait, and returns what its client is told meanwhile.
    pub(crate) fn suspend(
        &self,
        passing: InFlightCall,
        asked: PendingClientAsk,
        binding: &CallBinding,
    ) -> Result<InputRequiredResult, ErrorData> {
        let question = match input_requests(&asked) {
            Ok(question) => question,
            Err(err) => {
                drop(asked);
                self.end_in_background(passing);
                return Err(err);
            }
        };
        let expires_at_ms = self.clock.now_ms().saturating_add(QUESTION_MS_MAX);
        let mut waiting = self.lock();
        if waiting.is_closed {
            drop(asked);
            self.end_in_background(passing);
            return Err(ErrorData::internal_error("the connection is at its end", None));
        }
        waiting.last_number += 1;
        let ticket = RequestState { number: waiting.last_number, expires_at_ms };
        if waiting.calls.len() >= CALLS_SUSPENDED_MAX
            && let Some(oldest) = waiting.calls.pop_front()
        {
            self.refuse(oldest);
        }
        waiting.calls.push_back(SuspendedCall { state: ticket, call: passing, ask: asked });
        drop(waiting);
        self.call_added.notify_one();
        Ok(InputRequiredResult::new(Some(question), Some(self.signer.sign(ticket, binding))))
    }

    /// Returns the ticket in a state that was given for the call of `binding`.
    pub(crate) fn verify_state(
        &self,
        state: &str,
        binding: &CallBinding,
    ) -> Result<RequestState, ErrorData> {
        let ticket = self.signer.verify(state, binding).ok_or_else(|| {
            invalid(
                "requestState was not given by this server for this call with these arguments: \
                 make the call without it",
            )
        })?;
        if ticket.expires_at_ms <= self.clock.now_ms() {
            self.refuse_expired();
            let message = format!(
                "requestState has expired, {QUESTION_MS_MAX} ms after it was given, and its call \
                 was refused: make the call again without it"
            );
            return Err(invalid(message));
        }
        Ok(ticket)
    }

    /// Hands a client's answer to its call, which waits no more. Of all that the client answered, what the call asked
    /// counts.
    pub(crate) fn resume(
        &self,
        ticket: RequestState,
        state: String,
        responses: InputResponses,
    ) -> Result<SuspendedCallOutcome, ErrorData> {
        let mut waiting = self.lock();
        let place = waiting.calls.iter().position(|entry| entry.state == ticket);
        let place = place.ok_or_else(unknown_state_error)?;
        let entry = waiting.calls.remove(place).ok_or_else(unknown_state_error)?;
        if !entry.ask.is_answered_by(&responses) {
            // A client that came back without an answer is asked again.
            let question = input_requests(&entry.ask);
            waiting.calls.insert(place, entry);
            return Ok(SuspendedCallOutcome::StillWaiting(InputRequiredResult::new(
                Some(question?),
                Some(state),
            )));
        }
        drop(waiting);
        let SuspendedCall { call: passing, ask: asked, .. } = entry;
        Ok(SuspendedCallOutcome::Resumed(passing, asked.deliver_responses(responses)))
    }

    /// Refuses those whose time is over, for as long as it is polled.
    pub(crate) async fn expire_calls(&self) -> Infallible {
        loop {
            let joined = self.call_added.notified();
            match self.refuse_expired() {
                None => joined.await,
                Some(rest_ms) => tokio::time::sleep(Duration::from_millis(rest_ms)).await,
            }
        }
    }

    /// Cancels all waiting calls; from then on no call can wait.
    pub(crate) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        for SuspendedCall { call: passing, .. } in waiting.calls.drain(..) {
            passing.cancel();
            self.end_in_background(passing);
        }
    }

    /// Waits until all that were refused or cancelled are recorded.
    pub(crate) async fn wait_until_ended(&self) {
        self.ending_tasks.close();
        self.ending_tasks.wait().await;
    }

    /// Returns how long it is until the next one expires, in milliseconds.
    fn refuse_expired(&self) -> Option<u64> {
        let now_ms = self.clock.now_ms();
        let mut waiting = self.lock();
        loop {
            let expires_at_ms = waiting.calls.front()?.state.expires_at_ms;
            if let Some(rest_ms) = expires_at_ms.checked_sub(now_ms).filter(|rest| *rest > 0) {
                return Some(rest_ms);
            }
            self.refuse(waiting.calls.pop_front()?);
        }
    }

    /// Drops the question, which the call takes for a refusal.
    fn refuse(&self, entry: SuspendedCall) {
        let SuspendedCall { call: passing, ask: asked, .. } = entry;
        drop(asked);
        self.end_in_background(passing);
    }

    fn end_in_background(&self, passing: InFlightCall) {
        self.ending_tasks.spawn(passing.wait_until_recorded());
    }

    fn lock(&self) -> MutexGuard<'_, SuspendedCallQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn input_requests(asked: &PendingClientAsk) -> Result<InputRequests, ErrorData> {
    // The requests of a tool were checked when it sent them.
    asked.input_requests().map_err(|what| ErrorData::internal_error(what, None))
}

fn unknown_state_error() -> ErrorData {
    invalid(format!(
        "no call waits for this requestState any more: it was answered before, or refused because \
         more than {CALLS_SUSPENDED_MAX} calls waited for answers; nothing was executed now"
    ))
}

fn invalid(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}
