//! What of the settings is recorded with every run: what a reader of the run must know because it is not as it is by
//! itself. Nothing secret is among it.

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
    let commands: Vec<_> = settings.commands.entries.iter().map(|entry| &entry.id).collect();
    let default_guard = NetworkGuard::from(NetworkGuardName::default());
    let entries = [
        ("allow", !settings.allow.is_empty(), json!(settings.allow)),
        ("allow_hosts", !settings.allow_hosts.is_empty(), json!(settings.allow_hosts)),
        ("allow_network", settings.allow_network, json!(true)),
        ("commands", !commands.is_empty(), json!(commands)),
        (
            "network_guard",
            settings.network_guard != default_guard,
            json!(guard_name(settings.network_guard)),
        ),
        (
            "on_repeat",
            settings.durability.on_repeat != RepeatPolicy::default(),
            json!(repeat_name(settings.durability.on_repeat)),
        ),
        ("preset", settings.preset != Preset::default(), json!(settings.preset.name())),
        ("profile", settings.profile != Profile::default(), json!(profile_name(settings.profile))),
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

fn guard_name(guard: NetworkGuard) -> &'static str {
    let of = |guard: NetworkGuardName| (NetworkGuard::from(guard), guard.name());
    let names = NetworkGuardName::ALL.map(of);
    names.into_iter().find(|(known, _)| *known == guard).map_or("unknown", |(_, name)| name)
}

fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Contract => "contract",
        Profile::Smithers => "smithers",
    }
}

fn repeat_name(on_repeat: RepeatPolicy) -> &'static str {
    match on_repeat {
        RepeatPolicy::Warn => "warn",
        RepeatPolicy::Refuse => "refuse",
        RepeatPolicy::Recall => "recall",
    }
}
