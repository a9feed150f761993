//! Generates lines with every kind of bash syntax, and with text that only looks like it: lines that
//! are built from templates, changed lines, and sequences of random pieces.

use proptest::prelude::*;
use proptest::sample::select;

/// Maximum nesting of generated commands.
const NESTING_MAX: u32 = 4;
const COMMANDS_MAX: u32 = 24;
/// Maximum number of pieces of a random line.
const PIECES_MAX: usize = 12;
/// Maximum number of changes of a line.
const CHANGES_MAX: usize = 3;

#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "a", "b c", ":", "rm x", "echo 'q'", "x=1", "x=1 a", "true", "cat", "x+=(1 2)", "x=(a b)",
    "declare x=1", "export x", "[ -f a ]", "test a", "[[ a == b ]]", "((1))", "! a", "time a",
    "time -p a", "> o", "> o a", "return", "exit 1", "break", "continue 2", "cd d", "set -e",
];

/// `CODE` stands for a command, and `WORD` for a word.
#[rustfmt::skip]
const TEMPLATES: &[&str] = &[
    "CODE; CODE", "CODE;CODE", "CODE && CODE", "CODE&&CODE", "CODE||CODE", "CODE | CODE",
    "CODE|CODE", "CODE\nCODE", "CODE\n\nCODE", "CODE & CODE", "CODE&CODE", "CODE |& CODE",
    "CODE &&\nCODE", "CODE |\nCODE", "CODE # c\nCODE", "CODE;# c\nCODE", "CODE; \\\nCODE",
    "CODE\\\n;CODE", "CODE \\\n&& CODE", "CODE #c \\\nCODE", "CODE\n# it's\nCODE",
    "CODE\n# `\nCODE", "CODE\n# $(\nCODE", "CODE && # \"c\nCODE", "(CODE)", "( (CODE) )",
    "((CODE))", "((CODE) )", "{ CODE; }", "{ CODE\n}", "{ CODE; } > o 2>&1",
    "if CODE; then CODE; else CODE; fi", "if CODE\nthen\nCODE\nfi", "while CODE; do CODE; done",
    "until CODE; do CODE; done < i", "for x in WORD; do CODE; done", "for x in a; { CODE; }",
    "for x do CODE; done", "for ((i=0;i<2;i++)); do CODE; done", "for ((i=0;i<2;i++)) { CODE; }",
    "case WORD in WORD) CODE;; *) CODE;; esac", "case a in (a) CODE;; esac",
    "case a in a|b) CODE;& c) CODE\nesac", "case a in 'a') CODE;;& [a]) CODE;; esac",
    "case a in esac) CODE;; esac", "case a in a\\)) CODE;; \"a)\") CODE;; esac",
    "case a in $x) CODE;; ?) CODE\n;; esac", "case a in @(a|b)) CODE;; esac",
    "case a in if) CODE;; a)CODE;;esac", "f() { CODE; }; f", "f () { CODE; }; f",
    "function f { CODE; }; f", "function f() { CODE; }; f", "f()\n{ CODE; }; f",
    "f-g() { CODE; }; f-g", "function f\n{ CODE; }; f", "f() (CODE); f", "coproc CODE", "! ! CODE",
    "time CODE", "[[ -n x && ( a == b || ! -e c ) ]] && CODE", "[[ a =~ ^(b|c)$ ]]; CODE",
    "[[ WORD == WORD ]] || CODE", "((x = 1 << 2)); CODE", "echo $((1 << 2)); CODE",
    "x=(a # c )\nb); CODE", "x=(WORD); CODE", "a WORD", "b WORD WORD", "rm WORD > WORD",
    "echo WORDREDIRECT", "WORD WORD", "a WORDREDIRECTREDIRECT", "x=1 WORD", "x+=a WORD WORD",
    "x[1]=a WORD", "! a WORD", "time WORD", "x=$y WORD", "command WORD", "env A=1 WORD",
    "x='a b' a WORD", "{ WORD", "noglob WORD", "- WORD", "exec WORD", "time -p WORD", "2>o WORD",
    "catDOCUMENT", "catDOCUMENT", "aREDIRECTDOCUMENT",
];

#[rustfmt::skip]
const FRAGMENTS: &[&str] = &[
    "a", "bc", "a#b", "#x", "-n", "--x=y", "'s q'", "\"d q\"", "\\ ", "\\\"", "\\'", "\\#",
    "$'t\\n'", "$'\\''", "$'a\\\\'", "$\"tr\"", "$x", "${x}", "${x:-d}", "${x:-'}'}", "${x:-\"}\"}",
    "${x#\\}}", "\"${x:-a b}\"", "\"${x:-'}\"", "\"${x:-\\\"}\"", "\"a\\\nb\"", "a\\\nb", "'a\nb'",
    "\"a\nb\"", "{a,b}", "{}", "{1..3}", "*", "[ab]", "[", "]", "~", "a=b", "x=", "\"\"", "''", "$",
    "\"$\"", "$'", "\"'\"", "'\"'", "!", "\"!\"", "!x", "^", "%", "@", "in", "do", "done", "if",
    "then", "fi", "esac", "case", "time", "{", "}", "function", "[[", "]]", "select", "coproc",
    "until", "$((1+2))", "$((x))", "$(( (1) ))", "${x[1]}", "${#x}", "${x//a/b}", "${x/#a/b}",
    "${x@Q}", "$#", "$$", "${##}", "${#}", "${x##*}", "${x%%'}'}", "\\\\", "\\$", "\"\\$x\"",
    "\"\\`\"", "\"a#b\"", "é", "“", "a\\b", "2", "a1", "1a", "=", "+=", "a:b", "a,b", "..", "x[1]",
    "x[1]=2", "$(CODE)", "$( CODE )", "\"$(CODE)\"", "\"a `CODE` b\"", "`CODE`", "$(CODE\n)",
    "<(CODE)", "\"${x:-$(CODE)}\"",
];

#[rustfmt::skip]
const REDIRECTS: &[&str] = &[
    " > WORD", ">WORD", " >> WORD", "<WORD", " < WORD", " 2> WORD", "2>WORD", " &> WORD", "&>WORD",
    " >& WORD", ">&WORD", " <> WORD", " >| WORD", " <<< WORD", "<<<WORD", " 2>&1", " >&2", " >&-",
    " <&- ", " 3>&1-", " &>> WORD", " 10> WORD", " >&1", " 2147483648>WORD",
];

/// The spelling of a delimiter, and the delimiter.
const DELIMITERS: &[(&str, &str)] = &[
    ("E", "E"),
    ("'E'", "E"),
    ("\"E\"", "E"),
    ("\\E", "E"),
    ("E'F'", "EF"),
    ("$'E'", "E"),
    ("'E F'", "E F"),
    ("$E", "$E"),
    ("-E", "-E"),
    (" E", "E"),
    ("''", ""),
    ("E#", "E#"),
    ("\"E\\\"F\"", "E\"F"),
    ("`E`", "`E`"),
    ("{E}", "{E}"),
    ("E\\\nF", "EF"),
];
const DOCUMENT_OPERATORS: &[&str] = &["<<", "<<-", " << ", " <<- ", " 2<<"];
const DOCUMENT_TAILS: &[&str] =
    &["", "", " | b", " && b", "; b", " > o", " b", " <<F", ")", " # c", " || b", " &", " \\\nb"];
#[rustfmt::skip]
const DOCUMENT_LINES: &[&str] = &[
    "", "x\n", "$x\n", "rm y\n", " E\n", "\tE\n", "E \n", "EE\n", "a\\\nb\n", "'\n", "\"\n", "`\n",
    "\\`\n", "\\$(x)\n", "${x:-'}\n", "${x:-\"}\"}\n", "$((1))\n", "#\n", "E)\n", "a\\\nE\n",
    "\\\n", "$\n", "\"$x\n", "$(CODE)\n",
];
const DOCUMENT_ENDS: &[&str] = &["\n", "", "\nF\n"];

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "b ", "echo ", "c d", "'", "\"", "\\", "\n", " ", "$", "(", ")", "{", "}", "{ ", "; }",
    ";", ";;", "&", "|", "&&", "||", "|&", "&>", "&>>", ">&", "<&", ">|", "<>", "<<", "<<E", "<<-E",
    "<<'E'", "<<\"E\"", "<<\\E", "\nE\n", "\n\tE\n", "<<<", "#", " #", "$'", "$\"", "`", "$(",
    "$((", "))", "((", "[[ ", " ]]", "[", "]", "!", "! ", "~", "*", "?", "=", "x=", "x+=", "x[1]=",
    "if ", "; then ", "; else ", "elif ", "; fi", "while ", "; do ", "; done", "for x in ", "for x",
    "case x in ", " esac", "in ", "x) ", "*) ", "function f ", "f() ", "time ", "-p ", "coproc ",
    "${", "${x}", "${x:-", "$x", "$#", "${#", "@(", "!(", "?(", "<(", ">(", "{a,b}", "{1..3}", "1",
    "2>", "2>&1", ">&2", "{fd}>", "\t", "\\\n", "-", "--", "rm x", "let ", "declare ", "export ",
    "x=1 ", "\u{a0}", "\u{3000}", "\u{2028}", "\u{1}", "\u{7f}", "\u{85}", "=(", "+(", "%", "^",
    "!!", "^a^b", "$[", "1]", "return ", "break ", "exit ", "eval ", "[ ", " ]", "> o", "< i", ">",
    "<", "then", "do", "done", "fi", "esac", "é", "until ", "select ", "$@", "$*", "${x#", "${x%",
    "${x/", "${x^", "${x@", "${!x", ",", "..", ":", "+", "repeat 3 ", "foreach ", "end", "always ",
    "=~ ", " -a ", "\"$(", ")\"", "'\\''", "$$", "$-", "$!", "&!", "&|", ";&", ";;&", "3<", "0<&-",
    "a\\\nb", "\\#", "x=(", "noglob ", "command ", "nocorrect ", "- ", "~+", "=ls", "<->", "(#",
    "(.)", "^x", "{x}", "1>", "12", ">>", "-eq ", "-f ", "alias a=b", "${ ", "history ",
];

/// Generates lines; `corpus` is a collection of lines that are also changed.
pub(crate) fn line(corpus: Vec<String>) -> impl Strategy<Value = String> {
    let corpus = select(corpus);
    let joins = select(vec!["\n", "; ", " | ", " && ", " "]);
    prop_oneof![
        2 => proptest::collection::vec(select(PIECES), 1..PIECES_MAX).prop_map(|it| it.concat()),
        6 => structured(),
        3 => changed(structured()),
        4 => changed(corpus.clone()),
        1 => (corpus.clone(), joins, corpus).prop_map(|(one, join, two)| one + join + &two),
    ]
}

fn structured() -> impl Strategy<Value = String> {
    let command = select(COMMANDS).prop_map(str::to_owned);
    command.prop_recursive(NESTING_MAX, COMMANDS_MAX, 3, |inner| {
        let fragments = || proptest::collection::vec(select(FRAGMENTS), 1..4);
        let words = (fragments(), fragments()).prop_map(|(one, two)| [one.concat(), two.concat()]);
        let redirects = (select(REDIRECTS), select(REDIRECTS)).prop_map(|(one, two)| [one, two]);
        let codes = proptest::collection::vec(inner, 3);
        (select(TEMPLATES), document(), redirects, words, codes).prop_map(
            |(template, document, redirects, words, codes)| {
                let line = template.replace("DOCUMENT", &document);
                let line = filled(line, "REDIRECT", &redirects);
                let line = filled(line, "WORD", &words);
                filled(line, "CODE", &codes)
            },
        )
    })
}

fn document() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(select(DOCUMENT_LINES), 0..3);
    let (operator, tail) = (select(DOCUMENT_OPERATORS), select(DOCUMENT_TAILS));
    (operator, select(DELIMITERS), tail, lines, select(DOCUMENT_ENDS)).prop_map(
        |(operator, (spelled, delimiter), tail, lines, end)| {
            format!("{operator}{spelled}{tail}\n{}{delimiter}{end}", lines.concat())
        },
    )
}

/// Replaces every `mark` by the next value, and those that are left by the last one.
fn filled(line: String, mark: &str, values: &[impl AsRef<str>]) -> String {
    let last = values.last().map(AsRef::as_ref).unwrap_or_default();
    let each = |line: String, value: &dyn AsRef<str>| line.replacen(mark, value.as_ref(), 1);
    values.iter().fold(line, |line, value| each(line, value)).replace(mark, last)
}

/// Replaces up to two characters by a piece, several times.
fn changed(lines: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let change = (any::<usize>(), 0..3_usize, prop_oneof![3 => select(PIECES), 1 => Just("")]);
    (lines, proptest::collection::vec(change, 1..=CHANGES_MAX)).prop_map(|(line, changes)| {
        changes.iter().fold(line, |line, (at, length, piece)| {
            let chars: Vec<char> = line.chars().collect();
            let start = at % (chars.len() + 1);
            let end = (start + length).min(chars.len());
            let text = |chars: &[char]| chars.iter().collect::<String>();
            text(&chars[..start]) + piece + &text(&chars[end..])
        })
    })
}
