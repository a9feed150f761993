//! The table of settings, in the order in which a reader is told of them.

use haft::SHOWN_CHARS_DEFAULT;
use haft::limits::ANSWER_MS_DEFAULT;
use haft_agent::limits::{CONTEXT_TOKENS_DEFAULT, STEPS_MAX_DEFAULT};
use haft_contract::RequirementSet;
use haft_contract::limits::{OUTPUT_BYTES_DEFAULT, TIMEOUT_MS_DEFAULT};
use haft_plan::drive::limits::PARALLEL_DEFAULT;
use haft_sandbox::ResourceLimits;
use haft_sandbox::proxy::UpstreamProxy;

use super::{Setting, is_allow, is_larger, leads_outside};
use crate::manifest::LanguageEntry;
use crate::network_guard::NetworkGuardName;
use crate::password::without_passwords;
use crate::preset::Preset;

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    Setting::flag_only("--config", "The manifest to use instead of the one that is found")
        .env("HAFT_CONFIG"),
    Setting::flag_only("--allow", "Tools whose every call is allowed for this session").adds(),
    Setting::flag_only("--ad-hoc", "Files outside the roots that calls may read").adds(),
    Setting::flag_only("--unsafe-no-sandbox", "Whether commands run without the kernel sandbox")
        .env("HAFT_UNSAFE_NO_SANDBOX"),
    Setting::key("root", "The directory that calls may reach, where relative paths start")
        .flag("--root")
        .env("HAFT_ROOT")
        .widens_if(leads_outside),
    Setting::key("roots[]", "Further directories that calls may reach").widens_if(leads_outside),
    Setting::key("profile", "The shapes of the tools")
        .flag("--profile")
        .env("HAFT_PROFILE")
        .narrows(),
    Setting::key("tools", "The tools to offer").flag("--tools").env("HAFT_TOOLS").narrows(),
    Setting::key("preset", "The rules that hold where no other rule does")
        .flag("--preset")
        .env("HAFT_PRESET")
        .of_user()
        .widens_if(|value, _| {
            let preset = value.as_str().and_then(Preset::parse);
            preset.is_none_or(|preset| preset > Preset::default())
        }),
    Setting::key("asks", "Whether a call waits for a person if its client cannot ask one")
        .of_user()
        .narrows(),
    Setting::key("allow_network", "Whether commands get the ordinary network")
        .flag("--allow-network")
        .env("HAFT_ALLOW_NETWORK")
        .widens_if(|value, _| value.as_bool() != Some(false)),
    Setting::key("limits.listed_tools", "The tools of servers and Python files listed at once")
        .narrows(),
    Setting::key("limits.output_bytes", "The longest output of a call, and largest file or patch")
        .flag("--output-bytes")
        .env("HAFT_OUTPUT_BYTES")
        .widens_if(|value, _| is_larger(value, OUTPUT_BYTES_DEFAULT as u64)),
    Setting::key("limits.timeout_ms", "The time for a call that asks for none itself")
        .flag("--timeout-ms")
        .env("HAFT_TIMEOUT_MS")
        .widens_if(|value, _| is_larger(value, TIMEOUT_MS_DEFAULT)),
    Setting::key("limits.answer_ms", "The time for a person to allow a call")
        .widens_if(|value, _| is_larger(value, ANSWER_MS_DEFAULT)),
    Setting::key("limits.shown_chars", "The longest answer that a model is shown, in characters")
        .widens_if(|value, _| is_larger(value, SHOWN_CHARS_DEFAULT as u64)),
    Setting::key("network_guard", "How many commands are refused by name without a network")
        .flag("--network-guard")
        .env("HAFT_NETWORK_GUARD")
        .widens_if(|value, _| {
            let guard = value.as_str().and_then(NetworkGuardName::parse);
            guard.is_none_or(|guard| guard < NetworkGuardName::Standard)
        }),
    // The proxy sees which hosts are reached, and everything that is not encrypted.
    Setting::key("network.proxy", "The proxy through which granted hosts are reached").worded(
        |manifest, _, _| {
            let proxy = UpstreamProxy::parse(manifest.network.proxy.as_deref()?, "").ok()?;
            Some(format!("network.proxy = \"{}:{}\"", proxy.host(), proxy.port()))
        },
    ),
    // Another journal is a place that records are sent to, and it holds records of other workspaces, too.
    Setting::key("durability.journal", "Where calls are recorded")
        .flag("--db")
        .env("HAFT_DB")
        .worded(|manifest, _, _| {
            let journal = manifest.durability.journal.as_ref()?;
            Some(format!("durability.journal = {:?}", without_passwords(journal)))
        }),
    Setting::key("durability.keep_days", "How long records are kept, in days"),
    Setting::key("durability.keep_bytes", "How much is kept, in bytes"),
    // Each of the ways to treat repeated calls is as narrow as the others.
    Setting::key("durability.on_repeat", "What is done about a call that is not safe to repeat")
        .narrows(),
    // A run that is named is recalled with all that other workspaces recorded in it.
    Setting::key("scope.run", "The run that calls belong to"),
    Setting::key("scope.node", "The task inside the run"),
    Setting::key("scope.iteration", "The loop index of the task, from 0"),
    Setting::key("scope.attempt", "The retry number of the task, from 1"),
    Setting::key("snapshots.enabled", "Whether changes are recorded, so that they can be undone")
        .flag("--no-snapshots")
        .env("HAFT_NO_SNAPSHOTS")
        .widens_if(|value, _| value.as_bool() != Some(true)),
    Setting::key("snapshots.exclude[]", "Files of which nothing is recorded"),
    Setting::key("snapshots.file_bytes", "The largest file that is recorded, in bytes"),
    Setting::key("snapshots.files", "The most files that are recorded"),
    Setting::key(
        "snapshots.repositories",
        "Whether refs and index of a root's repository are recorded, too",
    ),
    Setting::key("snapshots.ignored_bytes", "The largest ignored file that is recorded"),
    Setting::key("snapshots.ignored_files", "The most ignored files that are recorded"),
    // The model decides who reads the answers of tools, and who is paid.
    Setting::key("model.name", "The model to ask, as provider/name").of_user(),
    Setting::key("model.base_url", "The server to ask instead of the provider's own").of_user(),
    Setting::key("model.key_variable", "The environment variable that holds the key").of_user(),
    Setting::key("model.images", "Whether the model sees images").of_user(),
    Setting::key(
        "model.input_cents",
        "The price of a million tokens that the model reads, in US cents",
    )
    .of_user(),
    Setting::key("model.output_cents", "The price of a million tokens that it writes, in US cents")
        .of_user(),
    Setting::key("model.cached_cents", "The price of a million tokens from the cache, in US cents")
        .of_user(),
    Setting::key("model.timeout_ms", "How long an answer may take").of_user(),
    Setting::key("model.idle_ms", "How long the model may be silent").of_user(),
    Setting::key("agent.default", "The agent of a new session").narrows(),
    Setting::key("agent.output_tokens", "How long an answer may be, in tokens").narrows(),
    Setting::key("agent.context_tokens", "How much the model can read, in tokens")
        .widens_if(|value, _| is_larger(value, CONTEXT_TOKENS_DEFAULT)),
    Setting::key("agent.max_steps", "How often the model answers in one turn")
        .widens_if(|value, _| is_larger(value, STEPS_MAX_DEFAULT as u64)),
    // The provider reads what is searched for.
    Setting::key("web_search.providers[]", "A provider that web_search asks")
        .worded(|manifest, place, _| Some(manifest.web_search.providers.get(place)?.summary())),
    Setting::part("web_search.providers[].key_variable", "The variable that holds its key"),
    Setting::part("web_search.providers[].kind", "What it is"),
    Setting::part("web_search.providers[].url", "Where it is"),
    Setting::key("web_search.calls_max", "Searches of one connection"),
    Setting::key("web_search.timeout_ms", "The time for one search"),
    Setting::key("sandbox.memory_bytes", "The memory of a command")
        .widens_if(|value, _| is_larger(value, ResourceLimits::default().memory_bytes)),
    Setting::key("sandbox.processes", "The processes of a command")
        .widens_if(|value, _| is_larger(value, ResourceLimits::default().processes.into())),
    Setting::key("sandbox.temp_bytes", "The temporary files of a command, in bytes")
        .widens_if(|value, _| is_larger(value, ResourceLimits::default().temp_bytes)),
    Setting::key("sandbox.file_bytes", "The largest file that a command can write")
        .widens_if(|value, _| is_larger(value, ResourceLimits::default().file_bytes)),
    Setting::key("sandbox.open_files", "The open files of one process")
        .widens_if(|value, _| is_larger(value, ResourceLimits::default().open_files.into())),
    Setting::key("sandbox.control_groups", "Whether each command gets a control group").narrows(),
    Setting::key("sandbox.protect", "Further names that neither tools nor commands change")
        .narrows(),
    Setting::key("sandbox.readable[]", "Further places that commands can read"),
    Setting::key("sandbox.unprotect[]", "Protected names that are not protected"),
    // A watchdog narrows, but its program runs with the rights of the user.
    Setting::key("watchdogs[]", "A program that sees every call before it executes").worded(
        |manifest, place, _| {
            Some(format!("watchdogs = [{:?}]", manifest.watchdogs.get(place)?.program))
        },
    ),
    Setting::part("watchdogs[].program", "The program and its arguments"),
    Setting::part("watchdogs[].timeout_ms", "How long it may take for one call"),
    // A program runs with the rights of the user, and a webhook learns what an agent does.
    Setting::key("notify[]", "A program or a webhook that learns of asks, ends and doubts")
        .of_user()
        .worded(|manifest, place, _| Some(manifest.notify.get(place)?.summary())),
    Setting::part("notify[].contents", "Whether input, accesses, reasons and root are sent"),
    Setting::part("notify[].format", "The shape of a post: json, slack or ntfy"),
    Setting::part("notify[].on", "The events: ask, end, in_doubt"),
    Setting::part("notify[].program", "The program and its arguments"),
    Setting::part("notify[].timeout_ms", "The time for one try"),
    Setting::part("notify[].token_variable", "The variable that holds the token of a webhook"),
    Setting::part("notify[].url", "The address that is posted to"),
    Setting::key("reference_watchdog", "Whether the built-in watchdog sees every call")
        .widens_if(|value, _| value.as_bool() != Some(true)),
    // Bounds of single tools narrow, because without them there are none.
    Setting::key("plan.parallel", "How many nodes of a plan run at the same time")
        .widens_if(|value, _| is_larger(value, PARALLEL_DEFAULT.get() as u64)),
    Setting::key("plan.tools.*", "How often one tool is called by a plan").narrows(),
    Setting::part("plan.tools.*.concurrency", "Its calls at the same time"),
    Setting::part("plan.tools.*.per_minute", "Its calls in a minute"),
    // A command runs the program that it names, with the arguments that it names.
    Setting::key("commands[]", "A command that is a tool")
        .worded(|manifest, place, _| Some(manifest.commands.get(place)?.summary())),
    Setting::part("commands[].allow_dash", "Parameters that may begin with a dash"),
    Setting::part("commands[].argv", "The program and its arguments"),
    Setting::part("commands[].cwd", "Where it runs"),
    Setting::part("commands[].dangerous", "Whether a plan asks before it"),
    Setting::part("commands[].description", "What it is good for"),
    Setting::part("commands[].effect", "Whether it can be repeated"),
    Setting::part("commands[].id", "The tool's id"),
    Setting::part("commands[].kind", "The kind of tool that an editor shows"),
    Setting::part("commands[].parameters", "The JSON Schema of its input"),
    Setting::part("commands[].requires.capabilities", "Capabilities by name"),
    Setting::part("commands[].requires.fs.read", "The files that it reads"),
    Setting::part("commands[].requires.fs.write", "The files that it changes"),
    Setting::part("commands[].requires.net.hosts", "The hosts that it reaches"),
    Setting::part("commands[].requires.shell[].args", "The pattern of a program's arguments"),
    Setting::part("commands[].requires.shell[].cmd", "A further program that it runs"),
    Setting::part("commands[].timeout_ms", "How long it may take"),
    // Skills inside the manifest's directory are found there anyway.
    Setting::key("skills.paths[]", "A further directory of skills").widens_if(leads_outside),
    // A Python file says itself what its tools need and do.
    Setting::key("python[]", "A directory of Python tools")
        .flag("--python")
        .adds()
        .worded(|manifest, place, _| Some(manifest.python.get(place)?.summary())),
    Setting::part("python[].dir", "The directory"),
    Setting::part("python[].idle_ms", "When an idle process ends"),
    Setting::part("python[].interpreter", "The Python that runs its files"),
    Setting::part("python[].memory_bytes", "The memory of one process"),
    Setting::part("python[].package_root", "The directory of the top package"),
    Setting::part("python[].readable", "What else its files read"),
    Setting::part("python[].workers", "The processes of one file"),
    // The settings of a server may have it run programs. To do without a server narrows.
    Setting::key("lsp.*", "A language server")
        .widens_if(|value, _| {
            let entry: Result<LanguageEntry, _> = value.clone().try_into();
            !entry.is_ok_and(|entry| entry.only_disables())
        })
        .worded(|manifest, _, name| Some(manifest.lsp.get(name)?.summary(name))),
    Setting::part("lsp.*.command", "The program and its arguments"),
    Setting::part("lsp.*.enabled", "Whether it is asked"),
    Setting::part("lsp.*.extensions", "The ends of the names of its files"),
    Setting::part("lsp.*.root_markers", "Files at the root of its projects"),
    Setting::part("lsp.*.settings", "What the server is told"),
    // An MCP server is a program of others, and it is granted things.
    Setting::key("mcp.*", "An MCP server")
        .of_user()
        .worded(|manifest, _, name| Some(manifest.mcp.get(name)?.summary(name))),
    Setting::part("mcp.*.args", "The arguments of its program"),
    Setting::part("mcp.*.command", "Its program"),
    Setting::part("mcp.*.cwd", "Where it runs"),
    Setting::part("mcp.*.enabled", "Whether it is used"),
    Setting::part("mcp.*.env", "The variables that it gets"),
    Setting::part("mcp.*.headers", "Headers that it is sent"),
    Setting::part("mcp.*.oauth.client_id", "The client that haft is to it"),
    Setting::part("mcp.*.oauth.client_metadata_url", "Where haft's client metadata is"),
    Setting::part("mcp.*.oauth.client_secret", "The secret of that client"),
    Setting::part("mcp.*.oauth.redirect_port", "The port that a login returns to"),
    Setting::part("mcp.*.oauth.scopes", "The scopes that a login asks for"),
    Setting::part("mcp.*.readable", "What else it reads"),
    Setting::part("mcp.*.requires", "What it is granted"),
    Setting::part("mcp.*.timeout_ms", "The time for one call"),
    Setting::part("mcp.*.token_variable", "The variable that holds its token"),
    Setting::part("mcp.*.trust_annotations", "Whether its word about effects counts"),
    Setting::part("mcp.*.url", "Where it is, if it runs elsewhere"),
    Setting::key("requires", "What the agent needs beyond its tools")
        .flag("--allow-host")
        .adds()
        .widens_if(|value, _| {
            let requires: Result<RequirementSet, _> = value.clone().try_into();
            !requires.is_ok_and(|requires| requires.is_empty())
        })
        .worded(|manifest, _, _| {
            Some(format!("requires = {}", serde_json::to_string(&manifest.requires).ok()?))
        }),
    Setting::part("requires.capabilities", "Capabilities by name"),
    Setting::part("requires.fs.read", "Files that it reads"),
    Setting::part("requires.fs.write", "Files that it changes"),
    Setting::part("requires.net.hosts", "Hosts that it reaches"),
    Setting::part("requires.shell[].args", "The arguments of a command that it runs"),
    Setting::part("requires.shell[].cmd", "A command that it runs"),
    Setting::key("permissions[]", "A rule")
        .of_user()
        .widens_if(is_allow)
        .worded(|manifest, place, _| Some(manifest.permissions.get(place)?.to_string())),
    Setting::part("permissions[].action", "allow, deny or ask"),
    Setting::part("permissions[].match", "Examples that the rule matches"),
    Setting::part("permissions[].not_match", "Examples that the rule does not match"),
    Setting::part("permissions[].pattern", "Paths, commands or hosts"),
    Setting::part("permissions[].permission", "A tool or a capability"),
    Setting::part("permissions[].when", "What must hold besides"),
];
