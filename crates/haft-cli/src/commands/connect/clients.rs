//! The clients that can be connected: where each keeps its configuration, what connects haft there, and what switches off the
//! client's own tools that haft replaces.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use haft_app::host::AppHost;

/// The name of haft among the servers of a client.
const SERVER: &str = "haft";

/// A program that can use haft's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConnectClient {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
    /// Zed
    Zed,
    /// VS Code
    Vscode,
    /// Cursor
    Cursor,
    /// A program that you write in Python: prints the lines
    Python,
}

/// Whose configuration is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectScope {
    Project,
    User,
}

/// The places that configurations are found from.
pub(super) struct ClientPlaces<'a> {
    pub(super) project: &'a Path,
    pub(super) host: &'a AppHost,
    /// How the client starts haft.
    pub(super) program: &'a str,
}

/// A file of a client's configuration, and what belongs in it.
pub(super) struct ClientFile {
    pub(super) path: PathBuf,
    pub(super) format: ClientFileFormat,
    pub(super) edits: Vec<ClientEdit>,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientFileFormat {
    /// JSON, with comments.
    Json,
    Toml,
    /// A file that is all haft's. Its one edit has the text.
    Whole,
}

/// One thing that belongs in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClientEdit {
    /// The keys that lead to it.
    pub(super) place: Vec<String>,
    pub(super) content: ClientEditContent,
    pub(super) purpose: EditPurpose,
}

/// The value that belongs in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClientEditContent {
    Value(Value),
    /// An item of a list, which may have others.
    Item(String),
}

/// Why something belongs in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditPurpose {
    /// The client uses haft's tools.
    Connection,
    /// The client goes without its own tools that haft replaces.
    OwnTools,
}

impl ConnectScope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

impl ConnectClient {
    /// Returns the clients that have a configuration.
    pub(super) fn with_configuration() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied().filter(|client| *client != Self::Python)
    }

    /// Returns the word that the command line has for the client.
    pub(super) fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the client's own name.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Zed => "Zed",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Python => "Python",
        }
    }

    /// Returns the names of the client's program.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["claude"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini"],
            Self::Opencode => &["opencode"],
            Self::Zed => &["zed", "zeditor", "zedit"],
            Self::Vscode => &["code", "code-insiders", "codium"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::Python => &[],
        }
    }

    /// Returns whose configuration can connect haft. The first is changed unless the user names another.
    pub(super) fn scopes(self) -> &'static [ConnectScope] {
        match self {
            Self::Claude | Self::Codex | Self::Gemini | Self::Opencode => {
                &[ConnectScope::Project, ConnectScope::User]
            }
            // Zed takes the tools of its agent from the user's settings only.
            Self::Zed => &[ConnectScope::User],
            Self::Vscode | Self::Cursor => &[ConnectScope::Project],
            Self::Python => &[],
        }
    }

    /// Returns the client's own tools that are switched off, for a person.
    pub(super) fn own_tools(self) -> &'static str {
        match self {
            Self::Claude => {
                "Read, Edit, Write, NotebookEdit, Bash, Monitor, Glob, Grep and WebFetch"
            }
            Self::Codex => "the shell and the viewer of images; its sandbox becomes read-only",
            Self::Gemini => "its tools for files, commands and web pages",
            Self::Opencode => "read, edit, glob, grep, list, bash and webfetch",
            Self::Zed => "all, by a profile that has only the tools of MCP servers",
            Self::Vscode => "all, in an agent named haft that has only the tools of haft",
            Self::Cursor => "those of cursor-agent for files and commands",
            Self::Python => "",
        }
    }

    /// Returns whether the switch leaves the client no own tool for files and commands.
    pub(super) fn is_switch_complete(self) -> bool {
        matches!(self, Self::Claude | Self::Gemini | Self::Opencode)
    }

    /// Returns what the switch does not reach, and what the user does next.
    pub(super) fn remark(self, scope: ConnectScope) -> &'static str {
        match (self, scope) {
            (Self::Claude, ConnectScope::Project) => {
                "Start Claude Code anew. It asks once whether to trust the project and its server."
            }
            (Self::Codex, ConnectScope::Project) => {
                "Codex reads this file once you trust the project there. Its tool apply_patch cannot be switched off: with the \
                 read-only sandbox, Codex asks you before it changes a file by itself."
            }
            (Self::Codex, ConnectScope::User) => {
                "Its tool apply_patch cannot be switched off: with the read-only sandbox, Codex asks you before it changes a \
                 file by itself."
            }
            (Self::Opencode, _) => "Start opencode anew.",
            (Self::Zed, _) => {
                "Zed starts haft in the directory of the project. The profile haft is chosen for new threads; the other \
                 profiles keep Zed's own tools."
            }
            (Self::Vscode, _) => {
                "Choose the agent haft in the chat. The other agents keep the own tools of VS Code."
            }
            (Self::Cursor, _) => {
                "No file switches off the own tools of Cursor's editor: there, calls that do not go through haft are not \
                 confined. Only cursor-agent is restricted."
            }
            (Self::Claude, ConnectScope::User) => "Start Claude Code anew.",
            (Self::Gemini | Self::Python, _) => "",
        }
    }

    /// Returns the files of a scope, and what belongs in them. Fails without a home directory.
    pub(super) fn files(
        self,
        scope: ConnectScope,
        places: &ClientPlaces,
    ) -> Result<Vec<ClientFile>, String> {
        let project = |path: &str| places.project.join(path);
        let home = |path: &str| places.home(path);
        let is_project = scope == ConnectScope::Project;
        Ok(match self {
            Self::Claude => {
                let (servers, settings) = match is_project {
                    true => (project(".mcp.json"), project(".claude/settings.json")),
                    false => {
                        let configured = places.variable_path("CLAUDE_CONFIG_DIR");
                        match configured {
                            Some(it) => (it.join(".claude.json"), it.join("settings.json")),
                            None => (home(".claude.json")?, home(".claude/settings.json")?),
                        }
                    }
                };
                claude(servers, settings, places.program)
            }
            Self::Codex => {
                let path = match (is_project, places.variable_path("CODEX_HOME")) {
                    (true, _) => project(".codex/config.toml"),
                    (false, Some(directory)) => directory.join("config.toml"),
                    (false, None) => home(".codex/config.toml")?,
                };
                vec![codex(path, places.program)]
            }
            Self::Gemini => {
                let path = ".gemini/settings.json";
                vec![gemini(if is_project { project(path) } else { home(path)? }, places.program)]
            }
            Self::Opencode => {
                let directory = match is_project {
                    true => places.project.to_owned(),
                    false => places.config()?.join("opencode"),
                };
                let with_comments = directory.join("opencode.jsonc");
                let plain = directory.join("opencode.json");
                let path = if with_comments.exists() { with_comments } else { plain };
                vec![opencode(path, places.program)]
            }
            Self::Zed => vec![zed(places.config()?.join("zed/settings.json"), places.program)],
            Self::Vscode => vscode(
                project(".vscode/mcp.json"),
                project(".github/agents/haft.agent.md"),
                places.program,
            ),
            Self::Cursor => {
                cursor(project(".cursor/mcp.json"), project(".cursor/cli.json"), places.program)
            }
            Self::Python => Vec::new(),
        })
    }
}

impl ClientPlaces<'_> {
    fn home(&self, path: &str) -> Result<PathBuf, String> {
        let home = self.host.absolute_home();
        home.map(|home| home.join(path)).ok_or_else(|| "there is no home directory".to_owned())
    }

    fn config(&self) -> Result<PathBuf, String> {
        self.host.config_directory().ok_or_else(|| "there is no home directory".to_owned())
    }

    fn variable_path(&self, name: &str) -> Option<PathBuf> {
        self.host.variable_if_set(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

fn keys(place: &[&str]) -> Vec<String> {
    place.iter().map(|key| (*key).to_owned()).collect()
}

fn connection(place: &[&str], value: Value) -> ClientEdit {
    let content = ClientEditContent::Value(value);
    ClientEdit { place: keys(place), content, purpose: EditPurpose::Connection }
}

fn own_tools(place: &[&str], value: Value) -> ClientEdit {
    let content = ClientEditContent::Value(value);
    ClientEdit { place: keys(place), content, purpose: EditPurpose::OwnTools }
}

fn own_tool_items(place: &[&str], items: &[&str]) -> impl Iterator<Item = ClientEdit> {
    let item = |item: &&str| ClientEdit {
        place: keys(place),
        content: ClientEditContent::Item((*item).to_owned()),
        purpose: EditPurpose::OwnTools,
    };
    items.iter().map(item).collect::<Vec<_>>().into_iter()
}

/// Claude Code: a bare name under `permissions.deny` takes a tool away from the model. `mcp__haft` under `permissions.allow`
/// leaves the decision to haft. <https://code.claude.com/docs/en/permissions>
fn claude(servers: PathBuf, settings: PathBuf, program: &str) -> Vec<ClientFile> {
    let server = json!({"type": "stdio", "command": program, "args": ["mcp"]});
    let allow = ClientEdit {
        place: keys(&["permissions", "allow"]),
        content: ClientEditContent::Item(format!("mcp__{SERVER}")),
        purpose: EditPurpose::Connection,
    };
    // Monitor runs commands, too.
    let tools =
        ["Read", "Edit", "Write", "NotebookEdit", "Bash", "Monitor", "Glob", "Grep", "WebFetch"];
    let deny = own_tool_items(&["permissions", "deny"], &tools);
    vec![
        ClientFile {
            path: servers,
            format: ClientFileFormat::Json,
            edits: vec![connection(&["mcpServers", SERVER], server)],
        },
        ClientFile {
            path: settings,
            format: ClientFileFormat::Json,
            edits: std::iter::once(allow).chain(deny).collect(),
        },
    ]
}

/// Codex: `codex exec` refuses calls of servers that it would have to ask about, so haft's rules decide alone.
/// <https://developers.openai.com/codex/config-reference>
fn codex(path: PathBuf, program: &str) -> ClientFile {
    let server = json!({
        "command": program,
        "args": ["mcp"],
        "default_tools_approval_mode": "approve",
    });
    ClientFile {
        path,
        format: ClientFileFormat::Toml,
        edits: vec![
            own_tools(&["sandbox_mode"], json!("read-only")),
            connection(&["mcp_servers", SERVER], server),
            own_tools(&["features", "shell_tool"], json!(false)),
            own_tools(&["features", "unified_exec"], json!(false)),
            own_tools(&["features", "view_image"], json!(false)),
        ],
    }
}

/// Gemini CLI: `trust` leaves the decision to haft. A name under `tools.exclude` takes away the tool of a server with that name
/// as well, so those that haft has too are named by their class. <https://geminicli.com/docs/reference/configuration/>
fn gemini(path: PathBuf, program: &str) -> ClientFile {
    let server = json!({"command": program, "args": ["mcp"], "trust": true});
    let tools = [
        "run_shell_command",
        "read_file",
        "read_many_files",
        "write_file",
        "replace",
        "GlobTool",
        "grep_search",
        "list_directory",
        "WebFetchTool",
    ];
    let edits = std::iter::once(connection(&["mcpServers", SERVER], server))
        .chain(own_tool_items(&["tools", "exclude"], &tools))
        .collect();
    ClientFile { path, format: ClientFileFormat::Json, edits }
}

/// opencode: a tool that is denied as a whole is not shown to the model; `edit` stands for write and patch too.
/// <https://opencode.ai/docs/permissions>
fn opencode(path: PathBuf, program: &str) -> ClientFile {
    let server = json!({"type": "local", "command": [program, "mcp"], "enabled": true});
    let tools = ["read", "edit", "glob", "grep", "list", "bash", "webfetch"];
    let deny = tools.map(|tool| own_tools(&["permission", tool], json!("deny")));
    let edits = std::iter::once(connection(&["mcp", SERVER], server)).chain(deny).collect();
    ClientFile { path, format: ClientFileFormat::Json, edits }
}

/// Zed: the tools of its agent are those of a profile. <https://zed.dev/docs/ai/agent-profiles>
fn zed(path: PathBuf, program: &str) -> ClientFile {
    let profile = json!({"name": "haft", "tools": {}, "enable_all_context_servers": true});
    ClientFile {
        path,
        format: ClientFileFormat::Json,
        edits: vec![
            connection(&["context_servers", SERVER], json!({"command": program, "args": ["mcp"]})),
            own_tools(&["agent", "profiles", SERVER], profile),
            own_tools(&["agent", "default_profile"], json!(SERVER)),
        ],
    }
}

/// The agent of VS Code that has only the tools of haft.
const VSCODE_AGENT: &str = "---
name: haft
description: Works with the tools of haft only, which confines and records each call
tools: ['haft/*']
---

Use the tools of haft for all files and commands.
";

/// VS Code: the tools of a custom agent are those that its file lists.
/// <https://code.visualstudio.com/docs/copilot/customization/custom-agents>
fn vscode(servers: PathBuf, agent: PathBuf, program: &str) -> Vec<ClientFile> {
    let args = json!(["mcp", "--root", "${workspaceFolder}"]);
    let server = json!({"type": "stdio", "command": program, "args": args});
    vec![
        ClientFile {
            path: servers,
            format: ClientFileFormat::Json,
            edits: vec![connection(&["servers", SERVER], server)],
        },
        ClientFile {
            path: agent,
            format: ClientFileFormat::Whole,
            edits: vec![own_tools(&[], json!(VSCODE_AGENT))],
        },
    ]
}

/// Cursor: the permissions of a project hold for cursor-agent. <https://cursor.com/docs/cli/reference/permissions>
fn cursor(servers: PathBuf, permissions: PathBuf, program: &str) -> Vec<ClientFile> {
    let args = json!(["mcp", "--root", "${workspaceFolder}"]);
    let allow = ClientEdit {
        place: keys(&["permissions", "allow"]),
        content: ClientEditContent::Item(format!("Mcp({SERVER}:*)")),
        purpose: EditPurpose::Connection,
    };
    let tools = ["Shell(*)", "Read(**)", "Write(**)", "WebFetch(*)"];
    vec![
        ClientFile {
            path: servers,
            format: ClientFileFormat::Json,
            edits: vec![connection(
                &["mcpServers", SERVER],
                json!({"type": "stdio", "command": program, "args": args}),
            )],
        },
        ClientFile {
            path: permissions,
            format: ClientFileFormat::Json,
            edits: std::iter::once(allow)
                .chain(own_tool_items(&["permissions", "deny"], &tools))
                .collect(),
        },
    ]
}

/// The lines that connect a program written in Python.
pub(super) const PYTHON: &str = r#"# pip install mcp
import asyncio
from mcp import Client, StdioServerParameters

async def main():
    server = StdioServerParameters(command="haft", args=["mcp"])
    async with Client(server) as client:
        print(await client.call_tool("grep", {"pattern": "TODO", "glob": "*.py"}))
        print(await client.call_tool("bash", {"cmd": "git status --short"}))

asyncio.run(main())
"#;
