//! Names the paths that determine Python tools. These are the directories and package roots of the tools with all entries,
//! because a directory can replace a module and bytecode can replace a source. They also are the interpreters and the
//! environments. Another module protects those that lie in a root.

use std::path::PathBuf;

use haft_python::{find_interpreter, interpreter_paths};

use crate::loaded_paths::LoadedPath;
use crate::manifest::PythonEntry;

/// Returns what decides what the tools of a directory do.
pub(super) fn loaded_paths(entry: &PythonEntry) -> Vec<LoadedPath> {
    let mut parts = vec![LoadedPath {
        what: "the directory of Python tools".to_owned(),
        path: entry.dir.clone(),
        is_searched: true,
        mend: "put the tools into a directory of their own beneath the root, or name another root",
    }];
    parts.extend(entry.package_root.iter().map(|path| LoadedPath {
        what: "package_root".to_owned(),
        path: path.clone(),
        is_searched: true,
        mend: "name a directory beneath the root that holds the packages of the tools and little else, such as src",
    }));
    let named = entry.interpreter.iter().filter(|named| named.is_absolute());
    let mut places: Vec<PathBuf> = named.cloned().collect();
    for named in &places.clone() {
        let program = find_interpreter(named, "".as_ref(), &|_| false);
        places.extend(program.iter().flat_map(|program| interpreter_paths(program)));
    }
    places.extend(entry.interpreter_place.clone());
    parts.extend(places.into_iter().map(|path| LoadedPath {
        what: "the interpreter or virtual environment of Python tools".to_owned(),
        path,
        is_searched: false,
        mend: "make it in a separate directory, such as .venv",
    }));
    parts
}

#[cfg(test)]
mod tests;
