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

use crate::asking::Asked;
use crate::limits::{CALLS_SUSPENDED_MAX, QUESTION_MS_MAX};
use crate::passing::Passing;
use crate::seal::{Binding, Seal, Ticket};

/// The calls that wait.
pub(crate) struct Suspended {
    seal: Seal,
    clock: Arc<dyn Clock>,
    // Written by the request whose call asks and by the one that answers; whoever holds the lock moves an entry in or
    // out, and waits for nothing. A channel to one owner would make each of these requests wait for it.
    waiting: Mutex<Waiting>,
    /// Told when somebody begins to wait.
    joined: Notify,
    /// Calls that nobody will answer any more, until they are recorded.
    ending: TaskTracker,
}

#[derive(Default)]
struct Waiting {
    /// The oldest first, which is also the first to expire.
    calls: VecDeque<Entry>,
    last_number: u64,
    is_closed: bool,
}

struct Entry {
    ticket: Ticket,
    passing: Passing,
    asked: Asked,
}

/// What becomes of a call that waits when its client comes back.
pub(crate) enum Resumed {
    /// It waits on, and its client is told the question again.
    Waits(InputRequiredResult),
    /// It goes on, with what there is to say about the answer.
    Goes(Passing, Option<String>),
}

impl Suspended {
    pub(crate) fn new(seal: Seal, clock: Arc<dyn Clock>) -> Self {
        Self {
            seal,
            clock,
            waiting: Mutex::default(),
            joined: Notify::new(),
            ending: TaskTracker::new(),
        }
    }

    /// Lets a call wait, and returns what its client is told meanwhile.
    pub(crate) fn suspend(
        &self,
        passing: Passing,
        asked: Asked,
        binding: &Binding,
    ) -> Result<InputRequiredResult, ErrorData> {
        let question = match questions(&asked) {
            Ok(question) => question,
            Err(err) => {
                drop(asked);
                self.let_end(passing);
                return Err(err);
            }
        };
        let expires_at_ms = self.clock.now_ms().saturating_add(QUESTION_MS_MAX);
        let mut waiting = self.lock();
        if waiting.is_closed {
            drop(asked);
            self.let_end(passing);
            return Err(ErrorData::internal_error("the connection is at its end", None));
        }
        waiting.last_number += 1;
        let ticket = Ticket { number: waiting.last_number, expires_at_ms };
        if waiting.calls.len() >= CALLS_SUSPENDED_MAX
            && let Some(oldest) = waiting.calls.pop_front()
        {
            self.refuse(oldest);
        }
        waiting.calls.push_back(Entry { ticket, passing, asked });
        drop(waiting);
        self.joined.notify_one();
        Ok(InputRequiredResult::new(Some(question), Some(self.seal.close(ticket, binding))))
    }

    /// Returns the ticket in a state that was given for the call of `binding`.
    pub(crate) fn ticket(&self, state: &str, binding: &Binding) -> Result<Ticket, ErrorData> {
        let ticket = self.seal.open(state, binding).ok_or_else(|| {
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
        ticket: Ticket,
        state: String,
        responses: InputResponses,
    ) -> Result<Resumed, ErrorData> {
        let mut waiting = self.lock();
        let place = waiting.calls.iter().position(|entry| entry.ticket == ticket);
        let place = place.ok_or_else(spent)?;
        let entry = waiting.calls.remove(place).ok_or_else(spent)?;
        if !entry.asked.is_answered_by(&responses) {
            // Somebody came back without an answer, and is asked again.
            let question = questions(&entry.asked);
            waiting.calls.insert(place, entry);
            return Ok(Resumed::Waits(InputRequiredResult::new(Some(question?), Some(state))));
        }
        drop(waiting);
        let Entry { passing, asked, .. } = entry;
        Ok(Resumed::Goes(passing, asked.settle(responses)))
    }

    /// Refuses those whose time is over, for as long as it is polled.
    pub(crate) async fn expire(&self) -> Infallible {
        loop {
            let joined = self.joined.notified();
            match self.refuse_expired() {
                None => joined.await,
                Some(rest_ms) => tokio::time::sleep(Duration::from_millis(rest_ms)).await,
            }
        }
    }

    /// Cancels all that wait; from then on nobody waits.
    pub(crate) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        for Entry { passing, .. } in waiting.calls.drain(..) {
            passing.cancel();
            self.let_end(passing);
        }
    }

    /// Waits until all that were refused or cancelled are recorded.
    pub(crate) async fn all_ended(&self) {
        self.ending.close();
        self.ending.wait().await;
    }

    /// Returns how long it is until the next one expires, in milliseconds.
    fn refuse_expired(&self) -> Option<u64> {
        let now_ms = self.clock.now_ms();
        let mut waiting = self.lock();
        loop {
            let expires_at_ms = waiting.calls.front()?.ticket.expires_at_ms;
            if let Some(rest_ms) = expires_at_ms.checked_sub(now_ms).filter(|rest| *rest > 0) {
                return Some(rest_ms);
            }
            self.refuse(waiting.calls.pop_front()?);
        }
    }

    /// Nobody answered, which the call takes for a no.
    fn refuse(&self, entry: Entry) {
        let Entry { passing, asked, .. } = entry;
        drop(asked);
        self.let_end(passing);
    }

    fn let_end(&self, passing: Passing) {
        self.ending.spawn(passing.end());
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn questions(asked: &Asked) -> Result<InputRequests, ErrorData> {
    // What a tool asks for was checked when it asked.
    asked.input_requests().map_err(|what| ErrorData::internal_error(what, None))
}

fn spent() -> ErrorData {
    invalid(format!(
        "no call waits for this requestState any more: it was answered before, or refused because \
         more than {CALLS_SUSPENDED_MAX} calls waited for answers; nothing was executed now"
    ))
}

fn invalid(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}
