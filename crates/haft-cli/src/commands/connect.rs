//! `haft connect`: writes the connection to haft into the configuration of a client, and takes it back. The difference is shown
//! before anything is written. `connect/` holds the clients, the changes of their files and the record of what was written.

mod clients;
mod configuration;
mod json_text;
mod record;
mod toml_text;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use self::clients::{ClientFile, ClientPlaces, ConnectClient, ConnectScope, PYTHON};
use self::configuration::{ConfigurationChange, PresentParts, unrecorded};
use self::record::{ConnectRecord, RecordedConfiguration};
use crate::arguments::cli_context::CliContext;
use crate::asking::ask_confirmation;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use crate::views::table::table;
use haft_app::settings;

/// Connect an agent's program to haft, or list the programs and their state
///
/// Writes haft into the client's own configuration, as an MCP server. It also switches off the client's own tools that haft
/// replaces. Without that switch, nothing that the client does with its own tools is confined or recorded. The differences are
/// shown first. On a terminal, haft asks before it writes; elsewhere --yes is needed. Comments, order and layout of the files
/// stay.
///
/// haft writes into the project's configuration: beside haft.toml, else in the working directory. With --user, it writes into
/// yours, which holds for all of your projects. --undo takes back exactly what was written.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft connect                      List the clients, and which of them use haft
  haft connect claude               Connect Claude Code in this project
  haft connect codex --user --yes   Connect Codex in all projects, without a question
  haft connect claude --dry-run     Only show what would be written
  haft connect claude --undo        Take it back
  haft connect python               Print the lines for a program of yours")]
pub(crate) struct ConnectArgs {
    /// The client; without it, all clients are listed
    client: Option<ConnectClient>,
    /// Change your own configuration, for all of your projects
    #[arg(long, requires = "client")]
    user: bool,
    /// Leave the client its own tools for files and commands, which haft does not confine
    #[arg(long, requires = "client", conflicts_with = "undo")]
    keep_own_tools: bool,
    /// Take back what haft wrote
    #[arg(long, requires = "client")]
    undo: bool,
    /// Show the differences and write nothing
    #[arg(long, requires = "client")]
    dry_run: bool,
    /// Write without asking
    #[arg(long, requires = "client")]
    yes: bool,
}

#[derive(Serialize)]
struct ConnectReport {
    client: String,
    scope: &'static str,
    /// Whether the files are as described now.
    written: bool,
    /// Whether the client uses haft.
    connected: bool,
    /// Whether the client has its own tools that haft replaces.
    own_tools: bool,
    files: Vec<ConnectedFileReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
}

#[derive(Serialize)]
struct ConnectedFileReport {
    path: PathBuf,
    change: &'static str,
    diff: String,
}

#[derive(Serialize)]
struct ClientListEntry {
    client: String,
    name: &'static str,
    found: bool,
    /// Whether the client can be left without own tools for files and commands.
    #[serde(rename = "complete_switch")]
    is_switch_complete: bool,
    scopes: Vec<ClientScopeState>,
}

#[derive(Serialize)]
struct ClientScopeState {
    scope: &'static str,
    connected: bool,
    own_tools: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(args: &ConnectArgs, cx: &CliContext) -> CommandResult {
    let project = project_directory(cx)?;
    let program = program_of_client(cx)?;
    let places = ClientPlaces { project: &project, host: &cx.host, program: &program };
    match args.client {
        None => list(&places, cx),
        Some(ConnectClient::Python) => {
            output::write_data(PYTHON)?;
            Ok(CommandStatus::Done)
        }
        Some(client) => change(client, args, &places, cx).await,
    }
}

/// Returns the directory of the project: the root that is named, else that of haft.toml, else the working directory.
fn project_directory(cx: &CliContext) -> Result<PathBuf, CommandError> {
    let directory = match (&cx.setting_args.root, &cx.setting_args.config) {
        (Some(root), _) => root.clone(),
        (None, Some(_)) => cx.host.working_directory()?,
        (None, None) => match settings::find_manifest(&cx.setting_args.overrides(), &cx.host)? {
            Some(file) => file.directory().to_owned(),
            None => cx.host.working_directory()?,
        },
    };
    directory.canonicalize().map_err(|err| {
        CommandError::usage(format!("{} cannot be used: {err}", directory.display()))
    })
}

/// Returns how a client starts haft: by its name if that is found on PATH, else by its path.
fn program_of_client(cx: &CliContext) -> Result<String, CommandError> {
    let own = cx.host.program()?;
    let is_on_path = find_program(&["haft"], cx).is_some();
    Ok(if is_on_path { "haft".to_owned() } else { own.to_string_lossy().into_owned() })
}

fn find_program(names: &[&str], cx: &CliContext) -> Option<PathBuf> {
    let path = cx.host.variable("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = names.iter().flat_map(|name| directories.iter().map(move |it| it.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Lists the clients.
fn list(places: &ClientPlaces, cx: &CliContext) -> CommandResult {
    let entry = |client: ConnectClient| ClientListEntry {
        client: client.word(),
        name: client.title(),
        found: find_program(client.programs(), cx).is_some(),
        is_switch_complete: client.is_switch_complete(),
        scopes: client.scopes().iter().map(|scope| scope_state(client, *scope, places)).collect(),
    };
    let entries: Vec<ClientListEntry> = ConnectClient::with_configuration().map(entry).collect();
    let answer = serde_json::json!({ "project": places.project, "clients": entries });
    cx.print_answer(&answer, || {
        let row = |entry: &ClientListEntry| {
            let found = if entry.found { "yes" } else { "no" };
            vec![entry.client.clone(), entry.name.to_owned(), found.to_owned(), state_text(entry)]
        };
        let text = table(&["CLIENT", "NAME", "FOUND", "STATE"], entries.iter().map(row));
        let problems = entries.iter().flat_map(|entry| &entry.scopes);
        let problems =
            problems.filter_map(|state| Some(format!("\n{}\n", state.problem.as_ref()?)));
        format!("{text}\n{}\nconnect one: haft connect CLIENT\n", problems.collect::<String>())
    })?;
    Ok(CommandStatus::Done)
}

fn scope_state(
    client: ConnectClient,
    scope: ConnectScope,
    places: &ClientPlaces,
) -> ClientScopeState {
    let state = |connected: bool, own_tools: bool, problem: Option<String>| ClientScopeState {
        scope: scope.as_str(),
        connected,
        own_tools,
        problem,
    };
    let files = match client.files(scope, places) {
        Ok(files) => files,
        Err(why) => return state(false, true, Some(why)),
    };
    match present_parts(&files) {
        Ok(present) => state(present.connection, !present.own_tools, None),
        Err(err) => state(false, true, Some(err.message)),
    }
}

fn present_parts(files: &[ClientFile]) -> Result<PresentParts, CommandError> {
    let mut all = PresentParts { connection: true, own_tools: true };
    for file in files {
        let present = ConfigurationChange::present(file)?;
        all.connection &= present.connection;
        all.own_tools &= present.own_tools;
    }
    Ok(all)
}

fn state_text(entry: &ClientListEntry) -> String {
    let connected = entry.scopes.iter().filter(|state| state.connected);
    let texts = connected.map(|state| {
        let tools = match (state.own_tools, entry.is_switch_complete) {
            (true, _) => "own tools on: not confined",
            (false, true) => "own tools off",
            (false, false) => "own tools off in part",
        };
        format!("connected ({}), {tools}", state.scope)
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join("; ") }
}

/// Connects a client, or takes that back.
async fn change(
    client: ConnectClient,
    args: &ConnectArgs,
    places: &ClientPlaces<'_>,
    cx: &CliContext,
) -> CommandResult {
    let scope = scope_of(client, args.user)?;
    let files = client
        .files(scope, places)
        .map_err(|why| CommandError::usage(why).hint("export HOME=/path/to/your/home"))?;
    let can_ask = !args.yes && !args.dry_run && !cx.setting_args.json;
    let mut with_own_tools = !args.keep_own_tools;
    if can_ask && !args.undo && with_own_tools {
        // Without a terminal, nothing is written below.
        with_own_tools = ask_confirmation(&own_tools_question(client)).await.unwrap_or(true);
    }
    let mut record = ConnectRecord::read(&cx.host);
    // A connection without a record was written by another person, or elsewhere. Files of a client that is not connected have
    // nothing of haft, even if the user forbids the same tools.
    let is_recorded = files.iter().any(|file| record.file(&file.path).is_some());
    let is_foreign = args.undo && !is_recorded && present_parts(&files)?.connection;
    let of_file = |file: &ClientFile| match (args.undo, record.file(&file.path)) {
        (true, Some(recorded)) => ConfigurationChange::undo(file, recorded.clone()),
        (true, None) if is_foreign => ConfigurationChange::undo(file, unrecorded(file)),
        (true, None) => ConfigurationChange::undo(file, RecordedConfiguration::default()),
        (false, _) => ConfigurationChange::connect(file, with_own_tools),
    };
    let changes = files.iter().map(of_file).collect::<Result<Vec<_>, _>>()?;
    let diffs = changes.iter().filter(|change| change.is_change());
    let diffs: String = diffs.map(|it| it.diff(&cx.host.shown_path(&it.path))).collect();
    let report = |written: bool| -> Result<ConnectReport, CommandError> {
        let present = present_parts(&files)?;
        Ok(ConnectReport {
            client: client.word(),
            scope: scope.as_str(),
            written,
            connected: present.connection,
            own_tools: !present.own_tools,
            files: changes.iter().map(file_report).collect(),
            kept: changes.iter().flat_map(|change| change.kept.clone()).collect(),
        })
    };
    if diffs.is_empty() || args.dry_run {
        let report = report(false)?;
        let note =
            if diffs.is_empty() { unchanged_text(client, &report, args.undo) } else { diffs };
        cx.print_answer(&report, || note)?;
        return Ok(CommandStatus::Done);
    }
    if !args.yes {
        let question = format!("{}\nWrite this?", haft_contract::escape_controls(&diffs));
        let answered = if cx.setting_args.json { None } else { ask_confirmation(&question).await };
        match answered {
            Some(true) => {}
            Some(false) => return Err(CommandError::failed("nothing was written")),
            None => {
                return Err(CommandError::usage(
                    "nothing was written, because there is no terminal to ask at",
                )
                .hint(format!("{} --yes", command_line(client, args))));
            }
        }
    }
    let mut report = report(true)?;
    let mut directories = Vec::new();
    for change in changes {
        if !change.is_change() {
            continue;
        }
        let path = change.path.clone();
        let written = change.write()?;
        match args.undo {
            true => {
                record.forget(&path);
                directories.extend(written.directories);
            }
            false => record.add(written),
        }
        // Files written so far can be taken back, even if the next file fails.
        record.write(&cx.host)?;
    }
    directories.sort();
    for directory in directories.iter().rev() {
        // One that holds other files stays.
        let _ = std::fs::remove_dir(directory);
    }
    let present = present_parts(&files)?;
    (report.connected, report.own_tools) = (present.connection, !present.own_tools);
    cx.print_answer(&report, || {
        let diffs = if args.yes { diffs.as_str() } else { "" };
        format!("{diffs}{}", written_text(client, scope, &report, args, cx))
    })?;
    Ok(CommandStatus::Done)
}

fn scope_of(client: ConnectClient, is_user: bool) -> Result<ConnectScope, CommandError> {
    let scopes = client.scopes();
    let wanted = if is_user { Some(ConnectScope::User) } else { scopes.first().copied() };
    wanted.filter(|scope| scopes.contains(scope)).ok_or_else(|| {
        let title = client.title();
        CommandError::usage(format!("haft connects {title} in a project only"))
            .hint(format!("haft connect {}", client.word()))
    })
}

fn own_tools_question(client: ConnectClient) -> String {
    format!(
        "{} has its own tools for files and commands. haft neither confines nor records them.\n\
         Switch them off ({})?",
        client.title(),
        client.own_tools()
    )
}

fn file_report(change: &ConfigurationChange) -> ConnectedFileReport {
    let diff = match change.is_change() {
        true => change.diff(&change.path.to_string_lossy()),
        false => String::new(),
    };
    ConnectedFileReport { path: change.path.clone(), change: change.verb(), diff }
}

fn command_line(client: ConnectClient, args: &ConnectArgs) -> String {
    let options = [
        (args.user, " --user"),
        (args.keep_own_tools, " --keep-own-tools"),
        (args.undo, " --undo"),
    ];
    let options = options.iter().filter(|(is_given, _)| *is_given).map(|(_, option)| *option);
    format!("haft connect {}{}", client.word(), options.collect::<String>())
}

fn unchanged_text(client: ConnectClient, report: &ConnectReport, is_undo: bool) -> String {
    let (title, scope) = (client.title(), report.scope);
    if is_undo {
        return format!("{title} ({scope}) has nothing that haft wrote\n{}", kept_text(report));
    }
    let tools = own_tools_text(client, report);
    format!("{title} ({scope}) is connected already; nothing was written\n{tools}")
}

fn written_text(
    client: ConnectClient,
    scope: ConnectScope,
    report: &ConnectReport,
    args: &ConnectArgs,
    cx: &CliContext,
) -> String {
    let files = report.files.iter().filter(|file| file.change != "unchanged");
    let files = files.map(|file| format!("{} {}", file.change, cx.host.shown_path(&file.path)));
    let files = files.collect::<Vec<_>>().join(", ");
    let (title, scope_word) = (client.title(), scope.as_str());
    if args.undo {
        return format!("{title} ({scope_word}) is as before: {files}\n{}", kept_text(report));
    }
    let remark = match client.remark(scope) {
        "" => String::new(),
        remark => format!("{remark}\n"),
    };
    let user = if args.user { " --user" } else { "" };
    format!(
        "{title} ({scope_word}) uses haft: {files}\n{}{remark}take it back: haft connect {}{user} --undo\n",
        own_tools_text(client, report),
        client.word()
    )
}

fn own_tools_text(client: ConnectClient, report: &ConnectReport) -> String {
    match report.own_tools {
        false if client.is_switch_complete() => {
            format!("its own tools are off: {}\n", client.own_tools())
        }
        false => format!("its own tools are off in part: {}\n", client.own_tools()),
        true => {
            let user = if report.scope == "user" { " --user" } else { "" };
            format!(
                "its own tools are on: calls of them are neither confined nor recorded\n\
                 switch them off: haft connect {}{user}\n",
                client.word()
            )
        }
    }
}

fn kept_text(report: &ConnectReport) -> String {
    let line = |kept: &String| format!("{kept} was changed since, and stays\n");
    report.kept.iter().map(line).collect()
}
