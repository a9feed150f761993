//! Leads each request to its view.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use tower_service::Service;

use crate::events;
use crate::page_error::PageError;
use crate::request::InspectorRequest;
use crate::response::{self, PageResponse};
use crate::source::{InspectorParts, Source};
use crate::views::{asks, call, changes, doubts, permissions, plans, run, runs, sessions, stop};

/// The pages of the inspector, as a service of the HTTP server.
#[derive(Clone)]
pub struct InspectorRouter {
    source: Arc<Source>,
}

impl InspectorRouter {
    /// Returns the pages over the journal that the settings name. Nothing is opened yet.
    pub fn new(parts: InspectorParts) -> Self {
        Self { source: Arc::new(Source::new(parts)) }
    }
}

impl Service<http::Request<Bytes>> for InspectorRouter {
    type Response = PageResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Bytes>) -> Self::Future {
        let source = Arc::clone(&self.source);
        Box::pin(async move {
            let Some(request) = InspectorRequest::new(&request) else {
                let err = PageError {
                    status: StatusCode::UNAUTHORIZED,
                    message: "This browser is not logged in.".to_owned(),
                };
                return Ok(response::error(&err, true));
            };
            let answer = answer(&source, &request).await;
            Ok(match answer {
                Ok(response) => response,
                Err(err) => {
                    if err.status == StatusCode::INTERNAL_SERVER_ERROR {
                        source.forget_journal().await;
                    }
                    response::error(&err, request.is_change)
                }
            })
        })
    }
}

async fn answer(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    let parts = &request.segments;
    match (request.is_change, segments.as_slice()) {
        (false, []) => Ok(response::redirect("/runs")),
        (false, ["asks"]) => asks::list(source, request).await,
        (false, ["asks", ask]) => asks::show(source, request, ask).await,
        (true, ["asks", ask, "answer"]) => asks::answer(source, request, ask).await,
        (false, ["runs"]) => runs::show(source, request).await,
        (false, ["runs", run]) => run::show(source, request, run).await,
        (false, ["runs", run, "stop"]) => stop::show(source, request, run).await,
        (true, ["runs", run, "stop"]) => stop::stop(source, request, run).await,
        (false, ["runs", run, "calls"]) => run::calls(source, request, run).await,
        (false, ["calls", _, _, _, _, _]) => {
            call::show(source, parts.get(1..).unwrap_or_default()).await
        }
        (false, ["calls", _, _, _, _, _, "text"]) => {
            call::text(source, request, parts.get(1..6).unwrap_or_default()).await
        }
        (false, ["calls", _, _, _, _, _, "file"]) => {
            call::file(source, request, parts.get(1..6).unwrap_or_default()).await
        }
        (false, ["doubts"]) => doubts::show(source, request).await,
        (true, ["doubts", "settle"]) => doubts::settle(source, request).await,
        (false, ["changes"]) => changes::show(source, request).await,
        (true, ["undo"]) => changes::undo(source, request).await,
        (false, ["sessions"]) => sessions::list(source, request).await,
        (false, ["sessions", session]) => sessions::show(source, request, session).await,
        (false, ["plans"]) => plans::list(source, request).await,
        (false, ["plans", run]) => plans::show(source, run).await,
        (false, ["permissions"]) => permissions::show(source, request).await,
        (true, ["permissions", "add"]) => permissions::add(source, request).await,
        (false, ["events"]) => events::follow(source, request).await,
        (_, _) => Err(PageError::not_found("There is nothing at this address.")),
    }
}
