//! The model that a command asks: flags and environment before the manifest. Keys are taken from the environment and from
//! nowhere else; who may be sent one is decided here, and that it is seen nowhere is the client's business.

mod answers;
pub(crate) mod planning;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use haft_model::{ModelError, Provider, Usage};

use crate::error::{CommandError, Kind};
use crate::manifest::ModelSection;
use crate::time::in_words;

/// The environment variable that names a file of authorities, as other programs have it.
const AUTHORITIES: &str = "SSL_CERT_FILE";

/// Which model is asked.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    // First, because reading a value takes it away, and with it where it came from.
    #[command(flatten)]
    named: Named,

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
struct Named {
    in_command: bool,
}

impl FromArgMatches for Named {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { in_command: matches.value_source("model") == Some(ValueSource::CommandLine) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Named {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl ModelArgs {
    /// Prepares to ask the model that flags, environment or manifest name. Nothing is sent yet.
    pub(crate) fn open(&self, section: &ModelSection) -> Result<Provider, CommandError> {
        provider(self.settings(section)?).map_err(failure)
    }

    /// Returns how the model of that name is asked. A place and a key that were given belong to the model that was meant, and
    /// so to another one only if it is of the same provider.
    pub(crate) fn settings_named(
        &self,
        name: &str,
        section: &ModelSection,
    ) -> Result<haft_model::Settings, CommandError> {
        let named = haft_model::Settings { model: name.to_owned(), ..Default::default() };
        let provider = named.check().map_err(failure)?;
        let meant = self.names_one(section).then(|| self.settings(section)).transpose()?;
        let is_other =
            meant.is_some_and(|meant| meant.check().is_ok_and(|known| known != provider));
        let (base_url, key_variable) = match is_other {
            true => (None, None),
            false => (self.base_url.clone(), self.key_variable.clone()),
        };
        let model = Some(name.to_owned());
        Self { model, base_url, key_variable, named: self.named }.settings(section)
    }

    /// Returns the model that was named in the command itself.
    pub(crate) fn in_command(&self) -> Option<String> {
        given(self.model.as_ref()).filter(|_| self.named.in_command)
    }

    /// Returns what there is to say of a session that keeps its model where the environment names another one.
    pub(crate) fn note_of_kept(&self, model: &str) -> Option<String> {
        let named = given(self.model.as_ref()).filter(|named| named != model)?;
        Some(format!(
            "the session keeps its model: {model} is asked, and {named} is not (--model changes it)"
        ))
    }

    /// Returns the error of a command that asks a model where none is named; nothing if one is.
    pub(crate) fn check_named(&self, section: &ModelSection) -> Result<(), CommandError> {
        if self.names_one(section) { Ok(()) } else { Err(no_model()) }
    }

    /// Returns whether flags, environment or manifest name a model.
    pub(crate) fn names_one(&self, section: &ModelSection) -> bool {
        given(self.model.as_ref()).is_some() || section.name.is_some()
    }

    /// What a manifest says of a place and a key belongs to the model that it names: of a model of another provider, or of
    /// another server, it says nothing.
    pub(crate) fn settings(
        &self,
        section: &ModelSection,
    ) -> Result<haft_model::Settings, CommandError> {
        let of_manifest = section.settings();
        let model = given(self.model.as_ref())
            .or_else(|| of_manifest.as_ref().map(|settings| settings.model.clone()))
            .ok_or_else(no_model)?;
        let named = haft_model::Settings { model, ..Default::default() };
        let provider = named.check().map_err(failure)?;
        let base_url = given(self.base_url.as_ref());
        let of_manifest = of_manifest.filter(|settings| {
            base_url.is_none() && settings.check().is_ok_and(|known| known == provider)
        });
        let (place, key) =
            of_manifest.map_or((None, None), |settings| (settings.base_url, settings.key_variable));
        let key_variable = given(self.key_variable.as_ref()).or(key);
        let (base_url, bounds) = (base_url.or(place), section.bounds());
        Ok(haft_model::Settings { base_url, key_variable, bounds, ..named })
    }
}

/// Prepares to ask a model, with the key that the environment has. Nothing is sent yet.
pub(crate) fn provider(settings: haft_model::Settings) -> Result<Provider, ModelError> {
    let key = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let authorities = std::env::var_os(AUTHORITIES).filter(|path| !path.is_empty());
    let settings = haft_model::Settings { authorities: authorities.map(Into::into), ..settings };
    Provider::open(&settings, &key)
}

/// A variable that is set to nothing names nothing.
fn given(value: Option<&String>) -> Option<String> {
    value.filter(|value| !value.is_empty()).cloned()
}

fn no_model() -> CommandError {
    let message = "no model is named: give --model, set HAFT_MODEL, or put `name` into the table [model] of haft.toml";
    CommandError::usage(message).hint("export HAFT_MODEL=openai/gpt-5")
}

/// Returns what a model that gave no answer means for a command.
pub(crate) fn failure(err: ModelError) -> CommandError {
    match err {
        ModelError::NoKey { ref variable, .. } => {
            let hint = format!("export {variable}=...");
            CommandError::usage(err).hint(hint)
        }
        ModelError::Settings(_) => CommandError::usage(err),
        ModelError::Timeout(_) => {
            CommandError::model(format!("{err} (model.timeout_ms in haft.toml)"))
        }
        ModelError::Idle(_) => CommandError::model(format!("{err} (model.idle_ms in haft.toml)")),
        ModelError::Authentication { .. } | ModelError::NotPermitted { .. } => {
            CommandError::usage(err).kind(Kind::Model)
        }
        ModelError::KeyWanted { .. } => CommandError::usage(err)
            .kind(Kind::Model)
            .hint("export HAFT_KEY_VARIABLE=OPENAI_API_KEY"),
        err => CommandError::model(err),
    }
}

/// Returns that a model is asked again, in words: what happened, and when which attempt is made.
pub(crate) fn retrying(error: &str, wait_ms: u64, attempt: u32, attempts_max: u32) -> String {
    format!("{error}: trying again in {} (attempt {attempt} of {attempts_max})", in_words(wait_ms))
}

/// Returns what requests took, in words.
pub(crate) fn took(usage: Usage) -> String {
    let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let written = usage.output.saturating_add(usage.reasoning);
    if read == 0 && written == 0 {
        return "no tokens reported".to_owned();
    }
    format!("{read} tokens read, {written} written")
}

#[cfg(test)]
mod tests {
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
            let settings = args(words).settings(&section(name)).unwrap();
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
    fn a_model_that_is_asked_again_is_said_to_be() {
        let said = retrying("openai cannot answer at the moment (HTTP 503)", 2_000, 3, 4);
        let expect =
            "openai cannot answer at the moment (HTTP 503): trying again in 2.0 s (attempt 3 of 4)";
        assert_eq!(said, expect);
    }

    #[test]
    fn what_a_model_does_not_report_is_not_taken_for_nothing() {
        assert_eq!(took(Usage::default()), "no tokens reported");
        let usage = Usage { input: 1, reasoning: 2, ..Usage::default() };
        assert_eq!(took(usage), "1 tokens read, 2 written");
    }

    #[test]
    fn a_model_that_the_command_names_is_told_from_one_of_the_environment() {
        assert_eq!(args(&["--model", "openai/a"]).in_command().as_deref(), Some("openai/a"));
        assert_eq!(args(&["--model="]).in_command(), None);
        assert_eq!(args(&[]).in_command(), None);
    }

    #[test]
    fn a_model_must_be_named() {
        let err = args(&[]).settings(&ModelSection::default()).unwrap_err();
        assert!(err.message.contains("HAFT_MODEL"), "{}", err.message);
        let err = args(&["--model", "gpt-5"]).settings(&ModelSection::default()).unwrap_err();
        assert!(err.message.contains("expected provider/name"), "{}", err.message);
    }
}
