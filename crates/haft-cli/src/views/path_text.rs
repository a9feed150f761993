//! Paths and counts in the words of the command line.

use std::path::Path;

/// Returns a count with its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns a path as a person would write it in the working directory.
pub(crate) fn shown(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&current) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// Returns a path as a person would write it in the working directory, or with `~` for the home directory.
pub(crate) fn shown_with_home(path: &Path, home: Option<&Path>) -> String {
    let shown = shown(path);
    let in_home = home.and_then(|home| Path::new(&shown).strip_prefix(home).ok());
    in_home.map_or_else(|| shown.clone(), |rest| format!("~/{}", rest.display()))
}
