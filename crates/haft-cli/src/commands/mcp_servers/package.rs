//! A server that is a package: installed once into a separate directory, from which it is started confined. The installer runs
//! as the user does. npm runs no scripts of the package. A package of a registry is installed once for all projects, and its
//! directory is called like the package.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use haft_app::host::AppHost;
use haft_app::quote;
use haft_app::server_package::{PACKAGES_DIRECTORY, PackageRegistry, RegistryPackage, USER_DATA};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::CommandError;
use crate::views::output;

/// Parts of package names that say nothing about the server.
const COMMON_PARTS: [&str; 3] = ["mcp", "server", "modelcontextprotocol"];
/// Names of programs in an environment that are not of the package.
const OTHER_PROGRAMS: [&str; 3] = ["python", "pip", "activate"];
/// The directory of packages that are not of a registry, one for each server.
const LOCAL: &str = "local";
/// The file that says that a directory is complete, and which program it has. It is written last.
const RECORD: &str = "haft-package.json";
/// The file that one installation at a time locks.
const LOCK: &str = "lock";
/// The directory that a package is installed into whose version is not known yet.
const NEW: &str = "new";

/// A package whose program is a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum ServerPackage<'a> {
    /// Of npm.
    Npm(&'a str),
    /// Of PyPI.
    PyPi(&'a str),
}

/// The content of a directory of a package.
#[derive(Debug, Serialize, Deserialize)]
struct InstalledPackage {
    /// The package as it was named.
    package: String,
    /// The program, from the directory.
    program: PathBuf,
}

/// The directories of all packages of a user, while no other process installs one.
struct PackageDirectories {
    /// The directory of the user's data.
    data: PathBuf,
    /// Locked until it is closed.
    _lock: File,
}

impl ServerPackage<'_> {
    fn spec(&self) -> &str {
        match self {
            Self::Npm(spec) | Self::PyPi(spec) => spec,
        }
    }

    fn registry(&self) -> PackageRegistry {
        match self {
            Self::Npm(_) => PackageRegistry::Npm,
            Self::PyPi(_) => PackageRegistry::PyPi,
        }
    }

    /// Returns the package of a registry that is meant. A file, an address or a range of versions is none.
    pub(super) fn of_registry(&self) -> Option<RegistryPackage> {
        RegistryPackage::parse(self.registry(), self.spec())
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

    /// Returns the word of a manifest that starts the package, which is installed unless it is already. `server` is the name of
    /// the server.
    pub(super) fn install(&self, server: &str, host: &AppHost) -> Result<String, CommandError> {
        let places = PackageDirectories::open(host)?;
        if let Some(package) = self.of_registry() {
            if let Some(found) = places.find_installed(&package) {
                let shown = places.shown(&found);
                let name = quote::shell(&package.name);
                output::print_note(match (&package.version, package.registry) {
                    (None, PackageRegistry::Npm) => {
                        format!(
                            "{shown} is installed already; another version: --npm {name}@VERSION"
                        )
                    }
                    (None, PackageRegistry::PyPi) => {
                        format!(
                            "{shown} is installed already; another version: --pypi {name}==VERSION"
                        )
                    }
                    (Some(_), _) => format!("{shown} is installed already"),
                });
                return places.word_of(&found);
            }
            if let PackageRegistry::PyPi = package.registry {
                let directory = places.path(&package.directory());
                // An installation that was not completed has no record.
                remove_directory(&directory)?;
                self.install_into(&directory)?;
                return places.word_of(&directory);
            }
        }
        match self {
            Self::Npm(spec) if !is_path(spec) => self.install_by_version(&places),
            Self::Npm(_) | Self::PyPi(_) => self.install_for_server(server, &places),
        }
    }

    /// Installs a package of npm into the directory that is called like its version.
    fn install_by_version(&self, places: &PackageDirectories) -> Result<String, CommandError> {
        let new = places.path(Path::new(NEW));
        remove_directory(&new)?;
        self.install_into(&new)?;
        let package = npm_package(&new).and_then(|(name, about)| {
            let version = about.get("version")?.as_str()?;
            RegistryPackage::parse(PackageRegistry::Npm, &format!("{name}@{version}"))
        });
        let Some(package) = package else {
            let _ = fs::remove_dir_all(&new);
            let message = format!("npm does not say which version of {} it installed", self.spec());
            return Err(CommandError::failed(message));
        };
        let directory = places.path(&package.directory());
        if InstalledPackage::read(&directory).is_some() {
            let _ = fs::remove_dir_all(&new);
            return places.word_of(&directory);
        }
        remove_directory(&directory)?;
        let parent = directory.parent().unwrap_or(&directory);
        let placed = fs::create_dir_all(parent).and_then(|()| fs::rename(&new, &directory));
        placed.map_err(|err| {
            let _ = fs::remove_dir_all(&new);
            CommandError::failed(format!("{} cannot be made: {err}", directory.display()))
        })?;
        places.word_of(&directory)
    }

    /// Installs a package that is of no registry, such as a file, into the directory of the server. The same package is installed
    /// anew, since the file may have changed.
    fn install_for_server(
        &self,
        server: &str,
        places: &PackageDirectories,
    ) -> Result<String, CommandError> {
        let directory = places.path(&Path::new(LOCAL).join(server));
        match InstalledPackage::read(&directory) {
            Some(known) if known.package == self.spec() => remove_directory(&directory)?,
            Some(known) => {
                let path = directory.display();
                let message = format!(
                    "{path} holds another package, {}: name the server otherwise, or remove the directory",
                    known.package
                );
                let removal = format!("rm -r {}", quote::shell(&directory.to_string_lossy()));
                return Err(CommandError::usage(message).hint(removal));
            }
            // An installation that was not completed has no record.
            None => remove_directory(&directory)?,
        }
        self.install_into(&directory)?;
        places.word_of(&directory)
    }

    /// Installs the package into a directory, and records that it is complete. Leaves nothing behind if that fails.
    fn install_into(&self, directory: &Path) -> Result<(), CommandError> {
        fs::create_dir_all(directory).map_err(|err| {
            CommandError::failed(format!("{} cannot be made: {err}", directory.display()))
        })?;
        let installed = self.run_installers(directory).and_then(|program| {
            let program = program.strip_prefix(directory).unwrap_or(&program).to_owned();
            let record = InstalledPackage { package: self.spec().to_owned(), program };
            record.write(directory)
        });
        if installed.is_err() {
            // The next try begins anew, and names files that cannot be removed.
            let _ = fs::remove_dir_all(directory);
        }
        installed
    }

    /// Installs the package, and returns its program.
    fn run_installers(&self, directory: &Path) -> Result<PathBuf, CommandError> {
        output::print_note(format_args!("installing {} into {}", self.spec(), directory.display()));
        match self {
            Self::Npm(spec) => {
                let mut npm = Command::new("npm");
                npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
                run_installer(npm.arg(directory).arg("--").arg(spec), "npm")?;
                npm_program(directory)
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
                one_program(added, self.spec())
            }
        }
    }
}

impl InstalledPackage {
    /// Returns what is in a directory. Returns `None` if it is not complete.
    fn read(directory: &Path) -> Option<Self> {
        let record: Self = serde_json::from_slice(&fs::read(directory.join(RECORD)).ok()?).ok()?;
        let is_there = record.program.is_relative() && directory.join(&record.program).exists();
        is_there.then_some(record)
    }

    fn write(&self, directory: &Path) -> Result<(), CommandError> {
        let path = directory.join(RECORD);
        let text = serde_json::to_vec(self).unwrap_or_default();
        fs::write(&path, text).map_err(|err| {
            CommandError::failed(format!("{} cannot be written: {err}", path.display()))
        })
    }
}

impl PackageDirectories {
    /// Returns the directories. Waits until no other process installs a package.
    fn open(host: &AppHost) -> Result<Self, CommandError> {
        let data = host.user_data().ok_or_else(|| {
            CommandError::usage("there is no home directory to install a server in")
                .hint("export XDG_DATA_HOME=/path/to/a/directory")
        })?;
        let directory = data.join(PACKAGES_DIRECTORY);
        let failed = |err: std::io::Error| {
            CommandError::failed(format!("{} cannot be used: {err}", directory.display()))
        };
        fs::create_dir_all(&directory).map_err(failed)?;
        let lock = File::create(directory.join(LOCK)).map_err(failed)?;
        if lock.try_lock().is_err() {
            output::print_note("another haft installs a package; waiting for it");
            lock.lock().map_err(failed)?;
        }
        Ok(Self { data, _lock: lock })
    }

    /// Returns the whole path of a directory of these.
    fn path(&self, directory: &Path) -> PathBuf {
        self.data.join(PACKAGES_DIRECTORY).join(directory)
    }

    /// Returns the directory of a package that is installed. Of several versions, it is the one that was installed last.
    fn find_installed(&self, package: &RegistryPackage) -> Option<PathBuf> {
        if package.version.is_some() || package.registry == PackageRegistry::PyPi {
            let directory = self.path(&package.directory());
            return InstalledPackage::read(&directory).map(|_| directory);
        }
        let entries = fs::read_dir(self.path(Path::new(package.registry.directory_name()))).ok()?;
        let installed_at = |directory: &Path| -> Option<SystemTime> {
            InstalledPackage::read(directory)?;
            fs::metadata(directory.join(RECORD)).ok()?.modified().ok()
        };
        let found = entries.flatten().filter_map(|entry| {
            let directory = entry.path();
            let word = self.manifest_path(&directory)?;
            let known = RegistryPackage::of_manifest_word(&word)?;
            let at = installed_at(&directory).filter(|_| package.includes(&known))?;
            Some((at, directory))
        });
        found.max().map(|(_, directory)| directory)
    }

    /// Returns the words of a person for the package in a directory.
    fn shown(&self, directory: &Path) -> String {
        let known = self.manifest_path(directory);
        let known = known.and_then(|word| RegistryPackage::of_manifest_word(&word));
        known.map_or_else(|| directory.display().to_string(), |package| package.spec())
    }

    /// Returns the word of a manifest that starts the program in a directory. It means the same program for each user who
    /// installed the package.
    fn word_of(&self, directory: &Path) -> Result<String, CommandError> {
        let word = InstalledPackage::read(directory)
            .and_then(|record| self.manifest_path(&directory.join(record.program)));
        word.ok_or_else(|| CommandError::failed(format!("{} has no program", directory.display())))
    }

    /// Returns a path in the directory of the user's data as manifests name it.
    fn manifest_path(&self, path: &Path) -> Option<String> {
        Some(format!("{USER_DATA}{}", path.strip_prefix(&self.data).ok()?.to_str()?))
    }
}

/// Returns the directory of the package that a program of a manifest is in, if haft installed it.
pub(super) fn directory_of_program(word: &str, host: &AppHost) -> Option<PathBuf> {
    let data = host.user_data()?;
    let inside = match word.strip_prefix(USER_DATA) {
        Some(inside) => Path::new(inside),
        None => Path::new(word).strip_prefix(&data).ok()?,
    };
    // A registry or `local`, and the package. A server of an older haft has one directory.
    let below = inside.strip_prefix(PACKAGES_DIRECTORY).ok()?;
    let directories =
        [PackageRegistry::Npm, PackageRegistry::PyPi].map(PackageRegistry::directory_name);
    let is_kind = |first: &Path| {
        first == Path::new(LOCAL) || directories.iter().any(|it| first == Path::new(it))
    };
    let first = Path::new(below.components().next()?.as_os_str());
    let depth = if is_kind(first) { 2 } else { 1 };
    let directory: PathBuf = below.components().take(depth).collect();
    let directory = data.join(PACKAGES_DIRECTORY).join(directory);
    directory.is_dir().then_some(directory)
}

/// Returns whether npm reads a package as a file or an address, and not as a name in its registry.
fn is_path(spec: &str) -> bool {
    let name = spec.strip_prefix('@').unwrap_or(spec);
    let name = name.split('@').next().unwrap_or_default();
    let is_file = [".tgz", ".tar", ".tar.gz"].iter().any(|ending| spec.ends_with(ending));
    let slashes = name.matches('/').count();
    is_file
        || spec.contains(':')
        || spec.starts_with(['.', '/', '~'])
        || slashes > usize::from(spec.starts_with('@'))
}

/// Removes a directory of haft's, if it is there.
fn remove_directory(directory: &Path) -> Result<(), CommandError> {
    match fs::remove_dir_all(directory) {
        Err(err) if err.kind() != std::io::ErrorKind::NotFound => {
            Err(CommandError::failed(format!("{} cannot be removed: {err}", directory.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
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

/// Returns the name of the package that npm was told to install, and its description.
fn npm_package(directory: &Path) -> Option<(String, Value)> {
    let read = |path: PathBuf| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    };
    let manifest = read(directory.join("package.json"))?;
    let name = manifest.get("dependencies")?.as_object()?.keys().next()?.clone();
    let about = read(directory.join("node_modules").join(&name).join("package.json"));
    Some((name, about.unwrap_or_default()))
}

/// Returns the program of the package that npm was told to install.
fn npm_program(directory: &Path) -> Result<PathBuf, CommandError> {
    let (package, about) = npm_package(directory)
        .ok_or_else(|| CommandError::failed("npm installed no package: its output is above"))?;
    // A single program is given as a text, and is called like the package without its scope.
    let names: Vec<String> = match about.get("bin") {
        Some(Value::String(_)) => {
            vec![package.rsplit('/').next().unwrap_or(&package).to_owned()]
        }
        Some(Value::Object(programs)) => programs.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let bin = directory.join("node_modules/.bin");
    one_program(names.into_iter().map(|name| bin.join(name)).collect(), &package)
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

    #[test]
    fn files_and_addresses_are_no_names_of_the_registry() {
        for spec in ["./b", "/tmp/b.tgz", "b.tgz", "you/b", "git+https://h/b", "@a/b/c", "~/b"] {
            assert!(is_path(spec), "{spec}");
        }
        for spec in ["b", "b@^1", "@a/b", "@a/b@latest", "@a/b@1.0.0"] {
            assert!(!is_path(spec), "{spec}");
        }
    }
}
