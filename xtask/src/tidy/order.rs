//! The order of modules inside each crate: a file imports from its own module and from earlier ones.
//!
//! `syntax` says what counts as an import. The crate's root may import from every module, and no module
//! imports from the root.

use super::TidyViolation;
use crate::syntax::{CrateImports, ProductionFile, by_crate};

const TABLE_PATH: &str = "xtask/src/tidy/order.rs";

/// The top-level modules of a crate, those that import nothing first.
pub(super) struct ModuleOrder {
    pub(super) crate_name: &'static str,
    pub(super) modules: &'static [&'static str],
}

pub(super) const MODULE_ORDER: &[ModuleOrder] = &[
    ModuleOrder {
        crate_name: "haft-patch",
        modules: &[
            "change",
            "limits",
            "passage",
            "error",
            "cursor",
            "hunk",
            "locate",
            "patch",
            "apply",
            "path",
            "section",
            "begin_patch",
            "unified_diff",
            "parse",
        ],
    },
    ModuleOrder {
        crate_name: "haft-tools",
        modules: &[
            "question",
            "skill",
            "task",
            "text_file",
            "bash",
            "command_tool",
            "edit",
            "apply_patch",
            "read",
            "repo_clone",
            "todo",
            "tool_search",
            "walk",
            "glob",
            "grep",
            "repo_overview",
            "web_fetch",
            "web_search",
            "options",
            "write",
            "smithers",
            "profile",
        ],
    },
    ModuleOrder {
        crate_name: "haft-shell",
        modules: &[
            "analysis",
            "arithmetic",
            "directories",
            "links",
            "findings",
            "programs",
            "operands",
            "syntax",
            "limits",
            "variables",
            "builtin",
            "word",
            "wrappers",
            "analyzer",
        ],
    },
    ModuleOrder {
        crate_name: "haft-app",
        modules: &[
            "app_error",
            "calendar",
            "environment",
            "haft_files",
            "host_paths",
            "id",
            "network_guard",
            "owner",
            "password",
            "preset",
            "overrides",
            "quote",
            "sidecars",
            "state",
            "host",
            "journal_location",
            "permission_names",
            "state_file",
            "manifest",
            "trust",
            "python",
            "project_rules",
            "privileged_keys",
            "mcp_servers",
            "agents",
            "settings",
            "skills",
            "model_choice",
            "compose",
            "app",
        ],
    },
    ModuleOrder {
        crate_name: "haft-policy",
        modules: &[
            "access",
            "pattern_fault",
            "glob",
            "pattern",
            "capability",
            "network_guard",
            "command_reach",
            "preset",
            "rule",
            "decision",
            "explain",
            "rule_set",
            "rank",
            "decide",
            "grant",
            "host_scope",
            "lasting",
            "tool_scope",
        ],
    },
    ModuleOrder {
        crate_name: "haft-contract",
        modules: &[
            "access",
            "content",
            "effect",
            "enforcement",
            "error_code",
            "invisible",
            "limits",
            "address",
            "backoff",
            "id",
            "key",
            "refusal",
            "envelope_metadata",
            "document",
            "envelope",
            "output",
            "requirement",
            "contract",
            "schema",
            "subagent",
            "surface",
            "background_process",
            "client",
            "host",
            "net",
            "time",
            "context",
            "tool",
        ],
    },
    ModuleOrder {
        crate_name: "haft",
        modules: &[
            "ask",
            "call",
            "clock",
            "explain",
            "file_problem",
            "front_matter",
            "input_schema",
            "limits",
            "networking",
            "panic",
            "process_registry",
            "project",
            "roots",
            "effects",
            "run_error",
            "sandbox",
            "sidecar",
            "snapshots",
            "stopwatch",
            "suggestions",
            "skills",
            "instructions",
            "tool_index",
            "registry",
            "catalog",
            "watchdog",
            "shared",
            "files",
            "restrictions",
            "connection_state",
            "questions",
            "shell",
            "background",
            "net",
            "pipeline",
            "run",
            "connection",
            "recover",
            "runtime",
        ],
    },
    ModuleOrder {
        crate_name: "haft-acp",
        modules: &[
            "advice",
            "elicit",
            "errors",
            "limits",
            "call_content",
            "diffs",
            "modes",
            "open_session",
            "preparation",
            "prompt",
            "transport",
            "updates",
            "permission",
            "editor",
            "replay",
            "sessions",
            "connection",
        ],
    },
    ModuleOrder {
        crate_name: "haft-agent",
        modules: &[
            "advice",
            "limits",
            "error",
            "event",
            "id",
            "definition",
            "restrictions",
            "prompt",
            "transcript",
            "background",
            "host_parts",
            "session_context",
            "call_title",
            "call_answer",
            "stored_session",
            "session_log",
            "abandon",
            "incoming_answer",
            "compaction",
            "tool_calls",
            "subagent_notice",
            "turn",
            "session",
            "open",
            "fork",
            "delegate",
            "host",
        ],
    },
    ModuleOrder {
        crate_name: "haft-cli",
        modules: &[
            "next_step",
            "error",
            "settlement",
            "views",
            "arguments",
            "asking",
            "log",
            "manifest_edit",
            "model",
            "signals",
            "agent_run",
            "plan_run",
            "commands",
            "cli",
            "command_line",
        ],
    },
    ModuleOrder {
        crate_name: "haft-conformance",
        modules: &["hosting", "requests", "tools", "fixture_resources"],
    },
    ModuleOrder { crate_name: "haft-faults", modules: &["journal", "random", "crash"] },
    ModuleOrder {
        crate_name: "haft-journal",
        modules: &[
            "call_status",
            "limits",
            "lease",
            "query",
            "session_id",
            "error",
            "future",
            "settlement",
            "row",
            "snapshot",
            "store",
            "call",
            "session",
            "sql",
            "upkeep",
            "journal",
            "machine",
            "memory",
            "worker",
            "postgres",
            "sqlite",
        ],
    },
    ModuleOrder {
        crate_name: "haft-lsp",
        modules: &[
            "limits",
            "text",
            "wire",
            "position",
            "language",
            "document",
            "framing",
            "server_state",
            "link",
            "project_files",
            "answer_text",
            "server",
            "diagnostics",
            "options",
            "pool",
            "tool",
        ],
    },
    ModuleOrder {
        crate_name: "haft-mcp",
        modules: &[
            "advice",
            "limits",
            "approval_form",
            "question_form",
            "client_requests",
            "pending_ask",
            "client_requester",
            "meta",
            "request_state",
            "ask_channel",
            "call_limiter",
            "content",
            "tool",
            "call_result",
            "elicit",
            "log_levels",
            "progress",
            "in_flight_call",
            "instructions",
            "output_resources",
            "panic",
            "resource_provider",
            "prompts",
            "resource_subscriptions",
            "server_parts",
            "runs",
            "suspended_calls",
            "tool_list_notifier",
            "handler",
            "server_instance",
            "stdio",
            "connection",
            "streamable_http",
            "client",
        ],
    },
    ModuleOrder {
        crate_name: "haft-model",
        modules: &[
            "limits", "error", "request", "answer", "model", "name", "settings", "endpoint",
            "provider", "scripted",
        ],
    },
    ModuleOrder {
        crate_name: "haft-plan",
        modules: &[
            "limits",
            "node_id",
            "message_text",
            "near_names",
            "reference",
            "plan",
            "problem",
            "checked",
            "parse",
            "tools",
            "schema",
            "check",
            "draw",
            "drive_limits",
            "schedule",
            "trace",
            "drive",
            "planner",
        ],
    },
    ModuleOrder {
        crate_name: "haft-python",
        modules: &[
            "limits",
            "problem",
            "directory",
            "interpreter",
            "parsed_file",
            "check",
            "worker",
            "worker_options",
            "pool",
            "registry_file",
            "tools",
        ],
    },
    ModuleOrder {
        crate_name: "haft-reader",
        modules: &[
            "describe", "limits", "page", "charset", "html", "media", "pdf", "read", "server",
        ],
    },
    ModuleOrder {
        crate_name: "haft-sandbox",
        modules: &[
            "bytes",
            "channel",
            "directory_watch",
            "exit",
            "fork",
            "limits",
            "process_tree",
            "proxy",
            "recovery_log",
            "protect",
            "confinement",
            "cgroup",
            "root",
            "wire",
            "confine",
            "kernel",
            "helper",
            "process",
        ],
    },
    ModuleOrder {
        crate_name: "haft-scripted-model",
        modules: &["http", "script", "wire", "requests", "shared", "connection", "server"],
    },
    ModuleOrder {
        crate_name: "haft-server",
        modules: &["limits", "refusal", "body", "token", "guard", "site", "connections"],
    },
    ModuleOrder {
        crate_name: "haft-snapshot",
        modules: &[
            "bytes",
            "hidden_paths",
            "id",
            "limits",
            "quoting",
            "state",
            "conflict",
            "directory",
            "error",
            "objects",
            "tree",
            "store",
            "diff",
            "compose",
            "record",
            "restore",
            "unified",
        ],
    },
    ModuleOrder {
        crate_name: "haft-agent",
        modules: &[
            "call_title",
            "error",
            "event",
            "id",
            "limits",
            "background",
            "call_answer",
            "definition",
            "prompt",
            "host_parts",
            "restrictions",
            "session_context",
            "transcript",
            "session_log",
            "compaction",
            "incoming_answer",
            "stored_session",
            "abandon",
            "subagent_notice",
            "tool_calls",
            "turn",
            "session",
            "open",
            "delegate",
            "fork",
            "host",
        ],
    },
    ModuleOrder {
        crate_name: "haft-lsp",
        modules: &[
            "language",
            "limits",
            "document",
            "framing",
            "options",
            "position",
            "project_files",
            "text",
            "wire",
            "answer_text",
            "server_state",
            "link",
            "server",
            "diagnostics",
            "pool",
            "tool",
        ],
    },
    ModuleOrder {
        crate_name: "haft-mcp",
        modules: &[
            "client",
            "content",
            "instructions",
            "limits",
            "approval_form",
            "call_limiter",
            "client_requests",
            "log_levels",
            "meta",
            "output_resources",
            "panic",
            "progress",
            "question_form",
            "pending_ask",
            "client_requester",
            "elicit",
            "request_state",
            "ask_channel",
            "in_flight_call",
            "resource_provider",
            "prompts",
            "resource_subscriptions",
            "server_parts",
            "runs",
            "stdio",
            "suspended_calls",
            "tool",
            "call_result",
            "tool_list_notifier",
            "handler",
            "server_instance",
            "connection",
            "streamable_http",
        ],
    },
    ModuleOrder {
        crate_name: "haft-plan",
        modules: &[
            "drive_limits",
            "limits",
            "message_text",
            "near_names",
            "node_id",
            "problem",
            "reference",
            "plan",
            "checked",
            "draw",
            "parse",
            "schedule",
            "schema",
            "tools",
            "check",
            "planner",
            "trace",
            "drive",
        ],
    },
    ModuleOrder {
        crate_name: "haft-python",
        modules: &[
            "interpreter",
            "limits",
            "problem",
            "directory",
            "parsed_file",
            "check",
            "registry_file",
            "worker",
            "worker_options",
            "pool",
            "tools",
        ],
    },
    ModuleOrder {
        crate_name: "xtask",
        modules: &[
            "markers",
            "process",
            "rust_text",
            "usage",
            "repository",
            "syntax",
            "limits",
            "setup",
            "crash",
            "test",
            "bench",
            "fuzz",
            "measure",
            "tidy",
            "generated",
            "ci",
        ],
    },
];

/// Crates whose modules or files still import from one another in a cycle.
pub(super) const CRATES_WITH_CYCLES: &[&str] = &[];

/// Fails imports from later modules, cycles of files, and rows that no longer fit.
pub(super) fn check(
    files: &[ProductionFile],
    orders: &[ModuleOrder],
    exceptions: &[&str],
) -> Vec<TidyViolation> {
    let crates = by_crate(files);
    let mut violations = Vec::new();
    for (crate_name, files) in &crates {
        let imports = CrateImports::resolve(files);
        let order = orders.iter().find(|order| order.crate_name == *crate_name);
        match (order, exceptions.contains(crate_name)) {
            (Some(order), false) => {
                violations.extend(check_modules(&imports, order));
                violations.extend(check_cycles(&imports));
            }
            (None, true) if can_be_ordered(&imports) => {
                let message = format!(
                    "`{crate_name}` has no cycles any more: delete it from CRATES_WITH_CYCLES and \
                     give it a row in MODULE_ORDER, such as {}",
                    fitting_order(&imports)
                );
                violations.push(TidyViolation::new(TABLE_PATH, 1, message));
            }
            (None, true) => {}
            (None, false) => {
                let message = format!(
                    "`{crate_name}` has no row in MODULE_ORDER; this one has the fewest imports \
                     from later modules: {}",
                    fitting_order(&imports)
                );
                violations.push(TidyViolation::new(TABLE_PATH, 1, message));
            }
            (Some(_), true) => {
                let message = format!(
                    "`{crate_name}` has a row in MODULE_ORDER; delete it from CRATES_WITH_CYCLES"
                );
                violations.push(TidyViolation::new(TABLE_PATH, 1, message));
            }
        }
    }
    let names = orders.iter().map(|order| order.crate_name).chain(exceptions.iter().copied());
    for name in names.filter(|name| !crates.contains_key(name)) {
        let message = format!("there is no crate `{name}`; delete its row");
        violations.push(TidyViolation::new(TABLE_PATH, 1, message));
    }
    violations
}

fn check_modules(imports: &CrateImports<'_>, order: &ModuleOrder) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    let place = |module: &str| order.modules.iter().position(|listed| *listed == module);
    let (modules, _) = imports.module_graph();
    for module in modules.iter().filter(|module| place(module).is_none()) {
        let message = format!("`{}` has no place for its module `{module}`", order.crate_name);
        violations.push(TidyViolation::new(TABLE_PATH, 1, message));
    }
    for listed in order.modules.iter().filter(|listed| !modules.contains(listed)) {
        let message = format!("`{}` has no module `{listed}`; delete it", order.crate_name);
        violations.push(TidyViolation::new(TABLE_PATH, 1, message));
    }
    for (file, targets) in imports.files.iter().zip(&imports.imports) {
        let Some(module) = file.module.first() else { continue };
        for (target, line) in targets {
            let target = imports.files[*target];
            let is_earlier = match target.module.first() {
                Some(other) => other == module || place(other) < place(module),
                None => false,
            };
            if !is_earlier {
                let message = format!(
                    "imports from {}, but MODULE_ORDER in {TABLE_PATH} has its module later",
                    target.path
                );
                violations.push(TidyViolation::new(&file.path, *line, message));
            }
        }
    }
    violations
}

/// Fails files of one module that import one another. Cycles across modules break the order.
fn check_cycles(imports: &CrateImports<'_>) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for cycle in imports.file_graph().cycles() {
        let files: Vec<&ProductionFile> = cycle.iter().map(|file| imports.files[*file]).collect();
        let top = |file: &ProductionFile| file.module.first().cloned();
        if files.iter().all(|file| top(file) == top(files[0])) {
            let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            let message = format!("these files import one another: {}", paths.join(", "));
            violations.push(TidyViolation::new(paths[0], 1, message));
        }
    }
    violations
}

fn can_be_ordered(imports: &CrateImports<'_>) -> bool {
    let imports_root = imports.files.iter().zip(&imports.imports).any(|(file, targets)| {
        !file.module.is_empty()
            && targets.keys().any(|target| imports.files[*target].module.is_empty())
    });
    let (_, modules) = imports.module_graph();
    !imports_root
        && modules.upward(&modules.order()).is_empty()
        && imports.file_graph().cycles().is_empty()
}

fn fitting_order(imports: &CrateImports<'_>) -> String {
    let (names, modules) = imports.module_graph();
    let order: Vec<&str> = modules.order().into_iter().map(|module| names[module]).collect();
    format!("{order:?}")
}
