//! The client for providers: OpenAI and servers compatible with it, Anthropic, Gemini,
//! Ollama. The client library implements the protocols; limits, retries, errors and keys are
//! implemented here.
//!
//! The library never gets the key: it is sent as a header of the connection that is marked as
//! sensitive. The library's log is discarded, because it contains providers' texts, which may
//! repeat a key.

mod attempt;
mod calls;
mod connection;
mod failure;
mod reader;
mod secret;
mod wire;

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use haft_contract::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::limits::EVENTS_WAITING_MAX;
use crate::{Model, ModelAnswerStream, ModelError, ModelRequest, ModelSettings};
use connection::ProviderTarget;

/// A provider's model. Tasks of the caller's Tokio runtime produce the answers.
#[derive(Clone, Debug)]
pub struct ProviderModel {
    target: Arc<ProviderTarget>,
}

impl ProviderModel {
    /// Creates a client for the model in `settings`. `lookup` returns the value of the key's
    /// environment variable. Nothing is sent yet.
    pub fn open(
        settings: &ModelSettings,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        connection::prepare(settings, lookup).map(|target| Self { target: Arc::new(target) })
    }

    /// Returns `provider/name`.
    pub fn name(&self) -> String {
        self.target.name.to_string()
    }
}

impl Model for ProviderModel {
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        Box::pin(async move {
            let (sender, mut events) = mpsc::channel(EVENTS_WAITING_MAX);
            let target = Arc::clone(&self.target);
            let work = async move { attempt::answer(&target, request, &sender).await }
                .with_subscriber(NoSubscriber::new());
            let task = AbortOnDropHandle::new(tokio::spawn(work));
            let first = events.recv().await.unwrap_or_else(|| Err(self.interrupted_error()))?;
            let broken = self.interrupted_error();
            let rest = stream::unfold((events, task), move |(mut events, task)| {
                let broken = broken.clone();
                async move {
                    let event = events.recv().await.unwrap_or(Err(broken));
                    Some((event, (events, task)))
                }
            });
            Ok(ModelAnswerStream::new(stream::iter([Ok(first)]).chain(rest)))
        })
    }

    fn takes_images(&self) -> bool {
        self.target.takes_images
    }
}

impl ProviderModel {
    /// The task sends an end or an error, unless the code that reads the answer panicked.
    fn interrupted_error(&self) -> ModelError {
        ModelError::BadAnswer {
            provider: self.target.name.provider().to_owned(),
            detail: "reading it failed".to_owned(),
        }
    }
}
