//! Which language server is asked about which file, and how it is started: a table of what is usual, and what an operator
//! changes of it. Whether such a program is there is found out when it is needed, by whoever knows the machine.

use std::path::PathBuf;

use serde_json::{Value, json};

/// What the languages that are known without configuration have in common.
struct Usual {
    name: &'static str,
    /// Commands in the order of preference; the first one whose program is there and starts is used.
    commands: &'static [&'static [&'static str]],
    extensions: &'static [&'static str],
    root_markers: &'static [&'static str],
    /// What the server is told at its start.
    settings: fn() -> Value,
    install: &'static str,
}

const USUAL: &[Usual] = &[
    Usual {
        name: "rust",
        commands: &[&["rust-analyzer"]],
        extensions: &["rs"],
        root_markers: &["Cargo.toml", "rust-project.json"],
        settings: nothing,
        install: "rustup component add rust-analyzer rust-src",
    },
    Usual {
        name: "python",
        commands: &[
            &["pyright-langserver", "--stdio"],
            &["basedpyright-langserver", "--stdio"],
            &["pylsp"],
        ],
        extensions: &["py", "pyi"],
        root_markers: &[
            "pyproject.toml",
            "pyrightconfig.json",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
        ],
        settings: nothing,
        install: "npm install -g pyright, or pip install basedpyright",
    },
    Usual {
        name: "typescript",
        // The former needs a typescript before 7 beside it; from 7 on the compiler is a server itself.
        commands: &[&["typescript-language-server", "--stdio"], &["tsc", "--lsp", "--stdio"]],
        extensions: &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
        root_markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        settings: without_guesses,
        install: "npm install -g typescript, 7 or newer",
    },
    Usual {
        name: "go",
        commands: &[&["gopls"]],
        extensions: &["go"],
        root_markers: &["go.work", "go.mod"],
        settings: nothing,
        install: "go install golang.org/x/tools/gopls@latest",
    },
    Usual {
        name: "c",
        commands: &[&["clangd"]],
        extensions: &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"],
        root_markers: &["compile_commands.json", "compile_flags.txt", "CMakeLists.txt"],
        settings: nothing,
        install: "the package clangd of your system",
    },
];

/// What protocols call the language of files whose language they do not call by its name here.
const LANGUAGE_IDS: &[(&str, &str)] = &[
    ("c", "c"),
    ("cc", "cpp"),
    ("cjs", "javascript"),
    ("cpp", "cpp"),
    ("cxx", "cpp"),
    ("h", "c"),
    ("hh", "cpp"),
    ("hpp", "cpp"),
    ("hxx", "cpp"),
    ("js", "javascript"),
    ("jsx", "javascriptreact"),
    ("mjs", "javascript"),
    ("tsx", "typescriptreact"),
];

/// A language, and the server that is asked about files in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Language {
    /// What it is called.
    pub name: String,
    /// Commands in the order of preference; the first one whose program is there and starts is used.
    pub commands: Vec<Vec<String>>,
    /// How names of its files end, without the dot.
    pub extensions: Vec<String>,
    /// Files and directories that lie where a project begins.
    pub root_markers: Vec<String>,
    /// What the server is told at its start, and when it asks for its configuration.
    pub settings: Value,
    /// How the server is installed, for whoever does not have it.
    pub install: String,
}

/// What is changed of a language, or said of a new one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanguageChange {
    /// The command instead of the usual ones.
    pub command: Option<Vec<String>>,
    /// The ends of files' names instead of the usual ones.
    pub extensions: Option<Vec<String>>,
    /// What lies where a project begins, instead of the usual.
    pub root_markers: Option<Vec<String>>,
    /// What the server is told instead of the usual.
    pub settings: Option<Value>,
    /// Whether it is used.
    pub is_enabled: Option<bool>,
}

/// Finds the programs of servers on this machine.
pub trait Programs: Send + Sync {
    /// Returns the program that a command begins with.
    fn find(&self, command: &[String]) -> Result<ProgramFound, NoProgram>;
}

/// Why a command is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoProgram {
    /// Its program is not there.
    Missing,
    /// It names something that the workspace has a say in, and that whoever writes there could replace.
    InWorkspace,
}

/// A program that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFound {
    /// Its absolute path.
    pub path: PathBuf,
    /// What of its own it reads, beside what every command does.
    pub readable: Vec<PathBuf>,
}

/// Returns the languages that are known without configuration.
pub fn builtin_languages() -> Vec<Language> {
    USUAL.iter().map(Usual::language).collect()
}

fn nothing() -> Value {
    json!({})
}

/// While it reads a project, typescript-language-server would answer from single files, and not say so.
fn without_guesses() -> Value {
    json!({ "tsserver": { "useSyntaxServer": "never" } })
}

impl Usual {
    fn language(&self) -> Language {
        Language {
            name: self.name.to_owned(),
            commands: self.commands.iter().map(|words| owned(words)).collect(),
            extensions: owned(self.extensions),
            root_markers: owned(self.root_markers),
            settings: (self.settings)(),
            install: self.install.to_owned(),
        }
    }
}

impl Language {
    /// Adds changes to languages: one of a name that is known changes that language, another is a new one. What a new one
    /// lacks, or that it is not used, leaves it out.
    pub fn change_all(
        mut languages: Vec<Self>,
        changes: impl IntoIterator<Item = (String, LanguageChange)>,
    ) -> Vec<Self> {
        for (name, change) in changes {
            let place = languages.iter().position(|language| language.name == name);
            let known = place.map(|place| languages.remove(place));
            if change.is_enabled == Some(false) {
                continue;
            }
            let mut language = known.unwrap_or_else(|| Self::unknown(&name));
            language.change(change);
            if !language.commands.is_empty() && !language.extensions.is_empty() {
                // What an operator says comes first, should two languages claim the same files.
                languages.insert(0, language);
            }
        }
        languages
    }

    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            commands: Vec::new(),
            extensions: Vec::new(),
            root_markers: Vec::new(),
            settings: json!({}),
            install: "the program that command names".to_owned(),
        }
    }

    fn change(&mut self, change: LanguageChange) {
        if let Some(command) = change.command {
            self.commands = vec![command];
        }
        self.extensions = change.extensions.unwrap_or(std::mem::take(&mut self.extensions));
        self.root_markers = change.root_markers.unwrap_or(std::mem::take(&mut self.root_markers));
        self.settings = change.settings.unwrap_or(self.settings.take());
    }

    /// Returns whether a file of that extension is in this language.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.extensions.iter().any(|known| known == extension)
    }

    /// Returns what the protocol calls the language of a file of that extension.
    pub(crate) fn id_of<'l>(&'l self, extension: &str) -> &'l str {
        let known = LANGUAGE_IDS.iter().find(|(known, _)| *known == extension);
        known.map_or(&self.name, |(_, id)| id)
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(languages: &[Language]) -> Vec<&str> {
        languages.iter().map(|language| language.name.as_str()).collect()
    }

    fn changed(name: &str, change: LanguageChange) -> Vec<Language> {
        Language::change_all(builtin_languages(), [(name.to_owned(), change)])
    }

    #[test]
    fn what_an_operator_says_comes_first_and_keeps_the_rest() {
        let command = Some(owned(&["/opt/ra", "-v"]));
        let languages = changed("rust", LanguageChange { command, ..LanguageChange::default() });
        assert_eq!(names(&languages), ["rust", "python", "typescript", "go", "c"]);
        let rust = languages.first().unwrap();
        assert_eq!(rust.commands, [owned(&["/opt/ra", "-v"])]);
        assert!(rust.has_extension("rs") && !rust.has_extension("py"));

        let off = LanguageChange { is_enabled: Some(false), ..LanguageChange::default() };
        assert_eq!(names(&changed("go", off)), ["rust", "python", "typescript", "c"]);

        let new = LanguageChange {
            command: Some(owned(&["zls"])),
            extensions: Some(owned(&["zig"])),
            ..LanguageChange::default()
        };
        assert_eq!(names(&changed("zig", new.clone())).first(), Some(&"zig"));
        let half = LanguageChange { extensions: None, ..new };
        assert_eq!(names(&changed("zig", half)).len(), 5);
    }

    #[test]
    fn files_are_called_as_the_protocol_calls_them() {
        let languages = builtin_languages();
        let check = |extension: &str, expect: &str| {
            let language = languages.iter().find(|one| one.has_extension(extension)).unwrap();
            assert_eq!(language.id_of(extension), expect);
        };
        check("rs", "rust");
        check("tsx", "typescriptreact");
        check("mjs", "javascript");
        check("ts", "typescript");
        check("hpp", "cpp");
        check("pyi", "python");
    }
}
