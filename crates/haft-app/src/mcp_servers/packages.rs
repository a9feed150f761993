//! The entries of servers whose programs lie in the directory of the user's data, which each user has elsewhere.

use std::path::Path;

use crate::manifest::ServerEntry;
use crate::server_package::{RegistryPackage, USER_DATA};

/// Returns an entry whose paths in the directory of the user's data are whole. Without such a directory, they lead nowhere.
pub(super) fn place_user_data(mut entry: ServerEntry, user_data: Option<&Path>) -> ServerEntry {
    let Some(user_data) = user_data else { return entry };
    let words = entry.command.0.iter_mut().chain(&mut entry.args);
    for word in words {
        if let Some(rest) = word.strip_prefix(USER_DATA) {
            *word = user_data.join(rest).to_string_lossy().into_owned();
        }
    }
    for path in &mut entry.readable {
        if let Ok(rest) = path.strip_prefix(USER_DATA) {
            *path = user_data.join(rest);
        }
    }
    entry
}

/// Returns the package of a server whose program is not installed for this user.
pub(super) fn missing_package(
    entry: &ServerEntry,
    user_data: Option<&Path>,
) -> Option<RegistryPackage> {
    let program = Path::new(entry.words().next()?);
    let package = RegistryPackage::of_path(program.strip_prefix(user_data?).ok()?)?;
    (!program.exists()).then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_package::PackageRegistry;

    #[test]
    fn only_a_program_that_is_missing_is_to_be_installed() {
        let data = tempfile::tempdir().unwrap();
        let entry: ServerEntry = toml::from_str(
            "command = [\"{user-data}/haft/mcp/npm/b@1.0.0/bin/b\", \"{user-data}/c\"]",
        )
        .unwrap();
        let placed = place_user_data(entry.clone(), Some(data.path()));
        let program = data.path().join("haft/mcp/npm/b@1.0.0/bin/b");
        let words: Vec<&String> = placed.words().collect();
        assert_eq!(words, [program.to_str().unwrap(), data.path().join("c").to_str().unwrap()]);
        let missing = |entry: &ServerEntry| missing_package(entry, Some(data.path()));
        assert_eq!(missing(&placed), RegistryPackage::parse(PackageRegistry::Npm, "b@1.0.0"));
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, "").unwrap();
        assert_eq!(missing(&placed), None);
        assert_eq!(place_user_data(entry.clone(), None), entry);
        assert_eq!(missing(&ServerEntry::of_command(vec!["/bin/true".to_owned()])), None);
    }
}
