//! Messages are for readers. No code looks into the text of one, because rewording would change what the code does; and no
//! library speaks of the command line, because its caller may have none. Facts travel as values.

use super::TidyViolation;
use crate::repository::RepositoryFile;
use crate::rust_text::is_word;

/// Methods that look into a text.
const LOOKS: &[&str] = &[
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".split_once(",
    ".rsplit_once(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".find(",
];

/// How the text of a message is named where it is looked into. One that begins with a dot is the end of a longer expression.
const MESSAGE_TEXTS: &[&str] = &[
    "message",
    "error_text",
    "because",
    "reason",
    "said",
    "why",
    "hint",
    "advice",
    "error.text",
    ".text()",
    "err.to_string()",
    "error.to_string()",
];

/// Files that look into messages of other programs and crates, of which there is nothing but the text, or for the words alone,
/// each with the reason.
pub(super) const FOREIGN_MESSAGES: &[(&str, &str)] = &[
    ("crates/haft-app/src/manifest/read.rs", "the crate toml tells what it expected in words only"),
    (
        "crates/haft-app/src/mcp_servers/grants.rs",
        "what a server lacks is in the words of its program",
    ),
    (
        "crates/haft-cli/src/commands/sandbox.rs",
        "it prints the first line of an error apart from the output of the program",
    ),
    ("crates/haft-lsp/src/server_state.rs", "a language server tells its state in words"),
    ("crates/haft-python/src/check.rs", "Python tells an unknown encoding in words"),
    (
        "crates/haft-tools/src/web_fetch.rs",
        "an error names its URL once, and nothing else depends on it",
    ),
    (
        "crates/haft-tools/src/grep/pattern.rs",
        "the crate regex tells what it does not support in words",
    ),
];

/// Crates whose readers are at a command line, or that are not shipped.
const COMMAND_LINE_CRATES: &[&str] = &[
    // The one declaration of each setting names its flag.
    "crates/haft-app/src/manifest/setting/",
    "crates/haft-cli/",
    "crates/haft-conformance/",
    "crates/haft-faults/",
    "crates/haft-scripted-model/",
];

/// Commands of haft. Words that also follow the name in a sentence have a second word here.
const COMMANDS: &[&str] = &[
    "agent --resume",
    "agents list",
    "doctor",
    "mcp add",
    "mcp login",
    "mcp test",
    "policy explain",
    "policy list",
    "resume",
    "runs list",
    "runs prune",
    "runs settle",
    "runs show",
    "runs verify",
    "serve",
    "sessions fork",
    "sessions list",
    "sessions show",
    "tools list",
    "tools show",
    "trust",
    "undo",
];

/// Options of haft that no other program has.
const OPTIONS: &[&str] = &[
    "--allow",
    "--allow-dangerous",
    "--allow-host",
    "--allow-network",
    "--headless",
    "--network-guard",
    "--preset",
    "--retry-failed",
    "--unsafe-no-sandbox",
];

/// Fails production code that looks into the text of a message, and an exception that is none any more.
pub(super) fn check_looks(
    sources: &[RepositoryFile],
    exceptions: &[(&str, &str)],
) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| is_production(source)) {
        let is_exception = exceptions.iter().any(|(path, _)| *path == source.path);
        let code = production_code(source);
        let mut found = Vec::new();
        for look in LOOKS {
            for (at, _) in code.match_indices(look) {
                let before = code[..at].trim_end();
                let text = MESSAGE_TEXTS.iter().find(|text| {
                    let rest = before.strip_suffix(**text);
                    let is_whole = |rest: &str| !rest.chars().next_back().is_some_and(is_word);
                    rest.is_some_and(|rest| text.starts_with('.') || is_whole(rest))
                });
                found.extend(text.map(|text| (before.lines().count(), format!("{text}{look}…)"))));
            }
        }
        found.sort();
        if !is_exception {
            violations.extend(found.iter().map(|(line, text)| {
                let message = format!(
                    "`{text}` looks into the text of a message: have what it looks for as a value, such as a Refusal"
                );
                TidyViolation::new(&source.path, *line, message)
            }));
        } else if found.is_empty() {
            let message =
                "no message is looked into here any more: delete the row of FOREIGN_MESSAGES";
            violations.push(TidyViolation::new(&source.path, 1, message));
        }
    }
    for (path, why) in exceptions {
        if sources.iter().all(|source| source.path != *path) {
            let message = format!("FOREIGN_MESSAGES names this file, which is gone ({why})");
            violations.push(TidyViolation::new(path, 1, message));
        }
    }
    violations
}

/// Fails commands and options of haft in the messages of libraries.
pub(super) fn check_advice(source: &RepositoryFile) -> Vec<TidyViolation> {
    let is_library = source.path.starts_with("crates/")
        && !COMMAND_LINE_CRATES.iter().any(|crate_dir| source.path.starts_with(crate_dir));
    if !is_library || !is_production(source) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let (mut line, mut open) = (1, None::<(usize, String)>);
    let mut literals = Vec::new();
    for (of_code, character) in production_code(source).chars().zip(source.text.chars()) {
        match (&mut open, of_code) {
            (None, '"') => open = Some((line, String::new())),
            (Some(_), '"') => literals.extend(open.take()),
            (Some((_, text)), _) => text.push(character),
            (None, _) => {}
        }
        line += usize::from(character == '\n');
    }
    for (line, text) in literals {
        // A literal that goes on in the next line has a break where a reader sees a space.
        let text = text.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let stands_alone = |at: usize, length: usize| {
            let joins = |character: char| is_word(character) || character == '-';
            let before = text[..at].chars().next_back();
            let after = text[at + length..].chars().next();
            !before.is_some_and(joins) && !after.is_some_and(joins)
        };
        let commands = COMMANDS.iter().map(|command| format!("haft {command}"));
        let mut needles = commands.chain(OPTIONS.iter().map(|option| (*option).to_owned()));
        // A literal that is nothing but an option declares it.
        let found = needles.find(|needle| {
            text != *needle
                && text.match_indices(needle.as_str()).any(|(at, _)| stands_alone(at, needle.len()))
        });
        if let Some(found) = found {
            let message = format!(
                "`{found}` is of the command line, and this library may be used without: make it a Remedy, which haft-cli \
                 puts into words"
            );
            violations.push(TidyViolation::new(&source.path, line, message));
        }
    }
    violations
}

fn is_production(source: &RepositoryFile) -> bool {
    source.rust.is_some()
        && source.path.starts_with("crates/")
        && source.path.contains("/src/")
        && !source.is_test()
}

/// Returns the code of a file up to the tests within.
fn production_code(source: &RepositoryFile) -> &str {
    let code = source.rust.as_ref().map_or("", |rust| rust.code.as_str());
    let tests = code.find("#[cfg(test)]\nmod tests {").unwrap_or(code.len());
    &code[..tests]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/haft-a/src/b.rs";

    fn check(text: &str, looks: &[usize], advice: &[usize]) {
        let source = || RepositoryFile::new(PATH, text);
        let lines = |violations: Vec<TidyViolation>| {
            violations.into_iter().map(|violation| violation.line).collect::<Vec<_>>()
        };
        assert_eq!(lines(check_looks(&[source()], &[])), looks, "looks of {text}");
        assert_eq!(lines(check_advice(&source())), advice, "advice of {text}");
    }

    #[test]
    fn code_that_looks_into_a_message_is_found() {
        check("if message.contains(\"x\") {}", &[1], &[]);
        check("a\nenvelope\n    .text()\n    .split_once(\": \")", &[3], &[]);
        check("err.to_string().starts_with(it)", &[1], &[]);
        check("words.iter().any(|it| refusal.because.contains(it))", &[1], &[]);
        check("error.text.strip_prefix(a)", &[1], &[]);
        // Other things have parts as well.
        check("messages.contains(&id); entry.message.id.starts_with(a)", &[], &[]);
        check("text.contains('x') && path.starts_with(root)", &[], &[]);
        check("// message.contains(\"x\")", &[], &[]);
        check("#[cfg(test)]\nmod tests {\n    message.contains(\"x\")\n}", &[], &[]);
    }

    #[test]
    fn exceptions_are_for_files_that_need_them() {
        let check = |files: &[(&str, &str)], expect: &[&str]| {
            let sources: Vec<RepositoryFile> =
                files.iter().map(|(path, text)| RepositoryFile::new(*path, *text)).collect();
            let violations = check_looks(&sources, &[(PATH, "it is Python's")]);
            let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
            assert_eq!(said, expect);
        };
        check(&[(PATH, "message.contains(a)")], &[]);
        check(
            &[(PATH, "a")],
            &[
                "crates/haft-a/src/b.rs:1: no message is looked into here any more: delete the row of FOREIGN_MESSAGES",
            ],
        );
        check(
            &[],
            &[
                "crates/haft-a/src/b.rs:1: FOREIGN_MESSAGES names this file, which is gone (it is Python's)",
            ],
        );
    }

    #[test]
    fn advice_of_the_command_line_is_found() {
        check("f(\"start it with `--allow-host a`\")", &[], &[1]);
        check("\n\"settle it: haft runs \\\n   settle {call}\"", &[], &[2]);
        check("\"put this into haft.toml and run `haft trust`\"", &[], &[1]);
        check("r#\"see haft doctor\"#", &[], &[1]);
        // A flag of another program, a sentence, and a comment are none.
        check(
            "[\"--allow-host\", \"--allow-empty\", \"--root-dir\", \"that haft runs\", \"haft died\"]",
            &[],
            &[],
        );
        check("// haft trust\n\"haft trusts nothing\"", &[], &[]);
        check("#[cfg(test)]\nmod tests {\n    \"haft doctor\"\n}", &[], &[]);
        let cli = RepositoryFile::new("crates/haft-cli/src/a.rs", "\"haft doctor\"");
        assert_eq!(check_advice(&cli), []);
    }
}
