//! Which model is asked: what a front end names comes before the manifest. This module also decides which server may get a
//! key.

use crate::app_error::{AppError, NextStep};
use crate::manifest::ModelSection;
use crate::settings::EffectiveSettings;

/// The model that a front end names. An empty text names no model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// `provider/name`.
    pub model: Option<String>,
    /// Where the provider is instead of its usual place.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, instead of the provider's usual one.
    pub key_variable: Option<String>,
}

impl ModelChoice {
    /// Returns how the model of that name is asked. A place and a key that were given belong to the model that was meant, and
    /// so to another one only if it is of the same provider.
    ///
    /// # Errors
    ///
    /// Fails if the name has no known provider, and like [`Self::settings`] for the model that was meant.
    pub fn settings_named(
        &self,
        name: &str,
        section: &ModelSection,
    ) -> Result<haft_model::ModelSettings, AppError> {
        let named = haft_model::ModelSettings { model: name.to_owned(), ..Default::default() };
        let provider = named.check()?;
        let meant = self.is_named(section).then(|| self.settings(section)).transpose()?;
        let is_other =
            meant.is_some_and(|meant| meant.check().is_ok_and(|known| known != provider));
        let (base_url, key_variable) = match is_other {
            true => (None, None),
            false => (self.base_url.clone(), self.key_variable.clone()),
        };
        let model = Some(name.to_owned());
        Self { model, base_url, key_variable }.settings(section)
    }

    /// Returns whether the choice or the manifest name a model.
    pub fn is_named(&self, section: &ModelSection) -> bool {
        given(self.model.as_ref()).is_some() || section.name.is_some()
    }

    /// The URL and the key of a manifest belong to the model that it names. They do not apply to a model of another provider
    /// or server.
    ///
    /// # Errors
    ///
    /// Fails if neither the choice nor the manifest names a model, and if the name has no known provider.
    pub fn settings(&self, section: &ModelSection) -> Result<haft_model::ModelSettings, AppError> {
        let of_manifest = section.settings();
        let model = given(self.model.as_ref())
            .or_else(|| of_manifest.as_ref().map(|settings| settings.model.clone()))
            .ok_or_else(no_model)?;
        let named = haft_model::ModelSettings { model, ..Default::default() };
        let provider = named.check()?;
        let base_url = given(self.base_url.as_ref());
        let of_manifest = of_manifest.filter(|settings| {
            base_url.is_none() && settings.check().is_ok_and(|known| known == provider)
        });
        // Another model may see images although this one does not, wherever it is asked.
        let is_same_model = section.name.as_ref() == Some(&named.model);
        let images = section.images.filter(|_| is_same_model);
        let (place, key) =
            of_manifest.map_or((None, None), |settings| (settings.base_url, settings.key_variable));
        let key_variable = given(self.key_variable.as_ref()).or(key);
        let (base_url, bounds) = (base_url.or(place), section.bounds());
        Ok(haft_model::ModelSettings { base_url, key_variable, images, bounds, ..named })
    }
}

/// A variable that is set to nothing names nothing.
fn given(value: Option<&String>) -> Option<String> {
    value.filter(|value| !value.is_empty()).cloned()
}

/// Returns the error of a request that names no model, and for which the settings name none.
pub(crate) fn no_model() -> AppError {
    let message =
        "no model is named: choose one, or put `name` into the table [model] of haft.toml";
    AppError::configuration(message).next(NextStep::NameModel)
}

/// Returns the error of a request that names no model. If a file names one that the user has not trusted yet, it says so.
pub fn no_model_in(settings: &EffectiveSettings) -> AppError {
    let untrusted = settings.untrusted.iter().find_map(|untrusted| {
        let model = untrusted.names.model.as_ref()?;
        let message =
            format!("the model {model:?} of {} is not trusted yet", untrusted.file.display());
        Some(AppError::configuration(message).next(untrusted.next()))
    });
    untrusted.unwrap_or_else(no_model)
}
