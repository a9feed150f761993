//! Calls that go on after their request was answered, as tasks of the protocol's extension (SEP-2663). The client gets a task,
//! asks for it until the call has ended, answers its questions, and may cancel it. Such calls end with their connection.

use std::sync::Arc;

use haft_contract::limits::TASK_MS;
use haft_contract::{Contract, Envelope};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResult, ContentBlock, CreateTaskResult, InputResponses, JsonObject, Tool,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::call_limiter::CallPermit;
use crate::in_flight_call::{InFlightCall, InFlightCallEvent};
use crate::limits::BACKGROUND_POLL_MS;
use crate::pending_ask::PendingClientAsk;
use crate::runs::run_error;
use crate::server_parts::RunErrorExplainer;

/// The parameter by which a call asks to go on in the background.
const BACKGROUND: &str = "background";

/// The calls of a connection that go on in the background.
#[derive(Default)]
pub(crate) struct BackgroundCalls {
    pub(crate) tasks: TaskManager,
}

/// A call that is to go on in the background.
pub(crate) struct BackgroundCall {
    pub(crate) call: InFlightCall,
    /// Held until the call has ended.
    pub(crate) permit: CallPermit,
    /// Ends with the connection.
    pub(crate) stop: CancellationToken,
    pub(crate) explain: RunErrorExplainer,
    /// Makes the answer of the call's envelope.
    pub(crate) result: EnvelopeResult,
}

/// Turns the envelope of one call into the protocol's result.
pub(crate) type EnvelopeResult = Box<dyn Fn(&Envelope) -> CallToolResult + Send>;

impl BackgroundCalls {
    /// Lets a call go on, and returns what its client is told at once.
    pub(crate) fn begin(&self, call: BackgroundCall) -> CreateTaskResult {
        let options =
            TaskOptions::new().with_ttl_ms(TASK_MS).with_poll_interval_ms(BACKGROUND_POLL_MS);
        let task = self.tasks.spawn(options, |task| Box::pin(run_to_end(call, Arc::new(task))));
        CreateTaskResult::new(task)
    }
}

async fn run_to_end(
    call: BackgroundCall,
    task: Arc<TaskContext>,
) -> Result<CallToolResult, TaskExit> {
    let BackgroundCall { mut call, permit, stop, explain, result } = call;
    let given_up = stop.child_token();
    let (cancelled, told) = (given_up.clone(), Arc::clone(&task));
    let _listening = AbortOnDropHandle::new(tokio::spawn(async move {
        told.cancelled().await;
        cancelled.cancel();
    }));
    let (mut asks, mut note) = (0, None);
    loop {
        match call.next_event(&given_up, None).await {
            InFlightCallEvent::Ended(_) if given_up.is_cancelled() => {
                return Err(TaskExit::Cancelled);
            }
            InFlightCallEvent::Ended(envelope) => {
                drop(permit);
                let envelope = (*envelope).map_err(|err| run_error(err, explain))?;
                let mut result = result(&envelope);
                result.content.extend(note.map(ContentBlock::text));
                return Ok(result);
            }
            InFlightCallEvent::Asked(asked) => {
                asks += 1;
                note = call.wait_for(ask(&task, asked, asks), &given_up).await;
            }
        }
    }
}

/// Asks the client of a task. A client that answers nothing rejects. Returns a note for the model, if there is one.
async fn ask(task: &TaskContext, mut asked: PendingClientAsk, number: usize) -> Option<String> {
    let requests = asked.input_requests().ok()?;
    let mut responses = InputResponses::new();
    for (name, request) in requests {
        // A key must not come twice in the life of a task.
        let answer = tokio::select! {
            answer = task.request_input(format!("{name}-{number}"), request) => answer,
            () = asked.wait_until_withdrawn() => return None,
        };
        responses.insert(name, answer.ok()?);
    }
    asked.deliver_responses(responses)
}

/// Returns whether the client of a request takes tasks of the extension.
pub(crate) fn takes_tasks(cx: &RequestContext<RoleServer>) -> bool {
    cx.client_capabilities().is_some_and(|client| client.supports_tasks())
}

/// Takes the wish to go on in the background out of an input, and returns whether it was there.
pub(crate) fn take_background(contract: Option<&Contract>, input: &mut Value) -> bool {
    let Some(input) = input.as_object_mut().filter(|_| contract.is_some_and(|it| it.delegates))
    else {
        return false;
    };
    let is_wanted = input.get(BACKGROUND).and_then(Value::as_bool) == Some(true);
    if is_wanted {
        input.remove(BACKGROUND);
    }
    is_wanted
}

/// Leaves the parameter for the background out of a listed tool, for a client that takes no tasks.
pub(crate) fn without_background(contract: &Contract, tool: &mut Tool) {
    if !contract.delegates {
        return;
    }
    let mut schema: JsonObject = (*tool.input_schema).clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(BACKGROUND);
    }
    tool.input_schema = Arc::new(schema);
}
