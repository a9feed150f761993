//! The target of a request: the model, its URL and the HTTP client.

use super::secret::ProviderKey;
use crate::name::ModelName;
use crate::settings::ModelAnswerBounds;

/// The target of a request.
#[derive(Debug)]
pub(super) struct ProviderTarget {
    pub(super) name: ModelName,
    pub(super) url: String,
    /// Host and port, for errors about connecting.
    pub(super) address: String,
    pub(super) client: genai::Client,
    pub(super) secret: Option<ProviderKey>,
    /// The environment variable of the key, or the setting that would name one.
    pub(super) key_place: String,
    pub(super) bounds: ModelAnswerBounds,
}
