//! The settings that haft records with every run: those that differ from their defaults, so that a reader of the run knows
//! them. Secrets are not recorded.

use haft::RepeatPolicy;
use haft_policy::NetworkGuard;
use haft_tools::Profile;
use serde_json::{Map, Value, json};

use crate::network_guard::NetworkGuardName;
use crate::preset::Preset;
use crate::settings::EffectiveSettings;

/// Returns a JSON object of the settings that differ from the defaults.
pub(super) fn settings_record(settings: &EffectiveSettings) -> String {
    let sandbox = &settings.sandbox;
    let python: Vec<_> = settings.python.entries.iter().map(|entry| &entry.dir).collect();
    let commands: Vec<_> = settings.commands.iter().map(|entry| &entry.id).collect();
    let is_guard =
        |name: &NetworkGuardName| Some(NetworkGuard::from(*name)) == settings.network_guard;
    let guard = NetworkGuardName::ALL.into_iter().find(is_guard);
    let on_repeat = match settings.durability.on_repeat {
        RepeatPolicy::Warn => "warn",
        RepeatPolicy::Refuse => "refuse",
        RepeatPolicy::Recall => "recall",
    };
    let profile = match settings.profile {
        Profile::Contract => "contract",
        Profile::Smithers => "smithers",
    };
    let entries = [
        ("allow", !settings.allow.is_empty(), json!(settings.allow)),
        ("allow_hosts", !settings.allow_hosts.is_empty(), json!(settings.allow_hosts)),
        ("allow_network", settings.allow_network, json!(true)),
        ("commands", !commands.is_empty(), json!(commands)),
        (
            "network_guard",
            settings.network_guard.is_some(),
            json!(guard.map_or("unknown", NetworkGuardName::name)),
        ),
        ("on_repeat", settings.durability.on_repeat != RepeatPolicy::default(), json!(on_repeat)),
        ("preset", settings.preset != Preset::default(), json!(settings.preset.name())),
        ("profile", settings.profile != Profile::default(), json!(profile)),
        ("python", !python.is_empty(), json!(python)),
        ("reference_watchdog", !settings.reference_watchdog, json!(false)),
        ("roots", !settings.roots.is_empty(), json!(settings.roots)),
        ("snapshots", settings.snapshots.is_none(), json!(false)),
        ("unprotect", !sandbox.unprotect.is_empty(), json!(sandbox.unprotect)),
        ("unsafe_no_sandbox", sandbox.is_off, json!(true)),
    ];
    let differing = entries.into_iter().filter(|(_, differs, _)| *differs);
    let object: Map<String, Value> =
        differing.map(|(name, _, value)| (name.to_owned(), value)).collect();
    Value::Object(object).to_string()
}
