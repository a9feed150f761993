//! Finds the files that belong to a server, which it reads: its program, the environment or the packages around it, and
//! the paths that the manifest names. Only the program of the command counts. Arguments may be anything, and grant nothing.

use std::path::{Path, PathBuf};

use crate::manifest::ServerEntry;
use crate::program_files::{PACKAGES, script_place};

/// The file that says what a virtual environment of Python is based on.
const ENVIRONMENT_FILE: &str = "pyvenv.cfg";

/// Returns the places that a server reads because they are its own.
pub(crate) fn server_paths(entry: &ServerEntry) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if let Some(program) = program(entry) {
        // A program is made of the packages of Node, or of the environment of Python, that it belongs to.
        places.extend(haft_python::interpreter_paths(program));
        places.extend(base_programs(program));
        places.extend(around_script(program));
    }
    places.extend(script(entry).into_iter().flat_map(around_script));
    places.extend(entry.readable.iter().cloned());
    places.sort();
    places.dedup();
    places
}

/// Returns the files that decide which files belong to a server, whether they exist or not. A new file of this kind makes
/// a program part of an environment, which the server then reads.
pub(super) fn deciding_paths(entry: &ServerEntry) -> Vec<PathBuf> {
    let real = program(entry).and_then(|program| program.canonicalize().ok());
    let programs = program(entry).into_iter().chain(real.as_deref());
    programs.filter_map(environment_file).collect()
}

/// Returns the program of the server, if the manifest names it by an absolute path.
fn program(entry: &ServerEntry) -> Option<&Path> {
    entry.words().next().map(Path::new).filter(|path| is_named_file(path))
}

/// Returns the program that an interpreter runs.
fn script(entry: &ServerEntry) -> Option<&Path> {
    let words: Vec<&str> = entry.words().map(String::as_str).collect();
    let script = words.get(script_place(&words)?)?;
    Some(Path::new(*script)).filter(|path| is_named_file(path))
}

/// Returns whether a path is absolute and names a file.
fn is_named_file(path: &Path) -> bool {
    path.is_absolute() && path.is_file()
}

/// Returns a server whose script is named by its whole path, if it is one beneath `directory`. Another one could take the place
/// of a script that is looked for where the server starts.
pub(super) fn resolve_program_path(mut entry: ServerEntry, directory: &Path) -> ServerEntry {
    let words: Vec<&str> = entry.words().map(String::as_str).collect();
    let script = script_place(&words).and_then(|place| match place {
        place if place < entry.command.0.len() => entry.command.0.get_mut(place),
        place => entry.args.get_mut(place - entry.command.0.len()),
    });
    if let Some(script) = script.filter(|script| directory.join(script).is_file()) {
        *script = directory.join(&*script).to_string_lossy().into_owned();
    }
    entry
}

/// Returns a script, and the packages of Node that it belongs to. The environment of Python is that of its interpreter:
/// a file two directories above a script makes none of what lies there.
fn around_script(script: &Path) -> Vec<PathBuf> {
    let real = script.canonicalize().ok();
    let paths = std::iter::once(script).chain(real.as_deref());
    let is_packages = |place: &&Path| place.file_name().is_some_and(|name| name == PACKAGES);
    // The outermost directory of packages counts.
    let packages = paths.filter_map(|path| path.ancestors().filter(is_packages).last());
    let mut places: Vec<PathBuf> = packages.map(Path::to_path_buf).collect();
    places.push(script.to_owned());
    places.extend(real);
    places
}

/// Returns where the settings of the environment are that a program would belong to.
fn environment_file(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join(ENVIRONMENT_FILE))
}

/// Returns the directory of programs that a virtual environment of Python is based on: its interpreter is reached through
/// links there.
fn base_programs(program: &Path) -> Option<PathBuf> {
    let settings = std::fs::read_to_string(environment_file(program)?).ok()?;
    let home = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "home").then(|| PathBuf::from(value.trim()))
    });
    home.filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entry(words: &[&str]) -> ServerEntry {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let command = toml::Value::from(words);
        toml::from_str(&format!("command = {command}")).unwrap()
    }

    #[test]
    fn packages_around_a_program_are_its_own_and_arguments_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let dist = base.join("app/node_modules/@m/server/dist");
        fs::create_dir_all(&dist).unwrap();
        let script = dist.join("index.js");
        fs::write(&script, "").unwrap();
        let data = base.join("data.txt");
        fs::write(&data, "").unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let packages = base.join("app/node_modules");

        let found = server_paths(&entry(&["node", &text(&script), &text(&data)]));
        assert!(found.contains(&packages) && !found.contains(&data), "{found:?}");
        assert!(server_paths(&entry(&["cat", &text(&data)])).is_empty());
        assert!(server_paths(&entry(&["npx", "-y", "x"])).is_empty());

        let named = entry(&["python3", "data.txt", "data.txt"]);
        let placed = resolve_program_path(named, &base);
        let words: Vec<&String> = placed.words().collect();
        assert_eq!(words, ["python3", &text(&data), "data.txt"]);
        assert!(server_paths(&placed).contains(&data));

        let link = base.join("server");
        std::os::unix::fs::symlink(&script, &link).unwrap();
        let found = server_paths(&entry(&[&text(&link)]));
        assert!(found.contains(&packages) && found.contains(&link), "{found:?}");
    }

    #[test]
    fn nobody_makes_an_environment_around_a_script() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("tools")).unwrap();
        let script = base.join("tools/server.py");
        fs::write(&script, "").unwrap();
        let settings = base.join("pyvenv.cfg");
        fs::write(&settings, "home = /etc\n").unwrap();
        let text = script.to_str().unwrap();

        assert_eq!(server_paths(&entry(&["python3", text])), [script.as_path()]);
        assert!(deciding_paths(&entry(&["python3", text])).is_empty());
        // A program that is started directly may be an interpreter, so no other program may write its settings.
        assert!(server_paths(&entry(&[text])).contains(&base));
        assert_eq!(deciding_paths(&entry(&[text])), [settings.as_path(), settings.as_path()]);
    }
}
