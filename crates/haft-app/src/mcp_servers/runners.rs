//! Programs that download what they run, such as `npx` and `uvx`. A confined server reaches no registry and sees no cache of its
//! user, so that most of them fail; what to do instead is said here. Nothing is downloaded here.

use std::ffi::OsString;

use crate::app_error::ServerInstall;
use crate::manifest::ServerEntry;
use crate::server_package::PackageRegistry;

/// Words that a command begins with, and whose packages it downloads then.
const RUNNERS: [(&[&str], PackageRegistry); 11] = [
    (&["npx"], PackageRegistry::Npm),
    (&["bunx"], PackageRegistry::Npm),
    (&["npm", "exec"], PackageRegistry::Npm),
    (&["npm", "x"], PackageRegistry::Npm),
    (&["pnpm", "dlx"], PackageRegistry::Npm),
    (&["yarn", "dlx"], PackageRegistry::Npm),
    (&["bun", "x"], PackageRegistry::Npm),
    (&["uvx"], PackageRegistry::PyPi),
    (&["uv", "run"], PackageRegistry::PyPi),
    (&["uv", "tool", "run"], PackageRegistry::PyPi),
    (&["pipx", "run"], PackageRegistry::PyPi),
];
/// Options whose value is the package.
const PACKAGE_OPTIONS: [&str; 4] = ["--from", "--package", "--spec", "-p"];
/// Variables that keep them from retrying to reach a registry that a server without hosts does not reach.
const OFFLINE: [(&str, &str); 2] = [("npm_config_offline", "true"), ("UV_OFFLINE", "1")];

/// A server that is downloaded when it is started.
pub struct Download<'a> {
    /// The program that downloads and starts the server.
    runner: &'static str,
    /// Where the program downloads from.
    registry: PackageRegistry,
    /// The package, if the command names one.
    package: Option<&'a str>,
    /// The arguments that the server gets.
    arguments: Vec<&'a str>,
}

impl<'a> Download<'a> {
    /// Returns what a server's command downloads; nothing if it does not.
    pub fn of(entry: &'a ServerEntry) -> Option<Self> {
        let words: Vec<&str> = entry.words().map(String::as_str).collect();
        let (first, rest) = words.split_first()?;
        let program = first.rsplit('/').next().unwrap_or(first);
        let found = RUNNERS.into_iter().find_map(|(start, registry)| {
            let (name, subcommands) = start.split_first()?;
            let rest = rest.strip_prefix(subcommands).filter(|_| *name == program)?;
            Some((*name, registry, rest))
        });
        let (runner, registry, rest) = found?;
        let (package, arguments) = package(rest).unzip();
        Some(Self { runner, registry, package, arguments: arguments.unwrap_or_default() })
    }

    /// Returns how the program is installed, so that the server of that name needs no download.
    pub fn install(&self, server: &str) -> ServerInstall {
        let Self { runner, .. } = self;
        let problem = format!(
            "{runner} downloads what it runs, and a confined server neither downloads nor sees your caches"
        );
        ServerInstall {
            server: server.to_owned(),
            problem,
            registry: self.registry,
            package: self.package.map(str::to_owned),
            arguments: self.arguments.iter().map(|&word| word.to_owned()).collect(),
        }
    }
}

/// Returns the variables that have such a program say at once what it lacks, unless the server is told otherwise.
pub(super) fn offline(entry: &ServerEntry) -> Vec<(OsString, OsString)> {
    if Download::of(entry).is_none() || !entry.requires.net.hosts.is_empty() {
        return Vec::new();
    }
    let is_told = |name: &str| entry.env.0.keys().any(|known| known.eq_ignore_ascii_case(name));
    let own = OFFLINE.into_iter().filter(|(name, _)| !is_told(name));
    own.map(|(name, value)| (name.into(), value.into())).collect()
}

/// Returns the package that the words of a runner name, and the arguments that its program gets.
fn package<'a>(words: &[&'a str]) -> Option<(&'a str, Vec<&'a str>)> {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let option = PACKAGE_OPTIONS.iter().find_map(|option| word.strip_prefix(option));
        let named = match option {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(package) = named {
            // The program of the package follows.
            let program = words.by_ref().find(|word| !word.starts_with('-'));
            return Some((package, program.map_or_else(Vec::new, |_| words.collect())));
        }
        if !word.starts_with('-') {
            return Some((word, words.collect()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_downloaded_is_known_by_its_command() {
        let check = |command: &str, expect: Option<(&str, &str, &[&str])>| {
            let words = command.split(' ').map(str::to_owned).collect();
            let entry = ServerEntry::of_command(words);
            let found = Download::of(&entry);
            let found = found
                .as_ref()
                .map(|found| (found.runner, found.package.unwrap_or("-"), &found.arguments[..]));
            assert_eq!(found, expect, "{command}");
        };
        check(
            "npx -y @scope/server . --flag",
            Some(("npx", "@scope/server", &[".", "--flag"][..])),
        );
        check(
            "/usr/bin/npx --package=@scope/server server",
            Some(("npx", "@scope/server", &[][..])),
        );
        check("npm exec -p a b c", Some(("npm", "a", &["c"][..])));
        check("npm start", None);
        let zone = ["--local-timezone", "UTC"];
        check(
            "uvx mcp-server-time --local-timezone UTC",
            Some(("uvx", "mcp-server-time", &zone[..])),
        );
        check("uvx --from git+https://a/b server", Some(("uvx", "git+https://a/b", &[][..])));
        check("uv tool run x", Some(("uv", "x", &[][..])));
        check("npx", Some(("npx", "-", &[][..])));
        check("node npx", None);
    }

    #[test]
    fn what_cannot_be_reached_is_not_waited_for() {
        let entry = |more: &str| -> ServerEntry {
            toml::from_str(&format!("command = [\"npx\", \"-y\", \"x\"]\n{more}")).unwrap()
        };
        let names = |more: &str| -> Vec<String> {
            let variables = offline(&entry(more)).into_iter();
            variables.map(|(name, _)| name.into_string().unwrap()).collect()
        };
        assert_eq!(names(""), ["npm_config_offline", "UV_OFFLINE"]);
        assert_eq!(names("env = { NPM_CONFIG_OFFLINE = \"false\" }"), ["UV_OFFLINE"]);
        assert!(names("requires.net.hosts = [\"registry.npmjs.org\"]").is_empty());
        assert!(offline(&ServerEntry::of_command(vec!["cat".to_owned()])).is_empty());
    }
}
