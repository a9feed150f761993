//! The settings of a model of a provider, and the bounds of its answers.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::{
    ANSWER_BYTES_MAX, ANSWER_MS, BACKOFF_FIRST_MS, BACKOFF_MAX_MS, CONNECT_MS, IDLE_MS, RETRIES_MAX,
};

/// The model, and how to reach its provider.
#[derive(Clone, Debug, Default)]
pub struct ModelSettings {
    /// `provider/name`, where the provider is `openai`, `anthropic`, `gemini` or `ollama`.
    pub model: String,
    /// The provider's URL instead of the default one, up to where its paths begin:
    /// `http://127.0.0.1:8000/v1`.
    pub base_url: Option<String>,
    /// The environment variable of the key, instead of the provider's default one. With a
    /// `base_url` there is no default, so that a key is only sent where the user explicitly chose
    /// it.
    pub key_variable: Option<String>,
    /// Whether the model sees images; by default, those of all providers but `ollama`.
    pub images: Option<bool>,
    /// A PEM file of trusted certificate authorities, instead of the system's.
    pub authorities: Option<PathBuf>,
    /// Limits on time, retries and size.
    pub bounds: ModelAnswerBounds,
}

/// The limits of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelAnswerBounds {
    /// Time for an answer including all attempts.
    pub total: Duration,
    /// Time that the provider may be silent.
    pub idle: Duration,
    /// Time for connecting.
    pub connect: Duration,
    /// Retries before anything was received.
    pub retries_max: u32,
    /// Pause before the first retry; it doubles with each.
    pub backoff_first: Duration,
    /// Maximum pause, even if the provider asks for a longer one.
    pub backoff_max: Duration,
    /// Size of text, reasoning and arguments together, in bytes.
    pub answer_bytes_max: usize,
}

impl Default for ModelAnswerBounds {
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
