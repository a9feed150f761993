//! Parses `provider/name`: the protocol and the model. The characters of a name are restricted,
//! because it becomes part of URLs.

use std::fmt;

use crate::limits::NAME_BYTES_MAX;

/// The supported protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProviderProtocol {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

const WIRES: [ProviderProtocol; 4] = [
    ProviderProtocol::OpenAi,
    ProviderProtocol::Anthropic,
    ProviderProtocol::Gemini,
    ProviderProtocol::Ollama,
];

impl ProviderProtocol {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The provider's default base URL.
    pub(crate) fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://127.0.0.1:11434/",
        }
    }

    /// The environment variable of the key at the provider's default URL; Ollama has none.
    pub(crate) fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelName {
    pub(crate) wire: ProviderProtocol,
    pub(crate) model: String,
}

impl ModelName {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("{what}: expected provider/name, as in openai/gpt-5 or ollama/qwen3:8b")
        };
        if text.len() > NAME_BYTES_MAX {
            return Err(wrong(&format!("a model's name is at most {NAME_BYTES_MAX} bytes")));
        }
        let (provider, model) = text
            .split_once('/')
            .ok_or_else(|| wrong(&format!("{text:?} does not name a provider")))?;
        let Some(wire) = WIRES.into_iter().find(|wire| wire.as_str() == provider) else {
            let known = WIRES.map(ProviderProtocol::as_str).join(", ");
            return Err(wrong(&format!("there is no provider {provider:?}, only {known}")));
        };
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.:/@+".contains(one);
        let is_path = model.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !model.chars().all(is_plain) || !is_path || model.contains("::") {
            return Err(wrong(&format!("{model:?} cannot be the name of a model")));
        }
        Ok(Self { wire, model: model.to_owned() })
    }

    pub(crate) fn provider(&self) -> &'static str {
        self.wire.as_str()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.wire.as_str(), self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_a_provider_and_a_model() {
        let parsed = |text| ModelName::parse(text).map(|name| (name.wire, name.model));
        assert_eq!(parsed("openai/gpt-5"), Ok((ProviderProtocol::OpenAi, "gpt-5".to_owned())));
        assert_eq!(
            parsed("ollama/hf.co/a/b:Q4"),
            Ok((ProviderProtocol::Ollama, "hf.co/a/b:Q4".to_owned()))
        );
        for wrong in [
            "gpt-5",
            "acme/x",
            "openai/",
            "gemini/../x",
            "gemini/a?key=b",
            "gemini/a#b",
            "openai/a b",
            "openai/a::b",
            "openai/é",
        ] {
            let message = ModelName::parse(wrong).unwrap_err();
            assert!(message.contains("expected provider/name"), "{wrong}: {message}");
        }
        assert!(ModelName::parse(&format!("openai/{}", "x".repeat(NAME_BYTES_MAX - 7))).is_ok());
        assert!(ModelName::parse(&format!("openai/{}", "x".repeat(NAME_BYTES_MAX - 6))).is_err());
    }
}
