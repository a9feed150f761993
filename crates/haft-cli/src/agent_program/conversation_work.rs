//! The parts that a conversation and its commands work with.

use crate::arguments::cli_context::CliContext;
use haft_app::compose::agent::ComposedAgent;
use haft_app::settings::EffectiveSettings;

/// The parts that a conversation works with.
pub(crate) struct ConversationWork<'w> {
    pub(crate) composed: &'w ComposedAgent,
    pub(crate) settings: &'w EffectiveSettings,
    pub(crate) cx: &'w CliContext,
    /// Whether each line stays as it is once it is written.
    pub(crate) is_plain: bool,
}
