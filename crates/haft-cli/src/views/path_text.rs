//! Paths and numbers of things in the words of the command line.

use std::path::Path;

/// Returns a number of things in words.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns a path as it is written in the working directory.
pub(crate) fn shown(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&current) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}
