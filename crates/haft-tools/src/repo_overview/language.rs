//! Which language a file is in, by its name or its first line. Formats that are generated or pictures count as none.

/// Endings of names, sorted.
const BY_EXTENSION: &[(&str, &str)] = &[
    ("astro", "Astro"),
    ("bash", "Shell"),
    ("c", "C"),
    ("cc", "C++"),
    ("cjs", "JavaScript"),
    ("clj", "Clojure"),
    ("cpp", "C++"),
    ("cs", "C#"),
    ("css", "CSS"),
    ("cts", "TypeScript"),
    ("cxx", "C++"),
    ("dart", "Dart"),
    ("elm", "Elm"),
    ("erl", "Erlang"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("fish", "Shell"),
    ("fs", "F#"),
    ("go", "Go"),
    ("gradle", "Gradle"),
    ("graphql", "GraphQL"),
    ("h", "C"),
    ("hcl", "HCL"),
    ("hpp", "C++"),
    ("hs", "Haskell"),
    ("htm", "HTML"),
    ("html", "HTML"),
    ("ipynb", "Jupyter"),
    ("java", "Java"),
    ("jl", "Julia"),
    ("js", "JavaScript"),
    ("json", "JSON"),
    ("jsx", "JavaScript"),
    ("kt", "Kotlin"),
    ("kts", "Kotlin"),
    ("less", "CSS"),
    ("lua", "Lua"),
    ("m", "Objective-C"),
    ("markdown", "Markdown"),
    ("md", "Markdown"),
    ("mdx", "Markdown"),
    ("mjs", "JavaScript"),
    ("ml", "OCaml"),
    ("mm", "Objective-C"),
    ("mts", "TypeScript"),
    ("nim", "Nim"),
    ("nix", "Nix"),
    ("php", "PHP"),
    ("pl", "Perl"),
    ("pm", "Perl"),
    ("proto", "Protocol Buffers"),
    ("ps1", "PowerShell"),
    ("py", "Python"),
    ("pyi", "Python"),
    ("r", "R"),
    ("rb", "Ruby"),
    ("rs", "Rust"),
    ("rst", "reStructuredText"),
    ("sass", "CSS"),
    ("scala", "Scala"),
    ("scss", "CSS"),
    ("sh", "Shell"),
    ("sql", "SQL"),
    ("svelte", "Svelte"),
    ("swift", "Swift"),
    ("tex", "TeX"),
    ("tf", "HCL"),
    ("toml", "TOML"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("vue", "Vue"),
    ("xml", "XML"),
    ("yaml", "YAML"),
    ("yml", "YAML"),
    ("zig", "Zig"),
    ("zsh", "Shell"),
];
/// Whole names, in lower case, sorted.
const BY_NAME: &[(&str, &str)] = &[
    ("cmakelists.txt", "CMake"),
    ("containerfile", "Dockerfile"),
    ("dockerfile", "Dockerfile"),
    ("gemfile", "Ruby"),
    ("gnumakefile", "Makefile"),
    ("jenkinsfile", "Groovy"),
    ("justfile", "Just"),
    ("makefile", "Makefile"),
    ("rakefile", "Ruby"),
];
/// How the names of interpreters begin, longer ones before those that they begin with.
const BY_INTERPRETER: &[(&str, &str)] = &[
    ("bash", "Shell"),
    ("bun", "JavaScript"),
    ("dash", "Shell"),
    ("deno", "TypeScript"),
    ("ksh", "Shell"),
    ("lua", "Lua"),
    ("node", "JavaScript"),
    ("perl", "Perl"),
    ("php", "PHP"),
    ("pwsh", "PowerShell"),
    ("python", "Python"),
    ("ruby", "Ruby"),
    ("sh", "Shell"),
    ("zsh", "Shell"),
];
/// The part of a file that may name its interpreter, in bytes.
const SHEBANG_BYTES_MAX: usize = 256;

/// Returns the language that the name of a file says.
pub(super) fn language_of_name(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let by_extension =
        || lower.rsplit_once('.').and_then(|(_, extension)| found(BY_EXTENSION, extension));
    found(BY_NAME, &lower).or_else(by_extension)
}

/// Returns the language whose interpreter the first line of a file names.
pub(super) fn language_of_shebang(contents: &[u8]) -> Option<&'static str> {
    let start = contents.get(..SHEBANG_BYTES_MAX.min(contents.len()))?.strip_prefix(b"#!")?;
    let line = start.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let programs = line.split_whitespace().filter(|word| !word.starts_with('-'));
    let names = programs.filter_map(|word| word.rsplit('/').next());
    let interpreter = names.into_iter().find(|name| *name != "env" && !name.contains('='))?;
    let known = BY_INTERPRETER.iter().find(|(start, _)| {
        let version = interpreter.strip_prefix(start);
        version.is_some_and(|rest| rest.chars().all(|it| it.is_ascii_digit() || it == '.'))
    });
    known.map(|(_, language)| *language)
}

fn found(table: &[(&str, &'static str)], key: &str) -> Option<&'static str> {
    let place = table.binary_search_by(|(known, _)| (*known).cmp(key)).ok()?;
    table.get(place).map(|(_, language)| *language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(BY_EXTENSION.is_sorted() && BY_NAME.is_sorted() && BY_INTERPRETER.is_sorted());
    }

    #[test]
    fn names_and_first_lines_tell_the_language() {
        let name = |name: &str| language_of_name(name).unwrap_or("none");
        let found =
            ["a.rs", "A.PY", "x.d.ts", "Makefile", "Dockerfile", "b.lock", "run", "c.h"].map(name);
        let expect =
            ["Rust", "Python", "TypeScript", "Makefile", "Dockerfile", "none", "none", "C"];
        assert_eq!(found, expect);
        let line = |line: &str| language_of_shebang(line.as_bytes()).unwrap_or("none");
        assert_eq!(line("#!/bin/sh\necho"), "Shell");
        assert_eq!(line("#! /usr/bin/env -S FOO=1 python3.12 -u\n"), "Python");
        assert_eq!(line("#!/usr/bin/env node"), "JavaScript");
        assert_eq!(line("#!/opt/shell\n"), "none");
        assert_eq!(line("#!"), "none");
        assert_eq!(line("echo"), "none");
    }
}
