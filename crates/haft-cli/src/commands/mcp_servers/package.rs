//! A server that is a package: installed once into a separate directory, from which it is started confined. The installer runs
//! as the user does. npm runs no scripts of the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haft_app::host::AppHost;
use serde_json::Value;

use crate::error::CommandError;
use crate::views::output;

/// Parts of package names that say nothing about the server.
const COMMON_PARTS: [&str; 3] = ["mcp", "server", "modelcontextprotocol"];
/// Names of programs in an environment that are not of the package.
const OTHER_PROGRAMS: [&str; 3] = ["python", "pip", "activate"];

/// A package whose program is a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum ServerPackage<'a> {
    /// Of npm.
    Npm(&'a str),
    /// Of PyPI.
    PyPi(&'a str),
}

impl ServerPackage<'_> {
    fn spec(&self) -> &str {
        match self {
            Self::Npm(spec) | Self::PyPi(spec) => spec,
        }
    }

    /// Returns a name for the server: that of the package, without a scope, a version and what all servers are called.
    pub(super) fn server_name(&self) -> String {
        let last = self.spec().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let last = last.split(['@', '=', '<', '>', '~', '[']).next().unwrap_or_default();
        let last = last.strip_suffix(".tgz").or_else(|| last.strip_suffix(".whl")).unwrap_or(last);
        let parts: Vec<String> = last
            .split(|char: char| !char.is_ascii_alphanumeric())
            .map(str::to_ascii_lowercase)
            .take_while(|part| !part.starts_with(|first: char| first.is_ascii_digit()))
            .collect();
        let telling = parts.iter().filter(|part| !COMMON_PARTS.contains(&part.as_str()));
        let telling: Vec<&str> =
            telling.map(String::as_str).filter(|part| !part.is_empty()).collect();
        match telling.is_empty() {
            true => "server".to_owned(),
            false => telling.join("_"),
        }
    }

    /// Installs the package for the server of a name, and returns the command that starts it.
    pub(super) fn install(
        &self,
        server: &str,
        host: &AppHost,
    ) -> Result<Vec<String>, CommandError> {
        let directory = directory(server, host)?;
        if directory.exists() {
            let path = directory.display();
            let message = format!("{path} is there already, from an earlier server of this name");
            let removal = format!("rm -r {}", haft_app::quote::shell(&directory.to_string_lossy()));
            return Err(CommandError::usage(message).hint(removal));
        }
        fs::create_dir_all(&directory).map_err(|err| {
            CommandError::failed(format!("{} cannot be made: {err}", directory.display()))
        })?;
        let installed = self.install_into(&directory);
        if installed.is_err() {
            // The next try begins anew, and names files that cannot be removed.
            let _ = fs::remove_dir_all(&directory);
        }
        installed
    }

    fn install_into(&self, directory: &Path) -> Result<Vec<String>, CommandError> {
        output::print_note(format_args!("installing {} into {}", self.spec(), directory.display()));
        let program = match self {
            Self::Npm(spec) => {
                let mut npm = Command::new("npm");
                npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
                run_installer(npm.arg(directory).arg("--").arg(spec), "npm")?;
                npm_program(directory)?
            }
            Self::PyPi(spec) => {
                let mut venv = Command::new("python3");
                run_installer(venv.args(["-m", "venv"]).arg(directory), "python3 -m venv")?;
                let before = programs_in(&directory.join("bin"));
                let mut pip = Command::new(directory.join("bin/python3"));
                pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--"]);
                run_installer(pip.arg(spec), "pip")?;
                let mut added = programs_in(&directory.join("bin"));
                added.retain(|program| !before.contains(program));
                one_program(added, self.spec())?
            }
        };
        Ok(vec![program.to_string_lossy().into_owned()])
    }
}

/// Returns the directory for the package of a server.
fn directory(server: &str, host: &AppHost) -> Result<PathBuf, CommandError> {
    let data = host.variable_if_set("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(host.home()?.join(".local/share")));
    let data = data.ok_or_else(|| {
        CommandError::usage("there is no home directory to install a server in")
            .hint("export XDG_DATA_HOME=/path/to/a/directory")
    })?;
    Ok(data.join("haft/mcp").join(server))
}

/// Runs an installer, whose output goes to standard error.
fn run_installer(command: &mut Command, name: &str) -> Result<(), CommandError> {
    let stderr = std::io::stderr();
    let started = command.stdin(Stdio::null()).stdout(stderr).status();
    let status = started.map_err(|err| {
        CommandError::usage(format!(
            "{name} does not start: {err}; install it, or name a program after --"
        ))
    })?;
    match status.success() {
        true => Ok(()),
        false => {
            Err(CommandError::failed(format!("{name} failed with {status}; its output is above")))
        }
    }
}

/// Returns the program of the package that npm was told to install.
fn npm_program(directory: &Path) -> Result<PathBuf, CommandError> {
    let text = fs::read_to_string(directory.join("package.json")).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let packages = manifest.get("dependencies").and_then(Value::as_object);
    let package = packages
        .and_then(|packages| packages.keys().next())
        .ok_or_else(|| CommandError::failed("npm installed no package: its output is above"))?;
    let modules = directory.join("node_modules");
    let text = fs::read_to_string(modules.join(package).join("package.json")).unwrap_or_default();
    let about: Value = serde_json::from_str(&text).unwrap_or_default();
    // A single program is given as a text, and is called like the package without its scope.
    let names: Vec<String> = match about.get("bin") {
        Some(Value::String(_)) => {
            vec![package.rsplit('/').next().unwrap_or(package).to_owned()]
        }
        Some(Value::Object(programs)) => programs.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let bin = modules.join(".bin");
    one_program(names.into_iter().map(|name| bin.join(name)).collect(), package)
}

/// Returns the programs in a directory, without those of Python itself.
fn programs_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        OTHER_PROGRAMS.iter().any(|other| name.starts_with(other))
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| !is_other(path) && path.is_file());
    found.sort();
    found
}

/// Returns the program of a package. Of several, it is the one that is called like a server.
fn one_program(programs: Vec<PathBuf>, package: &str) -> Result<PathBuf, CommandError> {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let wanted = package.rsplit('/').next().unwrap_or(package);
    if let [only] = programs.as_slice() {
        return Ok(only.clone());
    }
    if let Some(same) = programs.iter().find(|path| name(path) == wanted) {
        return Ok(same.clone());
    }
    let mut servers = programs.iter().filter(|path| name(path).contains("mcp"));
    if let (Some(only), None) = (servers.next(), servers.next()) {
        return Ok(only.clone());
    }
    let named: Vec<String> = programs.iter().map(name).collect();
    let message = match named.is_empty() {
        true => format!("{package} has no program, so it is no server"),
        false => format!(
            "{package} has several programs, {}: install it yourself, and name one after --",
            named.join(", ")
        ),
    };
    Err(CommandError::usage(message).hint("haft mcp add NAME -- PROGRAM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_like_its_package() {
        let check = |package: ServerPackage<'_>, expect: &str| {
            assert_eq!(package.server_name(), expect, "{package:?}");
        };
        check(ServerPackage::Npm("@modelcontextprotocol/server-memory"), "memory");
        check(ServerPackage::Npm("@acme/files-mcp@1.2.0"), "files");
        check(ServerPackage::Npm("./packages/weather"), "weather");
        check(ServerPackage::Npm("/tmp/acme-notes-1.0.0.tgz"), "acme_notes");
        check(ServerPackage::PyPi("mcp-server-time==2025.1"), "time");
        check(ServerPackage::PyPi("mcp-server[cli]"), "server");
    }

    #[test]
    fn of_several_programs_the_server_is_meant() {
        let check = |programs: &[&str], expect: Option<&str>| {
            let programs = programs.iter().map(PathBuf::from).collect();
            let found = one_program(programs, "@acme/notes").ok();
            assert_eq!(found, expect.map(PathBuf::from), "{expect:?}");
        };
        check(&["bin/x"], Some("bin/x"));
        check(&["bin/notes", "bin/notes-admin"], Some("bin/notes"));
        check(&["bin/notes-mcp", "bin/notes-admin"], Some("bin/notes-mcp"));
        check(&["bin/a", "bin/b"], None);
        check(&[], None);
    }
}
