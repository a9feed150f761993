//! The language server for each file and how to start it: a table of defaults, and an operator's
//! changes. Whether a program is installed is determined when it is needed, by the caller, who
//! knows the machine.

use std::path::PathBuf;

use serde_json::{Value, json};

/// Language ids of the protocol that differ from the language names in this table.
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

/// A language, and the server for files in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Language {
    /// Its name.
    pub name: String,
    /// Commands in order of preference; the first one that is installed and starts is used.
    pub commands: Vec<Vec<String>>,
    /// Extensions of its files, without the dot.
    pub extensions: Vec<String>,
    /// Names of files and directories that mark a project directory.
    pub root_markers: Vec<String>,
    /// Settings for the server, sent at its start and when it asks for its configuration.
    pub settings: Value,
    /// How to install the server, for users who do not have it.
    pub install: String,
}

/// A change of a language, or the definition of a new one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LanguageChange {
    /// The command that replaces the default ones.
    pub command: Option<Vec<String>>,
    /// Extensions that replace the default ones.
    pub extensions: Option<Vec<String>>,
    /// Markers of project directories that replace the default ones.
    pub root_markers: Option<Vec<String>>,
    /// Settings that replace the default ones.
    pub settings: Option<Value>,
    /// Whether it is used.
    pub is_enabled: Option<bool>,
}

/// Finds the programs of servers on this machine.
pub trait ServerProgramFinder: Send + Sync {
    /// Returns the program of a command.
    fn find(&self, command: &[String]) -> Result<ServerProgram, ServerProgramError>;
}

/// Why a command is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProgramError {
    /// Its program is not installed.
    Missing,
    /// Its program could be replaced by a process that can write the workspace.
    InWorkspace,
}

/// An installed program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProgram {
    /// Its absolute path.
    pub path: PathBuf,
    /// Additional paths that it must be able to read.
    pub readable: Vec<PathBuf>,
}

/// Returns the languages that need no configuration.
pub fn builtin_languages() -> Vec<Language> {
    vec![
        Language {
            name: "rust".to_owned(),
            commands: vec![owned(&["rust-analyzer"])],
            extensions: owned(&["rs"]),
            root_markers: owned(&["Cargo.toml", "rust-project.json"]),
            settings: json!({}),
            install: "rustup component add rust-analyzer rust-src".to_owned(),
        },
        Language {
            name: "python".to_owned(),
            commands: vec![
                owned(&["pyright-langserver", "--stdio"]),
                owned(&["basedpyright-langserver", "--stdio"]),
                owned(&["pylsp"]),
            ],
            extensions: owned(&["py", "pyi"]),
            root_markers: owned(&[
                "pyproject.toml",
                "pyrightconfig.json",
                "setup.py",
                "setup.cfg",
                "requirements.txt",
            ]),
            settings: json!({}),
            install: "npm install -g pyright, or pip install basedpyright".to_owned(),
        },
        Language {
            name: "typescript".to_owned(),
            // The former needs a typescript before version 7; from version 7 on the compiler itself
            // is a server.
            commands: vec![
                owned(&["typescript-language-server", "--stdio"]),
                owned(&["tsc", "--lsp", "--stdio"]),
            ],
            extensions: owned(&["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"]),
            root_markers: owned(&["tsconfig.json", "jsconfig.json", "package.json"]),
            // Without this setting, typescript-language-server answers from single files while it
            // loads a project, without saying so.
            settings: json!({ "tsserver": { "useSyntaxServer": "never" } }),
            install: "npm install -g typescript, 7 or newer".to_owned(),
        },
        Language {
            name: "go".to_owned(),
            commands: vec![owned(&["gopls"])],
            extensions: owned(&["go"]),
            root_markers: owned(&["go.work", "go.mod"]),
            settings: json!({}),
            install: "go install golang.org/x/tools/gopls@latest".to_owned(),
        },
        Language {
            name: "c".to_owned(),
            commands: vec![owned(&["clangd"])],
            extensions: owned(&["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
            root_markers: owned(&["compile_commands.json", "compile_flags.txt", "CMakeLists.txt"]),
            settings: json!({}),
            install: "the package clangd of your system".to_owned(),
        },
    ]
}

impl Language {
    /// Applies changes to languages: an unknown name adds a new language. A new language that is
    /// incomplete or disabled is not added.
    pub fn apply_changes(
        mut languages: Vec<Self>,
        changes: impl IntoIterator<Item = (String, LanguageChange)>,
    ) -> Vec<Self> {
        for (name, change) in changes {
            let place = languages.iter().position(|language| language.name == name);
            let known = place.map(|place| languages.remove(place));
            if change.is_enabled == Some(false) {
                continue;
            }
            let mut language = known.unwrap_or_else(|| Self {
                name,
                commands: Vec::new(),
                extensions: Vec::new(),
                root_markers: Vec::new(),
                settings: json!({}),
                install: "the program that command names".to_owned(),
            });
            language.commands = change.command.map_or(language.commands, |command| vec![command]);
            language.extensions = change.extensions.unwrap_or(language.extensions);
            language.root_markers = change.root_markers.unwrap_or(language.root_markers);
            language.settings = change.settings.unwrap_or(language.settings);
            if !language.commands.is_empty() && !language.extensions.is_empty() {
                // The operator's language comes first, in case two languages have the same
                // extension.
                languages.insert(0, language);
            }
        }
        languages
    }

    /// Returns whether files with this extension are in this language.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        self.extensions.iter().any(|known| known == extension)
    }

    /// Returns the protocol's language id for files with this extension.
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
        Language::apply_changes(builtin_languages(), [(name.to_owned(), change)])
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
