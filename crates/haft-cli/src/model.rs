//! The model that a command asks: flags and environment come before the manifest. Keys come only from the environment. This
//! module decides which server gets a key; the client keeps the key out of all output.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::error::CommandError;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::{ModelChoice, no_model_in};

/// Returns the model that the environment names, for commands without options about models.
pub(crate) fn model_of_environment(host: &AppHost) -> ModelChoice {
    let variable = |name: &str| host.variable_text(name).filter(|value| !value.is_empty());
    ModelChoice {
        model: variable("HAFT_MODEL"),
        base_url: variable("HAFT_BASE_URL"),
        key_variable: variable("HAFT_KEY_VARIABLE"),
    }
}

/// Which model is asked.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    // First, because reading a value takes it away, and with it where it came from.
    #[command(flatten)]
    named: ModelNameSource,

    /// Model to ask: openai/gpt-5, anthropic/claude-sonnet-4-5, gemini/gemini-2.5-pro, ollama/qwen3:8b
    ///
    /// The manifest may name one, too ([model] name). Its key is taken from the environment: OPENAI_API_KEY,
    /// ANTHROPIC_API_KEY or GEMINI_API_KEY; Ollama needs none.
    #[arg(long, value_name = "PROVIDER/NAME", env = "HAFT_MODEL", hide_env_values = true)]
    model: Option<String>,

    /// Server to ask instead of the provider's own, such as http://127.0.0.1:8000/v1
    ///
    /// It must speak the wire of the provider that the model is named with; most others speak that of openai. No key is sent
    /// there unless --key-variable names one.
    #[arg(long, value_name = "URL", env = "HAFT_BASE_URL", hide_env_values = true)]
    base_url: Option<String>,

    /// Environment variable that holds the key, instead of the provider's usual one
    #[arg(long, value_name = "NAME", env = "HAFT_KEY_VARIABLE", hide_env_values = true)]
    key_variable: Option<String>,
}

/// Whether the model was named in the command itself, and not by the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ModelNameSource {
    in_command: bool,
}

impl FromArgMatches for ModelNameSource {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { in_command: matches.value_source("model") == Some(ValueSource::CommandLine) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ModelNameSource {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl ModelArgs {
    /// Returns the model that flags and environment name.
    pub(crate) fn choice(&self) -> ModelChoice {
        let Self { named: _, model, base_url, key_variable } = self.clone();
        ModelChoice { model, base_url, key_variable }
    }

    /// Returns the model that was named in the command itself.
    pub(crate) fn named_in_command(&self) -> Option<String> {
        self.model.clone().filter(|name| !name.is_empty()).filter(|_| self.named.in_command)
    }

    /// Returns a note if a session keeps its model although the environment names another one.
    pub(crate) fn kept_model_note(&self, model: &str) -> Option<String> {
        let named =
            self.model.clone().filter(|name| !name.is_empty()).filter(|named| named != model)?;
        Some(format!(
            "the session keeps its model: {model} is asked, and {named} is not (--model changes it)"
        ))
    }

    /// Returns an error if flags, environment and manifest name no model.
    pub(crate) fn check_named(&self, settings: &EffectiveSettings) -> Result<(), CommandError> {
        match self.choice().is_named(&settings.model) {
            true => Ok(()),
            false => Err(no_model_in(settings).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_app::manifest::ModelSection;

    use super::*;

    fn args(words: &[&str]) -> ModelArgs {
        use clap::Parser;
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            model: ModelArgs,
        }
        Line::try_parse_from([&["haft"], words].concat()).unwrap().model
    }

    fn section(name: &str) -> ModelSection {
        ModelSection {
            name: Some(name.to_owned()),
            base_url: Some("https://manifest.example/v1".to_owned()),
            key_variable: Some("MANIFEST_KEY".to_owned()),
            idle_ms: Some(5),
            ..ModelSection::default()
        }
    }

    #[test]
    fn a_key_of_the_manifest_goes_where_the_manifest_sends_it() {
        let check = |words: &[&str], name: &str, expect: (&str, Option<&str>, Option<&str>)| {
            let settings = args(words).choice().settings(&section(name)).unwrap();
            let found = (
                settings.model.as_str(),
                settings.base_url.as_deref(),
                settings.key_variable.as_deref(),
            );
            assert_eq!(found, expect, "{words:?}");
            assert_eq!(settings.bounds.idle.as_millis(), 5, "{words:?}");
        };
        let (place, key) = (Some("https://manifest.example/v1"), Some("MANIFEST_KEY"));
        check(&[], "openai/m", ("openai/m", place, key));
        check(&["--model", "openai/other"], "openai/m", ("openai/other", place, key));
        check(&["--model", "gemini/g"], "openai/m", ("gemini/g", None, None));
        let elsewhere = ["--base-url", "https://flag.example/v1"];
        check(&elsewhere, "openai/m", ("openai/m", Some("https://flag.example/v1"), None));
        check(&["--key-variable", "MINE"], "openai/m", ("openai/m", place, Some("MINE")));
        check(&["--model", ""], "openai/m", ("openai/m", place, key));
    }

    #[test]
    fn a_model_that_the_command_names_is_told_from_one_of_the_environment() {
        assert_eq!(args(&["--model", "openai/a"]).named_in_command().as_deref(), Some("openai/a"));
        assert_eq!(args(&["--model="]).named_in_command(), None);
        assert_eq!(args(&[]).named_in_command(), None);
    }

    #[test]
    fn a_model_must_be_named() {
        let err = args(&[]).choice().settings(&ModelSection::default()).unwrap_err();
        assert!(err.message.contains("no model is named"), "{}", err.message);
        let err =
            args(&["--model", "gpt-5"]).choice().settings(&ModelSection::default()).unwrap_err();
        assert!(err.message.contains("expected provider/name"), "{}", err.message);
    }
}
