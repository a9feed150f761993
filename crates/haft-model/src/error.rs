//! Errors of models, as data and as messages that say what to do. No message contains a key:
//! providers' texts are redacted before they get here.

use std::time::Duration;

/// A model gave no answer, or no complete one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The settings are invalid; nothing was sent.
    #[error("{0}")]
    Settings(String),
    /// The key is missing; nothing was sent.
    #[error("there is no key for {provider}: set {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable for the key.
        variable: String,
    },
    /// The provider requires a key, but its settings name none, so haft sent none.
    #[error(
        "{provider} requires a key, but none was sent: name its environment variable (key_variable) ({detail})"
    )]
    KeyRequired {
        /// The provider.
        provider: String,
        /// The provider's message.
        detail: String,
    },
    /// The provider rejected the key.
    #[error("{provider} did not accept the key: check that {key} is set and valid ({detail})")]
    Authentication {
        /// The provider.
        provider: String,
        /// The place of the key.
        key: String,
        /// The provider's message.
        detail: String,
    },
    /// The key is valid, but not permitted to do this.
    #[error(
        "{provider} does not permit this with the key in {key}: check what that key may do, and whether it may use this model ({detail})"
    )]
    NotPermitted {
        /// The provider.
        provider: String,
        /// The place of the key.
        key: String,
        /// The provider's message.
        detail: String,
    },
    /// The paid quota is used up; waiting does not help.
    #[error(
        "the quota or credit of the key for {provider} is used up: raise it there, or take another key or model ({detail})"
    )]
    QuotaSpent {
        /// The provider.
        provider: String,
        /// The provider's message.
        detail: String,
    },
    /// Too many requests in a short time.
    #[error("{}{}: wait and try again, or ask less ({detail})", rate_limited_text(.provider), retry_after_text(*.retry_after))]
    RateLimited {
        /// The provider.
        provider: String,
        /// The provider's requested pause.
        retry_after: Option<Duration>,
        /// The provider's message.
        detail: String,
    },
    /// The provider is temporarily unavailable.
    #[error("{}{}: try again later ({detail})", overloaded_text(.provider), retry_after_text(*.retry_after))]
    Overloaded {
        /// The provider.
        provider: String,
        /// The provider's requested pause.
        retry_after: Option<Duration>,
        /// The provider's message.
        detail: String,
    },
    /// The request is longer than the model's context.
    #[error(
        "the request is longer than the model can read: offer fewer tools, shorten the conversation, or take another model ({detail})"
    )]
    ContextTooLong {
        /// The provider's message.
        detail: String,
    },
    /// The model, or a filter around it, refused to answer.
    #[error("the model refused to answer: say it differently, or take another model ({detail})")]
    Refused {
        /// The reason.
        detail: String,
    },
    /// The model does not exist, or the URL is not a model provider.
    #[error("{provider} knows no model {model}: check its name and base_url ({detail})")]
    UnknownModel {
        /// The provider.
        provider: String,
        /// The model's name at the provider.
        model: String,
        /// The provider's message.
        detail: String,
    },
    /// The provider rejected the request.
    #[error("{provider} did not take the request: check the model's name and base_url ({detail})")]
    Rejected {
        /// The provider.
        provider: String,
        /// The provider's message.
        detail: String,
    },
    /// The answer does not follow the provider's protocol.
    #[error(
        "{provider} answered something that cannot be read: check that base_url speaks its format ({detail})"
    )]
    BadAnswer {
        /// The provider.
        provider: String,
        /// The problem.
        detail: String,
    },
    /// The answer exceeds the maximum length.
    #[error("the answer is longer than is read: set max_output_tokens, or ask for less")]
    TooLong,
    /// The answer was cut off.
    #[error("{CUT_OFF}: try again")]
    CutOff,
    /// The answer was not complete in time.
    #[error("no complete answer within {} s: ask for less, or allow more time", .0.as_secs_f32())]
    Timeout(Duration),
    /// The provider was silent for too long.
    #[error("{}: try again, or allow a longer silence", idle_text(*.0))]
    Idle(Duration),
    /// The provider cannot be reached.
    #[error("{}: check the network and base_url ({detail})", unreachable_text(.provider))]
    Network {
        /// The provider.
        provider: String,
        /// The reason.
        detail: String,
    },
    /// The caller cancelled it.
    #[error("the answer was not waited for: it was cancelled")]
    Cancelled,
}

impl ModelError {
    /// Returns whether the same request may succeed on a retry.
    pub fn is_passing(&self) -> bool {
        self.passing_cause().is_some()
    }

    /// Returns the provider's requested pause, if it sent one.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } = self {
            return *retry_after;
        }
        None
    }

    /// Returns the problem without advice, for callers that already follow it.
    pub fn cause(&self) -> String {
        self.passing_cause().unwrap_or_else(|| self.to_string())
    }

    /// Returns the problem without advice, if the same request may succeed on a retry.
    fn passing_cause(&self) -> Option<String> {
        match self {
            Self::RateLimited { provider, detail, .. } => {
                Some(format!("{} ({detail})", rate_limited_text(provider)))
            }
            Self::Overloaded { provider, detail, .. } => {
                Some(format!("{} ({detail})", overloaded_text(provider)))
            }
            Self::Network { provider, detail } => {
                Some(format!("{} ({detail})", unreachable_text(provider)))
            }
            Self::CutOff => Some(CUT_OFF.to_owned()),
            Self::Idle(silence) => Some(idle_text(*silence)),
            Self::Settings(_)
            | Self::NoKey { .. }
            | Self::KeyRequired { .. }
            | Self::Authentication { .. }
            | Self::NotPermitted { .. }
            | Self::QuotaSpent { .. }
            | Self::UnknownModel { .. }
            | Self::ContextTooLong { .. }
            | Self::Refused { .. }
            | Self::Rejected { .. }
            | Self::BadAnswer { .. }
            | Self::TooLong
            | Self::Timeout(_)
            | Self::Cancelled => None,
        }
    }
}

const CUT_OFF: &str = "the answer broke off before its end";

fn rate_limited_text(provider: &str) -> String {
    format!("{provider} limits the request rate")
}

fn overloaded_text(provider: &str) -> String {
    format!("{provider} cannot answer at the moment")
}

fn unreachable_text(provider: &str) -> String {
    format!("cannot reach {provider}")
}

fn idle_text(silence: Duration) -> String {
    format!("nothing came from the model for {} s", silence.as_secs_f32())
}

fn retry_after_text(retry_after: Option<Duration>) -> String {
    let seconds = |time: Duration| format!(", and asks for a pause of {} s", time.as_secs_f32());
    retry_after.map(seconds).unwrap_or_default()
}
