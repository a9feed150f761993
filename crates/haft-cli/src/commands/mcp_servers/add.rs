//! `haft mcp add`: writes a table `[mcp.NAME]` at the end of haft.toml. A package is installed first. It does not try out the server.

use std::path::Path;

use clap::Args;
use serde::Serialize;
use toml::Value;

use super::package::ServerPackage;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::manifest_edit::{ManifestEdit, ManifestPlace};
use crate::next_step::install_commands;
use haft_app::host::AppHost;
use haft_app::manifest::{ServerEntry, server_name_problem};
use haft_app::mcp_servers::{Download, grant_summary};
use haft_app::server_package::{PackageRegistry, RegistryPackage, USER_DATA};

/// The server to add.
#[derive(Clone, Args)]
pub(crate) struct McpAddArgs {
    /// Name of the server, which its tools' ids begin with: lower-case letters, digits and underscores
    ///
    /// With --npm or --pypi, the name follows from that of the package unless given.
    #[arg(required_unless_present_any = ["npm", "pypi"])]
    name: Option<String>,
    /// Address of a server that runs elsewhere
    #[arg(long, conflicts_with = "command")]
    url: Option<String>,
    /// Package of npm that is the server: haft installs it into a separate directory, without its scripts
    ///
    /// The directory is below ~/.local/share/haft/mcp. All projects share a package of the same version. Everything that npm
    /// install takes is a package: a name, a name with a version, a file or a directory. npm runs as you do; the server runs
    /// confined.
    #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["url", "pypi"])]
    npm: Option<String>,
    /// Package of PyPI that is the server: haft installs it into a separate virtual environment
    #[arg(long, value_name = "PACKAGE", conflicts_with = "url")]
    pypi: Option<String>,
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
    /// The program that is the server, and its arguments; with --npm or --pypi, only the arguments
    #[arg(last = true, required_unless_present_any = ["url", "npm", "pypi"])]
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
    /// Returns the package to install, if the server is one.
    fn package(&self) -> Option<ServerPackage<'_>> {
        let npm = self.npm.as_deref().map(ServerPackage::Npm);
        npm.or_else(|| self.pypi.as_deref().map(ServerPackage::PyPi))
    }

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
        let is_program = args.package().is_none();
        let program =
            args.command.first_mut().filter(|program| is_program && program.contains('/'));
        if let Some(program) = program {
            *program = absolute(program);
        }
        Ok(args)
    }
}

/// Runs the command.
pub(super) fn run(args: &McpAddArgs, cx: &CliContext) -> CommandResult {
    let package = args.package();
    let name = match (&args.name, &package) {
        (Some(name), _) => name.clone(),
        (None, Some(package)) => package.server_name(),
        (None, None) => return Err(CommandError::usage("name the server")),
    };
    if let Some(problem) = server_name_problem(&name) {
        return Err(CommandError::usage(problem).hint("haft mcp add NAME --npm PACKAGE"));
    }
    let place = ManifestPlace::of_option(args.user);
    let edit = ManifestEdit::open(place, &cx.setting_args, &cx.host)?;
    if let Some(known) = edit.parse(&edit.file)?.mcp.get(&name) {
        if let Some(package) = missing_package(known, package.as_ref(), &cx.host) {
            return install_again(&name, &package, &edit, cx);
        }
        let path = edit.file.path().display();
        let message = format!("a server {name} is in {path} already");
        let user = if args.user { " --user" } else { "" };
        return Err(CommandError::usage(message).hint(format!("haft mcp remove{user} {name}")));
    }
    let mut args = args.placed(cx)?;
    if let Some(package) = &package {
        args.command.insert(0, package.install(&name, &cx.host)?);
    }
    let entry = text_of(&name, &args)?;
    let text = edit.with_entry(&entry)?;
    let changed = edit.write(text)?;
    let answer = McpAddReport {
        manifest: changed.file.path(),
        created: changed.is_new,
        trusted: changed.is_trusted,
        name: &name,
    };
    // The grants of a server that is started here, and a warning if its program would be downloaded.
    let manifest = changed.file.parse()?;
    let mut about = String::new();
    if let Some(entry) = manifest.mcp.get(&name).filter(|entry| entry.url.is_none()) {
        about = match entry.requires.is_empty() {
            true => {
                "granted: nothing; what it may read, change and reach is for requires.fs.read, requires.fs.write and \
                 requires.net.hosts in its table to say\n"
                    .to_owned()
            }
            false => format!("granted: {}\n", grant_summary(entry)),
        };
        if let Some(download) = Download::of(entry) {
            let install = download.install(&name);
            let instead = install_commands(&install).replace('\n', "\n  ");
            let problem = install.problem;
            about.push_str(&format!("{problem}; install it once instead:\n  {instead}\n"));
        }
    }
    let next = match changed.is_trusted {
        true => format!("see whether it works: haft mcp test {name}"),
        false => changed.trust_note().trim_end().to_owned(),
    };
    let verb = if changed.is_new { "wrote" } else { "added to" };
    let path = changed.file.path().display();
    cx.print_answer(&answer, || format!("{verb} {path}\n{entry}\n{about}{next}\n"))?;
    Ok(CommandStatus::Done)
}

/// Returns the package of a known server, if it is the one that a person named and this user did not install it yet. The
/// manifest names its version.
fn missing_package(
    known: &ServerEntry,
    named: Option<&ServerPackage<'_>>,
    host: &AppHost,
) -> Option<RegistryPackage> {
    let program = known.words().next()?;
    let package = RegistryPackage::of_manifest_word(program)?;
    let is_there = || Some(host.user_data()?.join(program.strip_prefix(USER_DATA)?).exists());
    let is_meant = named?.of_registry()?.includes(&package);
    (is_meant && is_there() != Some(true)).then_some(package)
}

/// Installs the package of a server that is in the manifest, as another user left it. The manifest stays as it is.
fn install_again(
    name: &str,
    package: &RegistryPackage,
    edit: &ManifestEdit,
    cx: &CliContext,
) -> CommandResult {
    let spec = package.spec();
    let named = match package.registry {
        PackageRegistry::Npm => ServerPackage::Npm(&spec),
        PackageRegistry::PyPi => ServerPackage::PyPi(&spec),
    };
    named.install(name, &cx.host)?;
    let manifest = edit.file.path();
    let answer = McpAddReport { manifest, created: false, trusted: edit.is_trusted(), name };
    cx.print_answer(&answer, || {
        format!(
            "installed {spec} for the server {name} of {}, which stays as it is\nsee whether it works: haft mcp test {name}\n",
            manifest.display()
        )
    })?;
    Ok(CommandStatus::Done)
}

/// Returns the table as it is written.
fn text_of(name: &str, args: &McpAddArgs) -> Result<String, CommandError> {
    let list = |items: &[String]| Value::from(items.to_vec()).to_string();
    let mut lines = vec![format!("[mcp.{name}]")];
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
