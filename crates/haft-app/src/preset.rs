//! Which preset of rules holds where no other rule does. The presets themselves are manifests of the policy crate;
//! nothing here knows what one allows.

use haft_policy::{PRESETS, Rule};
use serde::Deserialize;

/// A preset, in the order of how much it allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Read files inside the roots, change nothing
    ReadOnly,
    /// Read files inside the roots, ask about everything else
    Ask,
    /// Read, write and edit files inside the roots, run confined commands, ask about everything else
    #[default]
    Workspace,
    /// Allow everything
    Full,
}

/// The file of a preset.
#[derive(Deserialize)]
struct PresetManifest {
    /// The rules, in the order in which they are written.
    permissions: Vec<Rule>,
}

impl Preset {
    /// All presets, in the order of how much they allow.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::Workspace, Self::Full];

    /// Returns the preset of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Returns what the preset allows, in words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::ReadOnly => "Read files inside the roots, change nothing",
            Self::Ask => "Read files inside the roots, ask about everything else",
            Self::Workspace => {
                "Read, write and edit files inside the roots, run confined commands, ask about everything else"
            }
            Self::Full => "Allow everything",
        }
    }

    /// Returns the name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Workspace => "workspace",
            Self::Full => "full",
        }
    }

    /// Returns the preset as it is written.
    pub fn text(self) -> &'static str {
        let (_, text) = PRESETS
            .iter()
            .find(|(name, _)| *name == self.name())
            .expect("a test checks that the policy crate has every preset");
        text
    }

    /// Returns the preset's rules.
    pub fn rules(self) -> Vec<Rule> {
        let manifest: PresetManifest =
            toml::from_str(self.text()).expect("a test checks that every preset can be read");
        manifest.permissions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_read_and_none_is_forgotten() {
        let presets = Preset::ALL;
        assert_eq!(presets.len(), PRESETS.len());
        for preset in presets {
            assert!(!preset.rules().is_empty(), "{preset:?}");
        }
    }
}
