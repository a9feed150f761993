//! Models of providers, ready to be asked. Keys are taken from the environment of the host and from nowhere else. The client
//! keeps them out of all output.

use std::sync::Arc;

use haft_agent::ModelLookup;
use haft_model::{Model, ModelError, ModelSettings, ProviderModel};

use crate::app_error::{AppError, AppErrorKind};
use crate::host::AppHost;
use crate::manifest::ModelSection;
use crate::model_choice::{ModelChoice, no_model_in};
use crate::settings::EffectiveSettings;

/// The environment variable that names a file of certificate authorities, as other programs have it.
const AUTHORITIES: &str = "SSL_CERT_FILE";

impl ModelChoice {
    /// Prepares to ask the model that the choice or the manifest names. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Fails like [`ModelChoice::settings`], if the environment has no key for the provider, and if the authorities that it names
    /// cannot be read.
    pub fn open(&self, section: &ModelSection, host: &AppHost) -> Result<ProviderModel, AppError> {
        Ok(provider(self.settings(section)?, host)?)
    }
}

/// Prepares to ask a model, with the key that the environment holds. Nothing is sent yet.
fn provider(settings: ModelSettings, host: &AppHost) -> Result<ProviderModel, ModelError> {
    let authorities = host.variable_if_set(AUTHORITIES).map(Into::into);
    let settings = ModelSettings { authorities, ..settings };
    ProviderModel::open(&settings, &|name| host.variable_text(name))
}

/// Returns the models by the names that agents and sessions have for them.
pub fn named_models(
    choice: ModelChoice,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Arc<dyn ModelLookup> {
    let missing = no_model_in(settings).message;
    Arc::new(NamedModels { choice, section: settings.model.clone(), missing, host: host.clone() })
}

/// Finds models by the names of the settings.
struct NamedModels {
    /// The model that the user chose for this process.
    choice: ModelChoice,
    /// The models of the manifest.
    section: ModelSection,
    /// Says why no model is named.
    missing: String,
    /// Gives the keys of providers.
    host: AppHost,
}

impl ModelLookup for NamedModels {
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        let settings = match name {
            Some(name) => self.choice.settings_named(name, &self.section),
            None if self.choice.is_named(&self.section) => self.choice.settings(&self.section),
            None => return Err(ModelError::Settings(self.missing.clone())),
        };
        let settings = settings.map_err(|err| match err.kind {
            AppErrorKind::Model(err) => *err,
            _ => ModelError::Settings(err.message),
        });
        let provider = provider(settings?, &self.host)?;
        Ok((provider.name(), Arc::new(provider)))
    }
}
