//! Every setting, declared once: its key in the manifest, its flag and variable, what it means, how a flag goes together
//! with the manifest, and whether it widens what an agent may do. The reader takes its keys from here. An untrusted
//! manifest keeps only values that are declared here not to widen.

mod table;

use std::path::Path;

use haft_policy::RuleAction;
use toml::Value;

use crate::manifest::Manifest;

pub use self::table::SETTINGS;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key in the manifest, with its tables. `[]` stands for each item of a list and `*` for each entry of a table. A
    /// setting that no manifest can hold has none.
    pub key: Option<&'static str>,
    /// The flag of the same meaning.
    pub flag: Option<&'static str>,
    /// The environment variable of the same meaning.
    pub env: Option<&'static str>,
    /// The value that it sets, in words.
    pub doc: &'static str,
    /// How a flag goes together with the manifest.
    pub merge: SettingMerge,
    /// Whether a value widens what an agent may do.
    pub widens: Widens,
    /// Whether the user's own configuration can hold it, for all of the user's projects.
    pub is_of_user: bool,
    /// Returns a value of the manifest as its reader is told of it, if it is not simply the key and the value.
    wording: Option<Wording>,
}

/// Whether a value widens what an agent may do. A manifest that is not trusted keeps only what does not.
#[derive(Clone, Copy, Debug)]
pub enum Widens {
    /// Any value holds.
    Never,
    /// No value holds before the manifest is trusted.
    Always,
    /// A value holds unless the function says that it widens. The path is the directory of the manifest.
    If(fn(&Value, &Path) -> bool),
    /// It is a part of an entry, which is judged as a whole.
    OfEntry,
}

/// How a flag goes together with the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingMerge {
    /// The flag takes the place of the manifest's value.
    Replace,
    /// The flag adds to the manifest's values.
    Add,
}

/// Puts a value into words: one of the manifest as it was read, the place of the item in its list, and the name of the
/// entry in its table.
type Wording = fn(&Manifest, usize, &str) -> Option<String>;

impl Setting {
    /// Declares a key of the manifest. It widens unless it is declared otherwise.
    const fn key(key: &'static str, doc: &'static str) -> Self {
        Self {
            key: Some(key),
            flag: None,
            env: None,
            doc,
            merge: SettingMerge::Replace,
            widens: Widens::Always,
            is_of_user: false,
            wording: None,
        }
    }

    /// Declares a part of an entry of a list or a table.
    const fn part(key: &'static str, doc: &'static str) -> Self {
        Self { widens: Widens::OfEntry, ..Self::key(key, doc) }
    }

    /// Declares a setting that no manifest can hold.
    const fn flag_only(flag: &'static str, doc: &'static str) -> Self {
        Self { key: None, flag: Some(flag), ..Self::key("", doc) }
    }

    /// Names the option of the command line that sets the value.
    const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    /// Names the environment variable that sets the value.
    const fn env(mut self, env: &'static str) -> Self {
        self.env = Some(env);
        self
    }

    /// Adds the values of all sources, instead of taking the first one.
    const fn adds(mut self) -> Self {
        self.merge = SettingMerge::Add;
        self
    }

    /// Declares that no value widens what an agent may do.
    const fn narrows(mut self) -> Self {
        self.widens = Widens::Never;
        self
    }

    /// Declares which values widen what an agent may do.
    const fn widens_if(mut self, widens: fn(&Value, &Path) -> bool) -> Self {
        self.widens = Widens::If(widens);
        self
    }

    /// Lets the user's own configuration hold the setting, too.
    const fn of_user(mut self) -> Self {
        self.is_of_user = true;
        self
    }

    /// Sets how a value is described to the user who is asked to trust it.
    const fn worded(mut self, wording: Wording) -> Self {
        self.wording = Some(wording);
        self
    }

    /// Returns whether a value widens what an agent may do.
    pub fn is_widened_by(&self, value: &Value, directory: &Path) -> bool {
        match self.widens {
            Widens::Never => false,
            Widens::Always | Widens::OfEntry => true,
            Widens::If(widens) => widens(value, directory),
        }
    }

    /// Returns a value of the manifest in words.
    pub(crate) fn words(
        &self,
        value: &Value,
        manifest: &Manifest,
        place: usize,
        name: &str,
    ) -> String {
        let own = self.wording.and_then(|wording| wording(manifest, place, name));
        own.unwrap_or_else(|| {
            let key = self.key.unwrap_or_default();
            let value = match value {
                Value::String(text) => format!("{text:?}"),
                value => value.to_string(),
            };
            match (key.strip_suffix("[]"), key.strip_suffix('*')) {
                (Some(list), _) => format!("{list} = [{value}]"),
                (None, Some(table)) => format!("{table}{name} = {value}"),
                (None, None) => format!("{key} = {value}"),
            }
        })
    }
}

/// Returns the keys of a table of the manifest, in order; `section` is its key, empty for the manifest itself.
pub(crate) fn keys_of(section: &str) -> Vec<&'static str> {
    let start = if section.is_empty() { String::new() } else { format!("{section}.") };
    let keys = SETTINGS.iter().filter_map(|setting| setting.key);
    let next_word = |key: &'static str| {
        let mut rest = key;
        for word in start.split_terminator('.') {
            let (first, after) = rest.split_once('.')?;
            // Items of a list belong to the table of the list.
            if first.strip_suffix("[]").unwrap_or(first) != word {
                return None;
            }
            rest = after;
        }
        let word = rest.split('.').next()?;
        let word = word.strip_suffix("[]").unwrap_or(word);
        (word != "*").then_some(word)
    };
    let mut keys: Vec<&str> = keys.filter_map(next_word).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the keys of the first level that the user's own configuration can hold, in order.
pub fn keys_of_user() -> Vec<&'static str> {
    let keys = SETTINGS.iter().filter(|setting| setting.is_of_user).filter_map(|it| it.key);
    let mut keys: Vec<&str> = keys.filter_map(|key| key.split(['.', '[']).next()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A number widens if it is larger than the default.
fn is_larger(value: &Value, default: u64) -> bool {
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
    number.is_none_or(|number| number > default)
}

/// A path widens unless it leads, all links followed, to a place inside the directory.
fn leads_outside(value: &Value, directory: &Path) -> bool {
    let place = value.as_str().and_then(|path| directory.join(path).canonicalize().ok());
    place.is_none_or(|place| !place.starts_with(directory))
}

/// A rule widens unless it denies or asks, as one without an action does.
fn is_allow(value: &Value, _: &Path) -> bool {
    let Some(rule) = value.as_table() else { return true };
    let action = rule.get("action").map(|action| action.clone().try_into::<RuleAction>());
    let strict = [RuleAction::Deny, RuleAction::Ask];
    !action.unwrap_or(Ok(RuleAction::default())).is_ok_and(|action| strict.contains(&action))
}

#[cfg(test)]
mod tests;
