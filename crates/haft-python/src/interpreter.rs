//! Which program a configured interpreter means, and what it needs to read of its own: found from where it lies, without
//! starting it. Whether it is new enough is seen when it runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What marks a virtual environment.
const ENVIRONMENT_FILE: &str = "pyvenv.cfg";
/// Where an environment has its interpreter.
const ENVIRONMENT_PROGRAMS: &[&str] = &["bin/python3", "bin/python"];

/// Says why an interpreter cannot be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterpreterError {
    /// No directory of the search path has a program of the name.
    #[error(
        "the interpreter {0:?} is not on PATH: install Python 3.8 or later, or name another interpreter"
    )]
    NotOnPath(PathBuf),
    /// Every program of the name on the search path lies where it may be replaced.
    #[error(
        "the interpreter {0:?} is on PATH only where it can be replaced, in or through a root: install Python 3.8 or later \
         elsewhere, or name another interpreter"
    )]
    WithinReach(PathBuf),
    /// There is nothing at the path, or nothing that can be executed.
    #[error(
        "the interpreter {0:?} is no program: expected Python 3.8 or later, or the directory of a virtual environment"
    )]
    NoProgram(PathBuf),
    /// The directory holds no interpreter.
    #[error(
        "the interpreter {0:?} is a directory without bin/python: expected that of a virtual environment; one is made \
         with python3 -m venv"
    )]
    NoEnvironment(PathBuf),
}

/// Returns the path of the interpreter that is meant: a program, the directory of a virtual environment, or a bare name that
/// is looked up in `search_path`. A link that is the program itself is not followed, because an interpreter knows its
/// environment by it.
///
/// Of the search path only what `is_out_of_reach` says yes to is taken: an activated environment in a workspace comes first
/// in it, and nobody said that it is to decide what tools are. A path that is named is somebody's word, and taken as it is.
pub fn find_interpreter(
    named: &Path,
    search_path: &OsStr,
    is_out_of_reach: &dyn Fn(&Path) -> bool,
) -> Result<PathBuf, InterpreterError> {
    let is_bare = named.components().count() == 1 && !named.is_absolute();
    if is_bare {
        return find_on_path(named, search_path, is_out_of_reach);
    }
    if named.is_dir() {
        let mut programs = ENVIRONMENT_PROGRAMS.iter().map(|name| named.join(name));
        let found = programs.find(|program| is_program(program));
        return found.map(placed).ok_or_else(|| InterpreterError::NoEnvironment(named.to_owned()));
    }
    if is_program(named) {
        Ok(placed(named.to_owned()))
    } else {
        Err(InterpreterError::NoProgram(named.to_owned()))
    }
}

fn find_on_path(
    name: &Path,
    search_path: &OsStr,
    is_out_of_reach: &dyn Fn(&Path) -> bool,
) -> Result<PathBuf, InterpreterError> {
    // A relative place is somewhere else in every directory.
    let places = std::env::split_paths(search_path).filter(|place| place.is_absolute());
    let mut within_reach = false;
    for program in places.map(|place| place.join(name)).filter(|program| is_program(program)) {
        if is_out_of_reach(&program) {
            return Ok(placed(program));
        }
        within_reach = true;
    }
    Err(match within_reach {
        true => InterpreterError::WithinReach(name.to_owned()),
        false => InterpreterError::NotOnPath(name.to_owned()),
    })
}

/// Returns a program's path with the canonical path of its directory, which is where confined processes see it.
fn placed(program: PathBuf) -> PathBuf {
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

/// Returns the places that an interpreter reads besides the system's: its virtual environment, and of the installation
/// behind it the program, the library and the modules. Blocks. Of a bare name nothing is known.
///
/// An installation may be spread over a directory that holds much else, such as a home, so no more of it is named.
pub fn interpreter_places(interpreter: &Path) -> Vec<PathBuf> {
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

/// Returns the directory around the one that a program is in.
fn prefix_of(program: &Path) -> Option<&Path> {
    program.parent()?.parent()
}

/// Adds the modules and the library of the installation at a prefix, and its programs of the name.
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
        assert_eq!(interpreter_places(&at("base/bin/python3.12")), expected);
        expected.push(at("env"));
        assert_eq!(interpreter_places(&at("env/bin/python")), expected);
        assert_eq!(interpreter_places(Path::new("python3")), Vec::<PathBuf>::new());
        assert_eq!(interpreter_places(&at("absent/bin/python")), Vec::<PathBuf>::new());
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
