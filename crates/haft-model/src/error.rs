//! Why there is no answer, as data to act on and as a message that says what to do. No message holds a key: what providers
//! say is cleaned before it gets here.

use std::time::Duration;

/// Why a model gave no answer, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The settings cannot work; nothing was sent.
    #[error("{0}")]
    Settings(String),
    /// There is no key; nothing was sent.
    #[error("there is no key for {provider}: set {variable}")]
    NoKey {
        /// Who would be asked.
        provider: String,
        /// The environment variable that is to hold the key.
        variable: String,
    },
    /// A key is wanted, and none was sent: nobody said which one goes there.
    #[error(
        "{provider} wants a key, and none was sent: name the environment variable that holds it (key_variable) ({detail})"
    )]
    KeyWanted {
        /// Who was asked.
        provider: String,
        /// What the provider said.
        detail: String,
    },
    /// The key is not accepted.
    #[error("{provider} did not accept the key: check that {key} is set and valid ({detail})")]
    Authentication {
        /// Who was asked.
        provider: String,
        /// Where the key is looked up.
        key: String,
        /// What the provider said.
        detail: String,
    },
    /// The key is good, and not for this.
    #[error(
        "{provider} does not permit this with the key in {key}: check what that key may do, and whether it may use this model ({detail})"
    )]
    NotPermitted {
        /// Who was asked.
        provider: String,
        /// Where the key is looked up.
        key: String,
        /// What the provider said.
        detail: String,
    },
    /// What was paid for is used up, which does not pass by waiting.
    #[error(
        "the quota or credit of the key for {provider} is used up: raise it there, or take another key or model ({detail})"
    )]
    QuotaSpent {
        /// Who was asked.
        provider: String,
        /// What the provider said.
        detail: String,
    },
    /// Too much was asked in a short time.
    #[error("{}{}: wait and try again, or ask less ({detail})", limited(.provider), alone(*.retry_after))]
    RateLimited {
        /// Who was asked.
        provider: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
        /// What it said.
        detail: String,
    },
    /// The provider cannot answer at the moment.
    #[error("{}{}: try again later ({detail})", overloaded(.provider), alone(*.retry_after))]
    Overloaded {
        /// Who was asked.
        provider: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
        /// What it said.
        detail: String,
    },
    /// The request is longer than the model can read.
    #[error(
        "the request is longer than the model can read: offer fewer tools, shorten the conversation, or take another model ({detail})"
    )]
    ContextTooLong {
        /// What the provider said.
        detail: String,
    },
    /// The model, or a filter around it, would not answer.
    #[error("the model refused to answer: say it differently, or take another model ({detail})")]
    Refused {
        /// Why.
        detail: String,
    },
    /// There is no such model, or what is asked is no place for models.
    #[error("{provider} knows no model {model}: check its name and base_url ({detail})")]
    UnknownModel {
        /// Who was asked.
        provider: String,
        /// What it was asked for, as it names it.
        model: String,
        /// What the provider said.
        detail: String,
    },
    /// The provider would not take the request.
    #[error("{provider} did not take the request: check the model's name and base_url ({detail})")]
    Rejected {
        /// Who was asked.
        provider: String,
        /// What it said.
        detail: String,
    },
    /// What came back is not what this provider's answers are like.
    #[error(
        "{provider} answered something that cannot be read: check that base_url speaks its format ({detail})"
    )]
    BadAnswer {
        /// Who was asked.
        provider: String,
        /// What was wrong.
        detail: String,
    },
    /// The answer is longer than is read.
    #[error("the answer is longer than is read: set max_output_tokens, or ask for less")]
    TooLong,
    /// The answer broke off.
    #[error("{CUT_OFF}: try again")]
    CutOff,
    /// The time for the whole answer was over.
    #[error("no whole answer within {} s: ask for less, or allow more time", .0.as_secs_f32())]
    Timeout(Duration),
    /// Nothing came for too long.
    #[error("{}: try again, or allow a longer silence", silent(*.0))]
    Idle(Duration),
    /// The provider cannot be reached.
    #[error("{}: check the network and base_url ({detail})", beyond_reach(.provider))]
    Network {
        /// Who was asked.
        provider: String,
        /// What failed.
        detail: String,
    },
    /// The caller cancelled it.
    #[error("the answer was not waited for: it was cancelled")]
    Cancelled,
}

impl ModelError {
    /// Returns whether the same request may succeed when it is made again.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Network { .. }
            | Self::CutOff
            | Self::Idle(_) => true,
            Self::Settings(_)
            | Self::NoKey { .. }
            | Self::KeyWanted { .. }
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
            | Self::Cancelled => false,
        }
    }

    /// Returns how long the provider wants to be left alone, where it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } = self {
            return *retry_after;
        }
        None
    }

    /// Returns what happened, without what to do about it: for whoever does that already.
    pub fn cause(&self) -> String {
        match self {
            Self::RateLimited { provider, detail, .. } => {
                format!("{} ({detail})", limited(provider))
            }
            Self::Overloaded { provider, detail, .. } => {
                format!("{} ({detail})", overloaded(provider))
            }
            Self::Network { provider, detail } => format!("{} ({detail})", beyond_reach(provider)),
            Self::CutOff => CUT_OFF.to_owned(),
            Self::Idle(silence) => silent(*silence),
            Self::Settings(_)
            | Self::NoKey { .. }
            | Self::KeyWanted { .. }
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
            | Self::Cancelled => self.to_string(),
        }
    }
}

const CUT_OFF: &str = "the answer broke off before its end";

fn limited(provider: &str) -> String {
    format!("{provider} limits how much it is asked in a time")
}

fn overloaded(provider: &str) -> String {
    format!("{provider} cannot answer at the moment")
}

fn beyond_reach(provider: &str) -> String {
    format!("cannot reach {provider}")
}

fn silent(silence: Duration) -> String {
    format!("nothing came from the model for {} s", silence.as_secs_f32())
}

fn alone(retry_after: Option<Duration>) -> String {
    let seconds =
        |time: Duration| format!(", and wants to be left alone for {} s", time.as_secs_f32());
    retry_after.map(seconds).unwrap_or_default()
}
