//! The client of providers: OpenAI and whatever speaks its chat completions, Anthropic, Gemini, Ollama. The wires are
//! the client library's; bounds, attempts, errors and keys are ours.
//!
//! The key never reaches that library: it travels as a header of the connection that is marked as sensitive. What the library
//! logs goes nowhere, because it logs what providers say, and those may repeat a key.

mod attempt;
mod calls;
mod connection;
mod failure;
mod name;
mod reader;
mod secret;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use haft_contract::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::limits::{
    ANSWER_BYTES_MAX, ANSWER_MS, BACKOFF_FIRST_MS, BACKOFF_MAX_MS, CONNECT_MS, EVENTS_WAITING_MAX,
    IDLE_MS, RETRIES_MAX,
};
use crate::{Model, ModelError, Request, Responding};
use attempt::Target;

/// Which model to ask, and where.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `provider/name`, the provider being `openai`, `anthropic`, `gemini` or `ollama`.
    pub model: String,
    /// Where the provider is instead of its usual place, up to where its paths begin: `http://127.0.0.1:8000/v1`.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, instead of the provider's usual one. With a `base_url` there is no
    /// usual one: a key goes only where somebody sent it by name.
    pub key_variable: Option<String>,
    /// A PEM file of the authorities to trust, instead of the system's.
    pub authorities: Option<PathBuf>,
    /// How long, how often and how much.
    pub bounds: Bounds,
}

impl Settings {
    /// Returns the provider of the model, if nothing is wrong with the settings that can be seen without a key.
    pub fn check(&self) -> Result<&'static str, ModelError> {
        connection::check(self)
    }

    /// Returns the environment variable that the key is looked up in, if one is sent at all. It is not looked up.
    pub fn key_variable(&self) -> Result<Option<String>, ModelError> {
        connection::key_variable(self)
    }
}

/// What an answer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// An answer with all attempts at it.
    pub total: Duration,
    /// The provider's silence.
    pub idle: Duration,
    /// Connecting.
    pub connect: Duration,
    /// Further attempts before anything was received.
    pub retries_max: u32,
    /// The first pause between attempts; it doubles.
    pub backoff_first: Duration,
    /// The longest pause, also when the provider names one.
    pub backoff_max: Duration,
    /// Text, thoughts and arguments together, in bytes.
    pub answer_bytes_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            total: Duration::from_millis(ANSWER_MS),
            idle: Duration::from_millis(IDLE_MS),
            connect: Duration::from_millis(CONNECT_MS),
            retries_max: RETRIES_MAX,
            backoff_first: Duration::from_millis(BACKOFF_FIRST_MS),
            backoff_max: Duration::from_millis(BACKOFF_MAX_MS),
            answer_bytes_max: ANSWER_BYTES_MAX,
        }
    }
}

/// A model of a provider. Answers are made by tasks of the Tokio runtime that asks.
#[derive(Clone, Debug)]
pub struct Provider {
    target: Arc<Target>,
}

impl Provider {
    /// Prepares to ask the model of `settings`. `lookup` is asked for the key by the name of its environment variable.
    /// Nothing is sent yet.
    pub fn open(
        settings: &Settings,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ModelError> {
        connection::prepare(settings, lookup).map(|target| Self { target: Arc::new(target) })
    }

    /// Returns `provider/name`.
    pub fn name(&self) -> String {
        self.target.name.to_string()
    }
}

impl Model for Provider {
    fn respond(&self, request: Request) -> BoxFuture<'_, Result<Responding, ModelError>> {
        Box::pin(async move {
            let (sender, mut events) = mpsc::channel(EVENTS_WAITING_MAX);
            let target = Arc::clone(&self.target);
            let work = async move { attempt::answer(&target, request, &sender).await }
                .with_subscriber(NoSubscriber::new());
            let task = AbortOnDropHandle::new(tokio::spawn(work));
            let first = events.recv().await.unwrap_or_else(|| Err(self.broken()))?;
            let broken = self.broken();
            let rest = stream::unfold((events, task), move |(mut events, task)| {
                let broken = broken.clone();
                async move {
                    let event = events.recv().await.unwrap_or(Err(broken));
                    Some((event, (events, task)))
                }
            });
            Ok(Responding::new(stream::iter([Ok(first)]).chain(rest)))
        })
    }
}

impl Provider {
    /// The task ends with an end or an error, unless what read the answer panicked.
    fn broken(&self) -> ModelError {
        ModelError::BadAnswer {
            provider: self.target.name.provider().to_owned(),
            detail: "reading it failed".to_owned(),
        }
    }
}
