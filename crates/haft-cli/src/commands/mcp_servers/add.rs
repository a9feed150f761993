//! `haft mcp add`: writes a table `[mcp.NAME]` at the end of haft.toml. It does not try out the server.

use std::path::Path;

use clap::Args;
use serde::Serialize;
use toml::Value;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::manifest_edit::{ManifestEdit, ManifestPlace};
use crate::next_step::install_commands;
use haft_app::manifest::server_name_problem;
use haft_app::mcp_servers::{Download, grant_summary};

/// The server to add.
#[derive(Clone, Args)]
pub(crate) struct McpAddArgs {
    /// Name of the server, which its tools' ids begin with: lower-case letters, digits and underscores
    name: String,
    /// Address of a server that runs elsewhere
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// Variable of haft's environment that the server is given, such as a token (can be repeated)
    #[arg(long, value_name = "VARIABLE", conflicts_with = "url")]
    env: Vec<String>,
    /// Header for a server with a URL, from a variable of haft's environment (can be repeated)
    #[arg(long, value_name = "HEADER=VARIABLE", conflicts_with = "command")]
    header: Vec<String>,
    /// Directory of the workspace that the server may read, . for all of it (can be repeated)
    #[arg(long, value_name = "DIR")]
    read: Vec<String>,
    /// Directory of the workspace that the server may change, . for all of it (can be repeated)
    #[arg(long, value_name = "DIR")]
    write: Vec<String>,
    /// Host that the server may reach (can be repeated)
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Further directory or file that the server reads, such as a package cache (can be repeated)
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    readable: Vec<String>,
    /// Believe what the server says of its tools' effects
    #[arg(long)]
    trust_annotations: bool,
    /// Write it to your own configuration, for all of your projects
    #[arg(long, conflicts_with = "config")]
    user: bool,
    /// Accepted for older scripts: haft.toml stays trusted without a question
    #[arg(long, hide = true)]
    yes: bool,
    /// The program that is the server, and its arguments
    #[arg(last = true, required_unless_present = "url")]
    command: Vec<String>,
}

#[derive(Serialize)]
struct McpAddReport<'a> {
    manifest: &'a Path,
    /// Whether the manifest was made.
    created: bool,
    /// Whether the server holds.
    trusted: bool,
    name: &'a str,
}

impl McpAddArgs {
    /// Returns the arguments with the paths that the file needs. The user's own configuration is about all directories, so
    /// that a relative path would mean another file.
    fn placed(&self, cx: &CliContext) -> Result<Self, CommandError> {
        let mut args = self.clone();
        if !args.user {
            return Ok(args);
        }
        let current = cx.host.working_directory()?;
        let absolute = |path: &String| current.join(path).to_string_lossy().into_owned();
        args.readable = args.readable.iter().map(absolute).collect();
        if let Some(program) = args.command.first_mut().filter(|program| program.contains('/')) {
            *program = absolute(program);
        }
        Ok(args)
    }
}

/// Runs the command.
pub(super) fn run(args: &McpAddArgs, cx: &CliContext) -> CommandResult {
    if let Some(problem) = server_name_problem(&args.name) {
        return Err(CommandError::usage(problem));
    }
    let place = ManifestPlace::of_option(args.user);
    let edit = ManifestEdit::open(place, &cx.setting_args, &cx.host)?;
    if edit.parse(&edit.file)?.mcp.contains_key(&args.name) {
        let (name, path) = (&args.name, edit.file.path().display());
        let message = format!("a server {name} is in {path} already");
        let user = if args.user { " --user" } else { "" };
        return Err(CommandError::usage(message).hint(format!("haft mcp remove{user} {name}")));
    }
    let entry = text_of(&args.placed(cx)?)?;
    let text = edit.with_entry(&entry)?;
    let changed = edit.write(text)?;
    let answer = McpAddReport {
        manifest: changed.file.path(),
        created: changed.is_new,
        trusted: changed.is_trusted,
        name: &args.name,
    };
    // The grants of a server that is started here, and a warning if its program would be downloaded.
    let manifest = changed.file.parse()?;
    let mut about = String::new();
    if let Some(entry) = manifest.mcp.get(&args.name).filter(|entry| entry.url.is_none()) {
        about = match entry.requires.is_empty() {
            true => {
                "granted: nothing; what it may read, change and reach is for requires.fs.read, requires.fs.write and \
                 requires.net.hosts in its table to say\n"
                    .to_owned()
            }
            false => format!("granted: {}\n", grant_summary(entry)),
        };
        if let Some(download) = Download::of(entry) {
            let install = download.install(&args.name);
            let instead = install_commands(&install).replace('\n', "\n  ");
            let problem = install.problem;
            about.push_str(&format!("{problem}; install it once instead:\n  {instead}\n"));
        }
    }
    let next = match changed.is_trusted {
        true => format!("see whether it works: haft mcp test {}", args.name),
        false => changed.trust_note().trim_end().to_owned(),
    };
    let verb = if changed.is_new { "wrote" } else { "added to" };
    let path = changed.file.path().display();
    cx.print_answer(&answer, || format!("{verb} {path}\n{entry}\n{about}{next}\n"))?;
    Ok(CommandStatus::Done)
}

/// Returns the table as it is written.
fn text_of(args: &McpAddArgs) -> Result<String, CommandError> {
    let list = |items: &[String]| Value::from(items.to_vec()).to_string();
    let mut lines = vec![format!("[mcp.{}]", args.name)];
    if !args.command.is_empty() {
        lines.push(format!("command = {}", list(&args.command)));
    }
    if let Some(url) = &args.url {
        lines.push(format!("url = {}", Value::from(url.clone())));
    }
    for (key, items) in [("env", &args.env), ("readable", &args.readable)] {
        if !items.is_empty() {
            lines.push(format!("{key} = {}", list(items)));
        }
    }
    if !args.header.is_empty() {
        let header = |header: &String| {
            let named = header.split_once('=');
            let named = named.filter(|(name, from)| !name.is_empty() && !from.is_empty());
            let (name, from) = named.ok_or_else(|| {
                CommandError::usage(format!(
                    "--header {header:?}: expected a header and the variable that holds its value, such as \
                     Authorization=MY_TOKEN"
                ))
            })?;
            let (name, from) = (Value::from(name.to_owned()), Value::from(from.to_owned()));
            Ok::<_, CommandError>(format!("{name} = {{ from = {from} }}"))
        };
        let headers = args.header.iter().map(header).collect::<Result<Vec<_>, _>>()?;
        lines.push(format!("headers = {{ {} }}", headers.join(", ")));
    }
    if args.trust_annotations {
        lines.push("trust_annotations = true".to_owned());
    }
    let beneath = |directories: &[String]| -> Vec<String> {
        let beneath = |directory: &String| match directory.trim_end_matches('/') {
            "." | "" => "{workspace}/**".to_owned(),
            directory => format!("{}/**", directory.trim_start_matches("./")),
        };
        directories.iter().map(beneath).collect()
    };
    let grants = [
        ("requires.fs.read", beneath(&args.read)),
        ("requires.fs.write", beneath(&args.write)),
        ("requires.net.hosts", args.host.clone()),
    ];
    let granted = grants.iter().filter(|(_, items)| !items.is_empty());
    lines.extend(granted.map(|(key, items)| format!("{key} = {}", list(items))));
    Ok(lines.join("\n") + "\n")
}
