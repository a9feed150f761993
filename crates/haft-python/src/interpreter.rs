//! Finds the program of a configured interpreter and the paths that it must read, from its location
//! and without starting it. Whether it is new enough is determined when it runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The file that marks a virtual environment.
const ENVIRONMENT_FILE: &str = "pyvenv.cfg";
/// The interpreter's path in an environment.
const ENVIRONMENT_PROGRAMS: &[&str] = &["bin/python3", "bin/python"];

/// An interpreter cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterpreterError {
    /// No directory of the search path has a program of this name.
    #[error(
        "the interpreter {0:?} is not on PATH: install Python 3.8 or later, or name another interpreter"
    )]
    NotOnPath(PathBuf),
    /// Every program of this name on the search path is in a place where it could be replaced.
    #[error(
        "the interpreter {0:?} is on PATH only where it can be replaced, in or through a root: install Python 3.8 or later \
         elsewhere, or name another interpreter"
    )]
    WithinReach(PathBuf),
    /// The path does not exist or is not executable.
    #[error(
        "the interpreter {0:?} is not a program: expected Python 3.8 or later, or the directory of a virtual environment"
    )]
    NoProgram(PathBuf),
    /// The directory contains no interpreter.
    #[error(
        "the interpreter {0:?} is a directory without bin/python: expected that of a virtual environment; one is made \
         with python3 -m venv"
    )]
    NoEnvironment(PathBuf),
}

/// Returns the path of an interpreter: a program, the directory of a virtual environment, or a bare
/// name that is looked up in `search_path`. If the program is a link, the link is not followed,
/// because an interpreter finds its environment through it.
///
/// Entries of the search path are used only if `is_out_of_reach` accepts them. An activated
/// environment in a workspace comes first in the path, but the user did not choose it to decide
/// what tools are. An explicit path is the user's choice and is used unchanged.
pub fn find_interpreter(
    named: &Path,
    search_path: &OsStr,
    is_out_of_reach: &dyn Fn(&Path) -> bool,
) -> Result<PathBuf, InterpreterError> {
    let is_bare = named.components().count() == 1 && !named.is_absolute();
    if is_bare {
        // A relative entry would depend on the current directory.
        let places = std::env::split_paths(search_path).filter(|place| place.is_absolute());
        let mut within_reach = false;
        for program in places.map(|place| place.join(named)).filter(|program| is_program(program)) {
            if is_out_of_reach(&program) {
                return Ok(with_canonical_directory(program));
            }
            within_reach = true;
        }
        return Err(match within_reach {
            true => InterpreterError::WithinReach(named.to_owned()),
            false => InterpreterError::NotOnPath(named.to_owned()),
        });
    }
    if named.is_dir() {
        let mut programs = ENVIRONMENT_PROGRAMS.iter().map(|name| named.join(name));
        let found = programs.find(|program| is_program(program));
        return found
            .map(with_canonical_directory)
            .ok_or_else(|| InterpreterError::NoEnvironment(named.to_owned()));
    }
    if is_program(named) {
        Ok(with_canonical_directory(named.to_owned()))
    } else {
        Err(InterpreterError::NoProgram(named.to_owned()))
    }
}

/// Returns a program's path with the canonical path of its directory, because confined processes
/// see it there.
fn with_canonical_directory(program: PathBuf) -> PathBuf {
    let directory = program.parent().and_then(|directory| directory.canonicalize().ok());
    match (directory, program.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => program,
    }
}

fn is_program(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns the paths that an interpreter reads besides the system's: its virtual environment, and
/// the program, library and modules of the installation behind it. Blocks. For a bare name, nothing
/// is returned.
///
/// An installation may be in a directory with many other files, such as a home, so only these parts
/// are named.
pub fn interpreter_paths(interpreter: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if !interpreter.is_absolute() {
        return places;
    }
    if let Some(environment) = prefix_of(interpreter)
        && let Ok(settings) = fs::read_to_string(environment.join(ENVIRONMENT_FILE))
    {
        places.push(environment.to_owned());
        let home = settings.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == "home").then(|| PathBuf::from(value.trim()))
        });
        if let Some(prefix) = home.as_deref().and_then(Path::parent) {
            add_installation(prefix, &mut places);
        }
    }
    if let Ok(program) = interpreter.canonicalize() {
        if let Some(prefix) = prefix_of(&program) {
            add_installation(prefix, &mut places);
        }
        places.push(program);
    }
    places.sort();
    places.dedup();
    places
}

/// Returns the parent of a program's directory.
fn prefix_of(program: &Path) -> Option<&Path> {
    program.parent()?.parent()
}

/// Adds the modules and the library of the installation at a prefix, and its programs of the given
/// name.
fn add_installation(prefix: &Path, places: &mut Vec<PathBuf>) {
    for (directory, beginning) in
        [("bin", "python"), ("lib", "python3"), ("lib64", "python3"), ("lib", "libpython3")]
    {
        let entries = fs::read_dir(prefix.join(directory)).into_iter().flatten().flatten();
        places.extend(
            entries
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
                .map(|entry| entry.path()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_named_whole_and_an_installation_in_part() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().canonicalize().unwrap().join(path);
        for made in ["env/bin", "base/bin", "base/lib/python3.12/json", "base/secrets"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        fs::write(at("base/bin/python3.12"), "").unwrap();
        fs::write(at("base/lib/libpython3.12.so"), "").unwrap();
        fs::write(
            at("env/pyvenv.cfg"),
            format!("home = {}\nversion = 3.12\n", at("base/bin").display()),
        )
        .unwrap();
        std::os::unix::fs::symlink(at("base/bin/python3.12"), at("env/bin/python")).unwrap();
        let base = ["base/bin/python3.12", "base/lib/libpython3.12.so", "base/lib/python3.12"];
        let mut expected: Vec<_> = base.iter().map(|path| at(path)).collect();
        assert_eq!(interpreter_paths(&at("base/bin/python3.12")), expected);
        expected.push(at("env"));
        assert_eq!(interpreter_paths(&at("env/bin/python")), expected);
        assert_eq!(interpreter_paths(Path::new("python3")), Vec::<PathBuf>::new());
        assert_eq!(interpreter_paths(&at("absent/bin/python")), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_interpreter_is_a_program_an_environment_or_a_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().canonicalize().unwrap().join(path);
        for (program, mode) in
            [("one/python3", 0o644), ("two/python3", 0o755), ("env/bin/python", 0o755)]
        {
            fs::create_dir_all(at(program).parent().unwrap()).unwrap();
            fs::write(at(program), "").unwrap();
            fs::set_permissions(at(program), fs::Permissions::from_mode(mode)).unwrap();
        }
        let search = std::env::join_paths([at("one"), at("two")]).unwrap();
        let check = |named: &Path, expect: Result<PathBuf, InterpreterError>| {
            assert_eq!(find_interpreter(named, &search, &|_| true), expect, "{named:?}");
        };
        let bare = |name: &str| PathBuf::from(name);
        check(&bare("python3"), Ok(at("two/python3")));
        check(&bare("python9"), Err(InterpreterError::NotOnPath(bare("python9"))));
        let elsewhere = |program: &Path| !program.starts_with(at("two"));
        assert_eq!(
            find_interpreter(&bare("python3"), &search, &elsewhere),
            Err(InterpreterError::WithinReach(bare("python3")))
        );
        let further = std::env::join_paths([at("two"), at("three"), "three".into()]).unwrap();
        std::fs::create_dir(at("three")).unwrap();
        std::fs::copy(at("two/python3"), at("three/python3")).unwrap();
        let found = find_interpreter(&bare("python3"), &further, &elsewhere);
        assert_eq!(found, Ok(at("three/python3")));
        check(&at("two/python3"), Ok(at("two/python3")));
        check(&at("env"), Ok(at("env/bin/python")));
        check(&at("one/../env/."), Ok(at("env/bin/python")));
        check(&at("one"), Err(InterpreterError::NoEnvironment(at("one"))));
        check(&at("one/python3"), Err(InterpreterError::NoProgram(at("one/python3"))));
        check(&at("absent"), Err(InterpreterError::NoProgram(at("absent"))));
    }
}
