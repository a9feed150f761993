//! Lines of code as a terminal shows them: indented, with strings, comments, numbers and key words in colours. The colours are a
//! guess from one line at a time, which needs no grammar of the language.

use clap::builder::styling::{AnsiColor, Style};

use super::MarkdownStyle;
use crate::agent_program::view::fold::fold_text;

/// The columns before code.
const CODE_INDENT: &str = "    ";
const STRING: Style = AnsiColor::Green.on_default();
const COMMENT: Style = Style::new().dimmed();
const NUMBER: Style = AnsiColor::Cyan.on_default();
const KEYWORD: Style = AnsiColor::Magenta.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// Words that many languages give a meaning.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "defer",
    "del",
    "do",
    "done",
    "elif",
    "else",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "False",
    "fi",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "ref",
    "require",
    "return",
    "select",
    "self",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "try",
    "type",
    "typedef",
    "union",
    "unsafe",
    "use",
    "using",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// Longest character of Rust that has a colour, with its marks.
const CHARACTER_BYTES_MAX: usize = 4;

/// How the code of a language is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeLanguage {
    /// A comment begins with this.
    Commented(&'static str),
    /// Like C, but a single `'` may begin a lifetime.
    Rust,
    Diff,
    /// Text, or a language that is not known.
    Plain,
}

impl CodeLanguage {
    fn from_name(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "rust" | "rs" => Self::Rust,
            "c" | "h" | "cpp" | "c++" | "cc" | "cs" | "csharp" | "go" | "java" | "js"
            | "javascript" | "jsx" | "ts" | "typescript" | "tsx" | "kotlin" | "kt" | "swift"
            | "scala" | "dart" | "php" | "zig" | "proto" | "jsonc" | "json5" | "scss" => {
                Self::Commented("//")
            }
            "python" | "py" | "sh" | "bash" | "shell" | "zsh" | "fish" | "ruby" | "rb" | "perl"
            | "r" | "toml" | "yaml" | "yml" | "ini" | "make" | "makefile" | "dockerfile"
            | "cmake" | "nix" | "elixir" | "julia" => Self::Commented("#"),
            "sql" | "lua" | "haskell" | "hs" | "ada" | "elm" => Self::Commented("--"),
            "lisp" | "clojure" | "scheme" | "asm" => Self::Commented(";"),
            "json" => Self::Commented("\0"),
            "diff" | "patch" => Self::Diff,
            _ => Self::Plain,
        }
    }
}

/// Returns a line of code, folded. Each line begins with the prefix.
pub(super) fn code_lines(
    language: &str,
    line: &str,
    prefix: &str,
    style: MarkdownStyle,
) -> Vec<String> {
    let line = haft_contract::escape_controls(line).replace('\t', "    ");
    let line =
        if style.has_colours { coloured(&line, CodeLanguage::from_name(language)) } else { line };
    let indent = format!("{prefix}{CODE_INDENT}");
    let line =
        if line.is_empty() { prefix.trim_end().to_owned() } else { format!("{indent}{line}") };
    let folded = fold_text(&line, style.columns, &indent);
    folded.split('\n').map(str::to_owned).collect()
}

fn coloured(line: &str, language: CodeLanguage) -> String {
    let comment = match language {
        CodeLanguage::Plain => return line.to_owned(),
        CodeLanguage::Diff => {
            let style = match line.bytes().next() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                Some(b'@') => NUMBER,
                Some(_) | None => return line.to_owned(),
            };
            return painted(style, line);
        }
        CodeLanguage::Commented(mark) => mark,
        CodeLanguage::Rust => "//",
    };
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut coloured = String::with_capacity(line.len() * 2);
    let mut rest = line;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        // In a shell, `#` in the middle of a word begins no comment.
        let is_comment = rest.starts_with(comment) && (comment != "#" || before == ' ');
        let (length, style) = if is_comment {
            (rest.len(), COMMENT)
        } else if matches!(first, '"' | '\'' | '`') {
            let is_lifetime = language == CodeLanguage::Rust && first == '\'';
            match string_end(rest, first) {
                Some(end) if !is_lifetime || end <= CHARACTER_BYTES_MAX => (end, STRING),
                // A single mark, such as that of a lifetime.
                Some(_) | None => (first.len_utf8(), Style::new()),
            }
        } else if is_of_word(first) {
            let length = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            let style = match first {
                _ if KEYWORDS.contains(&word) => KEYWORD,
                '0'..='9' => NUMBER,
                _ => Style::new(),
            };
            (length, style)
        } else {
            (first.len_utf8(), Style::new())
        };
        let (piece, after) = rest.split_at(length);
        coloured.push_str(&painted(style, piece));
        before = piece.chars().next_back().unwrap_or(' ');
        rest = after;
    }
    coloured
}

/// Returns the end of the string that a text begins with.
fn string_end(text: &str, mark: char) -> Option<usize> {
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == mark => return Some(place + mark.len_utf8()),
            _ => {}
        }
    }
    None
}

fn painted(style: Style, text: &str) -> String {
    if style == Style::new() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_colours() {
        let check = |language: &str, line: &str, expect: &str| {
            let style = MarkdownStyle { columns: 80, has_colours: true, is_linear: false };
            let marked = code_lines(language, line, "", style).join("\n");
            let marked = marked.replace("\u{1b}[0m", ">");
            let marked = marked.replace("\u{1b}[35m", "<k ").replace("\u{1b}[32m", "<s ");
            let marked = marked.replace("\u{1b}[36m", "<n ").replace("\u{1b}[2m", "<c ");
            assert_eq!(marked, expect);
        };
        check("rust", "let x = 1; // one", "    <k let> x = <n 1>; <c // one>");
        check("rs", "fn f<'a>() -> &'a str", "    <k fn> f<'a>() -> &'a str");
        check("rs", "'x' + 1", "    <s 'x'> + <n 1>");
        check("python", "print('a # b')  # c", "    print(<s 'a # b'>)  <c # c>");
        check("sh", "echo \"a\\\"b\" a#b", "    echo <s \"a\\\"b\"> a#b");
        check("diff", "+new", "    <s +new>");
        check("text", "let it be", "    let it be");
        check("", "let it be", "    let it be");
    }

    #[test]
    fn code_without_colours_stays_as_it_is() {
        let style = MarkdownStyle { columns: 12, has_colours: false, is_linear: false };
        assert_eq!(code_lines("rs", "let a = 1;", "", style), ["    let a =", "    1;"]);
        assert_eq!(code_lines("rs", "", "> ", style), [">"]);
        assert_eq!(code_lines("rs", "\tx", "", style), ["        x"]);
        let wide = MarkdownStyle { columns: 80, ..style };
        assert_eq!(code_lines("rs", "x\u{1b}", "", wide), ["    x\\u{1b}"]);
    }
}
