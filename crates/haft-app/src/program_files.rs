//! Finds the files that a configured command line loads as code: its program, the script that an interpreter runs, the
//! modules that options load, and the places where these look for more. Only well-known interpreters are listed. A program
//! that loads other files of a root by itself is not recognised.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::host_paths::follow_links;
use crate::loaded_paths::LoadedPath;

/// The directory of packages of Node.
pub(crate) const PACKAGES: &str = "node_modules";
/// First bytes of a program that are read for the name of its interpreter.
const SHEBANG_BYTES_MAX: u64 = 256;
/// First bytes of a file that says where packages are, in bytes.
const PACKAGE_FILE_BYTES_MAX: u64 = 256 * 1_024;
/// The file that makes a directory a virtual environment of Python.
const ENVIRONMENT_FILE: &str = "pyvenv.cfg";

/// A family of programs that run a file which their arguments name.
pub(crate) struct ScriptInterpreter {
    /// The names; a version may follow.
    names: &'static [&'static str],
    /// Options whose value is the next word.
    with_value: &'static [&'static str],
    /// Options that name a module or hold code: no word after them is a script.
    code: &'static [&'static str],
    /// Where it finds the modules of a script beside the script's own directory.
    lookups: &'static [ModuleLookup],
    /// The treatment of a script that lies in a root itself, so that its directory cannot be protected.
    alone: AloneScript,
}

/// A name that an interpreter looks for, in the directory of a script and in all directories above it.
enum ModuleLookup {
    /// It uses each of them.
    Each(&'static str),
    /// It uses the nearest one.
    Nearest(&'static str),
}

/// The treatment of a script beside files that cannot be protected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AloneScript {
    /// The interpreter can be told not to look beside the script.
    Isolated,
    /// It may load what lies beside the script.
    Exposed,
}

const INTERPRETERS: &[ScriptInterpreter] = &[
    ScriptInterpreter {
        names: &["python", "pypy"],
        with_value: &["-W", "-X", "--check-hash-based-pycs"],
        code: &["-c", "-m"],
        lookups: &[],
        alone: AloneScript::Isolated,
    },
    ScriptInterpreter {
        names: &["node", "nodejs", "tsx", "ts-node"],
        with_value: &[
            "-C",
            "-r",
            "--conditions",
            "--env-file",
            "--experimental-loader",
            "--import",
            "--loader",
            "--require",
            "--tsconfig",
        ],
        code: &["-e", "-p", "-pe", "--eval", "--print"],
        lookups: &[
            ModuleLookup::Each(PACKAGES),
            ModuleLookup::Nearest("package.json"),
            ModuleLookup::Nearest("tsconfig.json"),
        ],
        alone: AloneScript::Exposed,
    },
    ScriptInterpreter {
        names: &["bun", "deno"],
        with_value: &["-c", "-r", "--config", "--cwd", "--env-file", "--import-map", "--preload"],
        code: &["-e", "-p", "--eval", "--print"],
        lookups: &[
            ModuleLookup::Each(PACKAGES),
            ModuleLookup::Nearest("package.json"),
            ModuleLookup::Nearest("tsconfig.json"),
            ModuleLookup::Nearest("bunfig.toml"),
            ModuleLookup::Nearest("deno.json"),
            ModuleLookup::Nearest("deno.jsonc"),
        ],
        alone: AloneScript::Exposed,
    },
    ScriptInterpreter {
        names: &["uv"],
        with_value: &[
            "-p",
            "--directory",
            "--env-file",
            "--extra",
            "--group",
            "--index-url",
            "--project",
            "--python",
            "--with",
            "--with-editable",
            "--with-requirements",
        ],
        code: &["-m", "--module"],
        lookups: &[
            ModuleLookup::Nearest(".venv"),
            ModuleLookup::Nearest("pyproject.toml"),
            ModuleLookup::Nearest("uv.lock"),
            ModuleLookup::Nearest("uv.toml"),
        ],
        alone: AloneScript::Exposed,
    },
    ScriptInterpreter {
        names: &["bash", "dash", "fish", "ksh", "sh", "zsh"],
        with_value: &["-o", "-O", "--init-file", "--rcfile"],
        code: &["-c"],
        lookups: &[],
        alone: AloneScript::Exposed,
    },
    ScriptInterpreter {
        names: &["perl", "php", "ruby"],
        with_value: &["-I", "-r"],
        code: &["-e", "-E"],
        lookups: &[],
        alone: AloneScript::Exposed,
    },
];

/// Words of an interpreter before its script.
const VERBS: &[&str] = &["run", "watch"];
/// Programs that start the command in their arguments. Their own options are skipped.
const WRAPPERS: &[&str] = &["env", "nice", "nohup", "npx", "bunx"];
/// Programs that run what they find in the directory that they start in.
const RUNNERS: &[&str] = &[
    "bun", "bunx", "cargo", "deno", "dotnet", "go", "hatch", "just", "make", "mise", "npm", "npx",
    "pdm", "pipx", "pixi", "pnpm", "poetry", "rye", "uv", "uvx", "yarn",
];
/// The option by which Python loads no module from beside its script or from where it starts.
pub(crate) const PYTHON_ISOLATION: &str = "-P";
/// Variables that name code which programs load.
const CODE_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_PATH",
    "PERL5LIB",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "VIRTUAL_ENV",
];
/// The step for a script that lies in a root itself.
pub(crate) const MOVE_SCRIPT: &str =
    "move it into a separate directory beneath the root, such as tools/, or outside of the roots";

/// A command line of the configuration.
pub(crate) struct ProgramLine<'a> {
    /// Its name in messages: `the MCP server files`.
    pub(crate) what: String,
    /// The program and its arguments. A word that depends on the input of a call is empty.
    pub(crate) words: Vec<&'a str>,
    /// The directory that it starts in, if that is known.
    pub(crate) start: Option<PathBuf>,
    /// Where a program without a path is looked for.
    pub(crate) search_path: OsString,
    /// Whether the program can read files of the roots beyond those that it is made of.
    pub(crate) reads_roots: bool,
}

/// The files of the roots that a command line loads.
#[derive(Debug, Default)]
pub(crate) struct ProgramFiles {
    /// The paths to protect.
    pub(crate) paths: Vec<LoadedPath>,
    /// Whether an interpreter runs a file.
    pub(crate) has_script: bool,
    /// A script that lies in a root itself, so that the files beside it cannot be protected.
    pub(crate) alone: Option<AloneProgram>,
}

/// A script that lies in a root itself.
#[derive(Debug)]
pub(crate) struct AloneProgram {
    /// The script.
    pub(crate) path: PathBuf,
    /// Whether its interpreter has an option that keeps it from loading what lies beside the script.
    pub(crate) can_be_isolated: bool,
}

/// Returns the paths outside of a virtual environment of Python that it loads modules from: those of packages that are
/// installed in place, which `pip install -e` and `uv sync` do.
pub(crate) fn packages_in_place(environment: &Path) -> Vec<PathBuf> {
    let entries = |directory: &Path| std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths = Vec::new();
    for library in entries(&environment.join("lib")) {
        let site = library.path().join("site-packages");
        for entry in entries(&site) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_list = name.ends_with(".pth");
            let is_finder = name.starts_with("__editable__") && name.ends_with(".py");
            if !is_list && !is_finder {
                continue;
            }
            let Some(text) = start_of_file(&entry.path(), PACKAGE_FILE_BYTES_MAX) else { continue };
            // A list has a directory in each line. Code has directories in quotes.
            let lines = text.lines().filter(|line| is_list && !line.starts_with(['#', 'i']));
            let lines = lines.map(|line| site.join(line.trim()));
            let quoted = text.split(['\'', '"']).filter(|text| text.starts_with('/'));
            paths.extend(lines.chain(quoted.map(PathBuf::from)));
        }
    }
    paths.retain(|path| !path.starts_with(environment) && path.exists());
    paths
}

/// Returns the interpreter that a word names.
pub(crate) fn interpreter(program: &str) -> Option<&'static ScriptInterpreter> {
    let name = Path::new(program).file_name()?.to_str()?;
    let is_version = |char: char| char.is_ascii_digit() || char == '.';
    let bare = name.trim_end_matches(is_version);
    INTERPRETERS.iter().find(|known| known.names.contains(&bare))
}

/// Returns whether one of the programs that a command line names runs what it finds where it starts.
pub(crate) fn runs_from_start(words: &[&str]) -> bool {
    let programs = words.iter().take(command_place(words) + 1);
    let mut names = programs.filter_map(|word| Path::new(word).file_name()?.to_str());
    names.any(|name| RUNNERS.contains(&name))
}

/// Returns where an option belongs that keeps Python from loading modules beside its script or from where it starts.
pub(crate) fn isolation_place(words: &[&str]) -> Option<usize> {
    let place = command_place(words);
    let found = interpreter(words.get(place)?)?;
    (found.alone == AloneScript::Isolated).then_some(place + 1)
}

impl ScriptInterpreter {
    /// Returns the places of the words that it loads as code, given the words after the interpreter: the values of options,
    /// and the script at the end.
    fn loaded_words(&self, words: &[&str]) -> (Vec<usize>, Option<usize>) {
        let mut values = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let is_code = self.code.contains(word)
                || (self.alone == AloneScript::Isolated
                    && !word.starts_with("--")
                    && word.starts_with('-')
                    && word.ends_with(['c', 'm']));
            if is_code {
                return (values, None);
            }
            if self.with_value.contains(word) {
                values.push(at + 1);
                at += 1;
            } else if word.starts_with('-') {
                values.push(at);
            } else if !VERBS.contains(word) {
                return (values, Some(at));
            }
            at += 1;
        }
        (values, None)
    }
}

/// Returns the place of the script that an interpreter runs, among the words of a command line.
pub(crate) fn script_place(words: &[&str]) -> Option<usize> {
    let start = command_place(words);
    let found = interpreter(words.get(start)?)?;
    let (_, script) = found.loaded_words(words.get(start + 1..)?);
    Some(script? + start + 1)
}

/// Returns the place of the program that runs in the end, behind `env` and the like.
fn command_place(words: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let name = Path::new(word).file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !WRAPPERS.contains(&name) {
            break;
        }
        at += 1;
        while words.get(at).is_some_and(|word| word.starts_with('-') || word.contains('=')) {
            at += 1;
        }
    }
    at
}

impl ProgramLine<'_> {
    /// Returns the paths in the canonical roots that the command line loads.
    pub(crate) fn files(&self, roots: &[PathBuf]) -> ProgramFiles {
        let mut found = ProgramFiles::default();
        for word in self.words.iter().take(command_place(&self.words) + 1) {
            self.add_program(word, roots, &mut found);
        }
        let start = command_place(&self.words);
        let program = self.words.get(start).copied().unwrap_or_default();
        let rest = self.words.get(start + 1..).unwrap_or_default();
        if let Some(interpreter) = interpreter(program) {
            let (values, script) = interpreter.loaded_words(rest);
            for value in values.iter().filter_map(|place| rest.get(*place)) {
                // The value follows the name of the option, or is the whole word.
                let value = value.split_once('=').map_or(*value, |(_, value)| value);
                if let Some(path) = self.file(value) {
                    self.add_script(&path, interpreter, roots, &mut found);
                }
            }
            let script = script.and_then(|place| rest.get(place));
            let script =
                script.and_then(|word| self.file(word).or_else(|| self.missing_file(word)));
            if let Some(path) = script {
                found.has_script = true;
                self.add_script(&path, interpreter, roots, &mut found);
            }
        }
        found
    }

    /// Returns the paths of the roots that the variables of a program name as code.
    pub(crate) fn variable_paths<'v>(
        &self,
        variables: impl Iterator<Item = (&'v str, &'v str)>,
    ) -> Vec<LoadedPath> {
        let is_code = |(name, _): &(&str, &str)| CODE_VARIABLES.contains(name);
        let paths = variables.filter(is_code).flat_map(|(_, value)| std::env::split_paths(value));
        let paths = paths.filter(|path| !path.as_os_str().is_empty());
        paths.map(|path| self.loaded(self.path(&path))).collect()
    }

    /// Adds a word that names a program.
    fn add_program(&self, word: &str, roots: &[PathBuf], found: &mut ProgramFiles) {
        if !word.contains('/') {
            // A program of this name in an earlier directory would be started instead.
            let search_path = (!self.search_path.is_empty()).then_some(&self.search_path);
            for directory in search_path.into_iter().flat_map(std::env::split_paths) {
                let path = self.path(&directory).join(word);
                let is_there = path.is_file();
                if roots.iter().any(|root| path.starts_with(root)) {
                    found.paths.push(self.loaded(path));
                }
                if is_there {
                    break;
                }
            }
            return;
        }
        let Some(path) = self.file(word).or_else(|| self.missing_file(word)) else { return };
        match shebang(&path) {
            Some(interpreter) => self.add_script(&path, interpreter, roots, found),
            None => self.add_file(&path, roots, found),
        }
    }

    /// Adds a script, its directory, and the places where its interpreter looks for modules.
    fn add_script(
        &self,
        script: &Path,
        interpreter: &ScriptInterpreter,
        roots: &[PathBuf],
        found: &mut ProgramFiles,
    ) {
        self.add_file(script, roots, found);
        for directory in directories_of(script, roots) {
            if roots.contains(&directory) {
                found.alone = Some(AloneProgram {
                    path: script.to_owned(),
                    can_be_isolated: interpreter.alone == AloneScript::Isolated,
                });
            }
            self.add_lookups(&directory, interpreter, roots, found);
        }
    }

    /// Adds a file, and its directory if that lies beneath a root.
    fn add_file(&self, path: &Path, roots: &[PathBuf], found: &mut ProgramFiles) {
        found.paths.push(self.loaded(path.to_owned()));
        for directory in directories_of(path, roots) {
            let environment = directory.parent().filter(|it| it.join(ENVIRONMENT_FILE).is_file());
            let around = environment.map(Path::to_path_buf);
            let own = std::iter::once(directory.clone()).chain(around);
            found.paths.extend(own.filter(|it| !roots.contains(it)).map(|it| self.loaded(it)));
        }
    }

    /// Adds the names that an interpreter looks for in a directory of a root and in those above it.
    fn add_lookups(
        &self,
        directory: &Path,
        interpreter: &ScriptInterpreter,
        roots: &[PathBuf],
        found: &mut ProgramFiles,
    ) {
        let directory = follow_links(directory, roots).end;
        let Some(root) = roots.iter().find(|root| directory.starts_with(root)) else { return };
        if !self.reads_roots {
            return;
        }
        for lookup in interpreter.lookups {
            for place in directory.ancestors().take_while(|place| place.starts_with(root)) {
                let (ModuleLookup::Each(name) | ModuleLookup::Nearest(name)) = lookup;
                let path = place.join(name);
                let ends = matches!(lookup, ModuleLookup::Nearest(_)) && path.exists();
                found.paths.push(self.loaded(path));
                if ends {
                    break;
                }
            }
        }
    }

    /// Returns the path of a file that a word names.
    fn file(&self, word: &str) -> Option<PathBuf> {
        let path = self.path(Path::new(word));
        (!word.is_empty() && path.is_absolute() && path.is_file()).then_some(path)
    }

    /// Returns the path of a file that a word names and that is not there yet. A call could make it.
    fn missing_file(&self, word: &str) -> Option<PathBuf> {
        let path = self.path(Path::new(word));
        (word.contains(['/', '.']) && path.is_absolute() && !path.exists()).then_some(path)
    }

    /// Returns a path from where the program starts.
    fn path(&self, path: &Path) -> PathBuf {
        self.start.as_deref().unwrap_or(Path::new("")).join(path)
    }

    fn loaded(&self, path: PathBuf) -> LoadedPath {
        LoadedPath {
            what: format!("a file of {}", self.what),
            path,
            is_searched: false,
            mend: MOVE_SCRIPT,
        }
    }
}

/// Returns the directories of a file that lie in the roots: where it is named, and where it is.
fn directories_of(path: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let named = path.parent().map(|parent| follow_links(parent, roots).end);
    let real = follow_links(path, roots).end;
    let real = real.parent().map(Path::to_path_buf);
    let mut directories: Vec<PathBuf> = named.into_iter().chain(real).collect();
    directories.dedup();
    directories.retain(|directory| roots.iter().any(|root| directory.starts_with(root)));
    directories
}

/// Returns the interpreter that the first line of a program names.
fn shebang(path: &Path) -> Option<&'static ScriptInterpreter> {
    let start = start_of_file(path, SHEBANG_BYTES_MAX)?;
    let line = start.strip_prefix("#!")?.lines().next()?;
    line.split_whitespace().find_map(interpreter)
}

/// Returns the first bytes of a file as text.
fn start_of_file(path: &Path, bytes_max: u64) -> Option<String> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(bytes_max).read_to_end(&mut start).ok()?;
    Some(String::from_utf8_lossy(&start).into_owned())
}

#[cfg(test)]
mod tests;
