//! The model that agents and makers of plans ask: which one it is, where it is asked, and whether the
//! variable of its key is set. Nothing is sent to it, and of a key nothing is shown.

use serde::Serialize;

use haft_app::ModelChoice;
use haft_app::host::AppHost;
use haft_app::manifest::ModelSection;

/// The model that is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ModelReport {
    /// `provider/name`, unless it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// Where it is asked instead of its provider's own place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) base_url: Option<String>,
    /// The environment variable that its key is looked up in, if one is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_variable: Option<String>,
    /// Whether that variable holds anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_is_set: Option<bool>,
    /// Why it cannot be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// Returns what is configured; nothing if no model is.
pub(super) fn model_report(
    choice: &ModelChoice,
    section: &ModelSection,
    host: &AppHost,
) -> Option<ModelReport> {
    if !choice.is_named(section) {
        return None;
    }
    let settings = choice.settings(section).map_err(|err| err.message);
    let settings = settings.and_then(|settings| match settings.key_variable() {
        Ok(variable) => Ok((settings, variable)),
        // The rejected setting may be a key by mistake, so it is not shown.
        Err(err) => Err(err.to_string()),
    });
    let (settings, key_variable) = match settings {
        Ok(found) => found,
        Err(problem) => {
            return Some(ModelReport { problem: Some(problem), ..ModelReport::default() });
        }
    };
    let is_set = |name: &String| host.variable_if_set(name).is_some();
    let key_is_set = key_variable.as_ref().map(is_set);
    let missing = key_variable.clone().filter(|_| key_is_set == Some(false));
    Some(ModelReport {
        name: Some(settings.model),
        base_url: settings.base_url,
        problem: missing.map(|variable| format!("there is no key: set {variable}")),
        key_variable,
        key_is_set,
    })
}
