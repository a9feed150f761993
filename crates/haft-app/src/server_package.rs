//! The packages of registries that are MCP servers, and where they are installed. The directory of a package is called like the
//! package, so all projects share it, and the path of a program tells which package has it. This module installs nothing.

use std::path::{Component, Path, PathBuf};

/// The beginning of a path in a manifest that lies in the directory of the user's data, wherever a user has that.
pub const USER_DATA: &str = "{user-data}/";
/// The directory of all packages, in that of the user's data.
pub const PACKAGES_DIRECTORY: &str = "haft/mcp";
/// Stands for the slash of a package name in the name of a directory.
const SLASH: &str = "+";

/// A registry of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageRegistry {
    /// The registry of Node.
    Npm,
    /// The registry of Python.
    PyPi,
}

/// A package of a registry, with an exact version if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryPackage {
    /// The registry.
    pub registry: PackageRegistry,
    /// The name of the package, such as `@scope/name` or `name[extra]`.
    pub name: String,
    /// The exact version.
    pub version: Option<String>,
}

impl PackageRegistry {
    /// Returns the directory of its packages, in that of all packages.
    pub fn directory_name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::PyPi => "pypi",
        }
    }

    /// Returns what stands between a name and an exact version.
    fn separator(self) -> &'static str {
        match self {
            Self::Npm => "@",
            Self::PyPi => "==",
        }
    }
}

impl RegistryPackage {
    /// Reads a package as a person names it. Returns `None` for what is no package of a registry, such as a path, and for a
    /// version that is not exact.
    pub fn parse(registry: PackageRegistry, spec: &str) -> Option<Self> {
        // The scope of a package of npm begins with the separator.
        let after_first = spec.chars().next()?.len_utf8();
        let at = spec.get(after_first..)?.find(registry.separator());
        let (name, version) = match at {
            Some(at) => {
                let (name, rest) = spec.split_at_checked(at + after_first)?;
                (name, Some(rest.strip_prefix(registry.separator())?))
            }
            None => (spec, None),
        };
        let is_name = match registry {
            PackageRegistry::Npm => is_npm_name(name),
            PackageRegistry::PyPi => is_pypi_name(name),
        };
        let is_usable = is_name && version.is_none_or(|version| is_exact(registry, version));
        is_usable.then(|| Self {
            registry,
            name: name.to_owned(),
            version: version.map(str::to_owned),
        })
    }

    /// Returns the package as a person names it.
    pub fn spec(&self) -> String {
        let version = self.version.as_ref();
        let version = version.map(|version| format!("{}{version}", self.registry.separator()));
        format!("{}{}", self.name, version.unwrap_or_default())
    }

    /// Returns the directory of the package, in that of all packages.
    pub fn directory(&self) -> PathBuf {
        Path::new(self.registry.directory_name()).join(self.spec().replacen('/', SLASH, 1))
    }

    /// Returns the package that a word of a manifest names by the path of an installed program.
    pub fn of_manifest_word(word: &str) -> Option<Self> {
        Self::of_path(Path::new(word.strip_prefix(USER_DATA)?))
    }

    /// Returns the package that a path in the directory of the user's data lies in.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let mut names = path.strip_prefix(PACKAGES_DIRECTORY).ok()?.components();
        let mut name = || match names.next()? {
            Component::Normal(name) => name.to_str(),
            _ => None,
        };
        let (registry, directory) = (name()?, name()?);
        let registries = [PackageRegistry::Npm, PackageRegistry::PyPi];
        let registry = registries.into_iter().find(|it| it.directory_name() == registry)?;
        let spec = match directory.starts_with('@') {
            true => directory.replacen(SLASH, "/", 1),
            false => directory.to_owned(),
        };
        Self::parse(registry, &spec)
    }

    /// Returns whether another package is this one. A package without a version stands for each of its versions.
    pub fn includes(&self, other: &Self) -> bool {
        let is_version = self.version.is_none() || self.version == other.version;
        (self.registry, &self.name) == (other.registry, &other.name) && is_version
    }
}

fn is_npm_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let starts = part.starts_with(|first: char| first.is_ascii_alphanumeric());
        starts && part.chars().all(|char| char.is_ascii_alphanumeric() || "-._~".contains(char))
    };
    let is_file = [".tgz", ".tar", ".tar.gz"].iter().any(|ending| name.ends_with(ending));
    match name.strip_prefix('@') {
        Some(scoped) => {
            scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name))
        }
        None => is_part(name) && !is_file,
    }
}

fn is_pypi_name(name: &str) -> bool {
    let (name, extras) = match name.strip_suffix(']').map(|rest| rest.split_once('[')) {
        Some(Some((name, extras))) => (name, extras),
        Some(None) => return false,
        None => (name, ""),
    };
    let is_word = |text: &str, more: &str| {
        text.chars().all(|char| char.is_ascii_alphanumeric() || more.contains(char))
    };
    let starts = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    let is_file = [".whl", ".zip", ".tar.gz"].iter().any(|ending| name.ends_with(ending));
    starts && !is_file && is_word(name, "-._") && is_word(extras, "-._,")
}

/// Returns whether a version is one, and no range or name of a release.
fn is_exact(registry: PackageRegistry, version: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || ".-+!".contains(char);
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|char| char.is_ascii_digit());
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let starts = version.starts_with(|first: char| first.is_ascii_digit());
    starts
        && version.chars().all(is_plain)
        && match registry {
            // Of Node's versions, less than three numbers is a range.
            PackageRegistry::Npm => core.split('.').count() == 3 && core.split('.').all(is_number),
            PackageRegistry::PyPi => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_package_tells_the_package() {
        let check = |registry, spec: &str, directory: &str| {
            let package = RegistryPackage::parse(registry, spec).unwrap();
            assert_eq!(package.spec(), spec);
            assert_eq!(package.directory(), Path::new(directory));
            let word = format!("{{user-data}}/haft/mcp/{directory}/bin/server");
            assert_eq!(RegistryPackage::of_manifest_word(&word), Some(package), "{word}");
        };
        check(PackageRegistry::Npm, "@a/server-b@1.2.3", "npm/@a+server-b@1.2.3");
        check(PackageRegistry::Npm, "server-b@1.2.3-rc.1+5", "npm/server-b@1.2.3-rc.1+5");
        check(PackageRegistry::Npm, "@a/server-b", "npm/@a+server-b");
        check(PackageRegistry::PyPi, "mcp-server-time", "pypi/mcp-server-time");
        check(PackageRegistry::PyPi, "mcp[cli]==1.2", "pypi/mcp[cli]==1.2");
    }

    #[test]
    fn paths_addresses_and_ranges_are_no_packages_of_a_registry() {
        let check = |registry, specs: &[&str]| {
            for spec in specs {
                assert_eq!(RegistryPackage::parse(registry, spec), None, "{spec}");
            }
        };
        let npm = [
            "",
            "@",
            ".",
            "./b",
            "/tmp/b.tgz",
            "b.tgz",
            "~/b",
            "you/b",
            "@a",
            "@a/",
            "@a/../b",
            "b@^1",
            "b@1.x.0",
            "b@latest",
            "b@1",
            "b@",
            "git+https://h/b.git",
            "b@npm:c@1.0.0",
            "@a/b@1.0.0/c",
            "b@1.0.0 c",
        ];
        check(PackageRegistry::Npm, &npm);
        let pypi =
            ["", "./b", "b.whl", "b>=1", "b==", "b==1.*", "b[", "b]", "b @ https://h/b", "-e"];
        check(PackageRegistry::PyPi, &pypi);
        let other = ["/opt/server", "{user-data}/x", "{user-data}/haft/mcp/local/b/bin/b"];
        for word in other {
            assert_eq!(RegistryPackage::of_manifest_word(word), None, "{word}");
        }
    }

    #[test]
    fn a_package_without_a_version_stands_for_each() {
        let package = |spec: &str| RegistryPackage::parse(PackageRegistry::Npm, spec).unwrap();
        assert!(package("b").includes(&package("b@1.0.0")));
        assert!(package("b@1.0.0").includes(&package("b@1.0.0")));
        assert!(!package("b@1.0.0").includes(&package("b@1.0.1")));
        assert!(!package("b").includes(&package("c@1.0.0")));
    }
}
