//! Words and turns of phrase that make text hard to read, in comments, documents and messages.
//!
//! Names of code are not looked at. In Rust, a literal with a space in it counts as a message unless
//! it is SQL or belongs to a test. Every needle with a space is written so that it does not contain
//! itself, because this file is searched too.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::TidyViolation;
use super::documents::is_generated;
use super::markdown::{Paragraph, paragraphs};
use crate::files;
use crate::repository::RepositoryFile;
use crate::rust_text::is_word;
use crate::syntax::ProductionFile;

/// Turns of phrase that plain English does without, and what to do instead.
const BANNED: &[(&str, &str)] = &[
    ("whoever", NAME_THE_ACTOR),
    ("whom", NAME_THE_ACTOR),
    ("somebody", NAME_THE_ACTOR),
    ("nobody", NAME_THE_ACTOR),
    (concat!("none", " is"), "name the subject"),
    (concat!("there", " is to"), "name the subject"),
    (concat!("is", " had"), "name the actor and what it does"),
    (concat!("are", " had"), "name the actor and what it does"),
    (concat!("gone", " on with"), "write «resume»"),
    (concat!("of its", " own"), "write «its own …» or «a separate …»"),
    ("tenure", "write «lease»"),
    ("felt", "write «restrictions»"),
    ("elders", "write «concurrent scans»"),
    ("unheard", "write «unacknowledged»"),
    ("uncount", "write what happens to the repeat index"),
    ("digested", "write «redacted»"),
    ("narrowing", "write «restrictions»"),
    ("leftovers", "write «reconciliation» or name the files"),
    ("inquiry", "write «ask» or «question»"),
    ("survey", "write «scan»"),
    ("ceiling", "write «restrictions»"),
];

const NAME_THE_ACTOR: &str = "name the actor: haft, the client, the user, the process";

/// Old words that messages may still use with another meaning, as in the name of an interface.
const BANNED_IN_TEXT: &[(&str, &str)] =
    &[("chat", "write «session»"), ("chats", "write «sessions»")];

/// Words that open sentences without a subject.
const BANNED_OPENINGS: &[&str] = &["What", "Whoever", "That"];

/// SQL is no prose, and its columns keep their names.
const SQL_WORDS: &[&str] =
    &["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "ALTER ", "FROM "];

pub(super) const BASELINE_PATH: &str = "xtask/src/tidy/prose_baseline.txt";

/// One place that needs other words.
struct ProseFinding {
    line: usize,
    message: String,
}

/// Fails files with more findings than the baseline allows, and a baseline that allows too many.
pub(super) fn check(sources: &[RepositoryFile], code: &[ProductionFile]) -> Vec<TidyViolation> {
    let baseline = sources.iter().find(|source| source.path == BASELINE_PATH);
    let allowed = match parse_baseline(baseline.map_or("", |source| &source.text)) {
        Ok(allowed) => allowed,
        Err(err) => return vec![TidyViolation::new(BASELINE_PATH, 1, err.to_string())],
    };
    let mut violations = Vec::new();
    let found = findings(sources, code);
    for (path, findings) in &found {
        let allowed = allowed.get(*path).copied().unwrap_or_default();
        if findings.len() > allowed && allowed > 0 {
            let message = format!(
                "{} places need plainer words, {allowed} were allowed; `cargo xtask tidy --prose \
                 {path}` lists them",
                findings.len()
            );
            violations.push(TidyViolation::new(path, 1, message));
        } else if findings.len() > allowed {
            violations.extend(
                findings
                    .iter()
                    .map(|finding| TidyViolation::new(path, finding.line, &finding.message)),
            );
        }
    }
    for (path, allowed) in &allowed {
        let count = found.get(path).map_or(0, Vec::len);
        if count < *allowed {
            let message = format!(
                "{path} has {count} places that need plainer words and {allowed} are allowed; \
                 `cargo xtask tidy --lower` lowers the number"
            );
            violations.push(TidyViolation::new(BASELINE_PATH, 1, message));
        }
    }
    violations
}

/// Prints the findings of all files whose path starts with one of the prefixes.
pub(super) fn print(sources: &[RepositoryFile], code: &[ProductionFile], prefixes: &[String]) {
    for (path, findings) in findings(sources, code) {
        if prefixes.iter().any(|prefix| path.starts_with(prefix.as_str())) {
            for finding in findings {
                println!("{path}:{}: {}", finding.line, finding.message);
            }
        }
    }
}

/// Writes the baseline anew with the present numbers, unless there are more findings than before.
pub(super) fn lower_baseline(
    root: &Path,
    sources: &[RepositoryFile],
    code: &[ProductionFile],
) -> anyhow::Result<()> {
    let path = root.join(BASELINE_PATH);
    let text = files::read(&path)?;
    let allowed: usize = parse_baseline(&text)?.values().sum();
    let found = findings(sources, code);
    let count: usize = found.values().map(Vec::len).sum();
    if count > allowed {
        bail!("{count} places need plainer words, but only {allowed} did before");
    }
    let rows: String =
        found.iter().map(|(path, findings)| format!("{path}: {}\n", findings.len())).collect();
    files::write(&path, rows)?;
    println!("{count} places need plainer words, {allowed} before");
    Ok(())
}

fn parse_baseline(text: &str) -> anyhow::Result<BTreeMap<&str, usize>> {
    text.lines()
        .map(|line| {
            let (path, count) =
                line.split_once(": ").with_context(|| format!("`{line}` is no `path: count`"))?;
            Ok((path, count.parse().with_context(|| format!("`{count}` is no number"))?))
        })
        .collect()
}

/// Returns the findings of each file that has some.
fn findings<'files>(
    sources: &'files [RepositoryFile],
    code: &[ProductionFile],
) -> BTreeMap<&'files str, Vec<ProseFinding>> {
    let production: BTreeMap<&str, &ProductionFile> =
        code.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut found = BTreeMap::new();
    for source in sources {
        let is_fixture = source.path.split('/').any(|part| part == "fixtures");
        let texts = match (&source.rust, source.extension()) {
            (Some(rust), _) => {
                // Comments that stand below one another belong together.
                let mut markdown = String::new();
                for line in rust.comments.lines().map(str::trim_start) {
                    let text = ["///", "//!", "//"].iter().find_map(|mark| line.strip_prefix(mark));
                    markdown.push_str(text.unwrap_or(line).trim_start());
                    markdown.push('\n');
                }
                paragraphs(&markdown)
            }
            (None, "md") if source.path == "CHANGELOG.md" => {
                // Only the next version can still change.
                let mut versions = source.text.match_indices("\n## ").map(|(start, _)| start);
                paragraphs(&source.text[..versions.nth(1).unwrap_or(source.text.len())])
            }
            (None, "md") if !is_generated(&source.path) && !is_fixture => paragraphs(&source.text),
            (None, _) => continue,
        };
        let mut findings: Vec<ProseFinding> =
            texts.iter().flat_map(|paragraph| prose_findings(paragraph, true)).collect();
        let lines = source.rust.iter().flat_map(|rust| rust.literals.lines());
        let file = production.get(source.path.as_str());
        for (line, number) in lines.zip(1..) {
            let is_message = file.is_some_and(|file| !file.is_test_line(number))
                && !SQL_WORDS.iter().any(|word| line.contains(word));
            // Literals are separated by more than one blank, since quotes and code are blanked out.
            for literal in line.split("  ").map(str::trim).filter(|literal| literal.contains(' ')) {
                if is_message {
                    findings.extend(prose_findings(&Paragraph::of_line(literal, number), false));
                }
            }
        }
        if !findings.is_empty() {
            findings.sort_by_key(|finding| finding.line);
            found.insert(source.path.as_str(), findings);
        }
    }
    found
}

fn prose_findings(paragraph: &Paragraph, has_sentences: bool) -> Vec<ProseFinding> {
    let mut findings = Vec::new();
    let lower = paragraph.text.to_ascii_lowercase();
    let in_text = if has_sentences { BANNED_IN_TEXT } else { &[] };
    for (needle, advice) in BANNED.iter().chain(in_text) {
        for (start, _) in lower.match_indices(needle) {
            let end = start + needle.len();
            let before = lower[..start].chars().next_back();
            let after = lower[end..].chars().next();
            let is_part = |c: Option<char>| c.is_some_and(|c| is_word(c) || c == '-');
            if !is_part(before) && !is_part(after) {
                let message = format!("`{needle}`: {advice}");
                findings.push(ProseFinding { line: paragraph.line(start), message });
            }
        }
    }
    if !has_sentences {
        return findings;
    }
    for (start, sentence) in sentences(&paragraph.text) {
        let opening = sentence.split(|c: char| !is_word(c)).next().unwrap_or_default();
        if BANNED_OPENINGS.contains(&opening) && !sentence.trim_end().ends_with('?') {
            let message = format!("a sentence starts with `{opening}`: name the subject");
            findings.push(ProseFinding { line: paragraph.line(start), message });
        }
    }
    findings
}

/// Returns the sentences of a text with their offsets.
fn sentences(text: &str) -> Vec<(usize, &str)> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let ends = [". ", "! ", "? "];
    while let Some(length) = ends.iter().filter_map(|end| text[start..].find(end)).min() {
        let end = start + length + 1;
        sentences.push((start, &text[start..end]));
        start = end + 1;
    }
    sentences.push((start, &text[start..]));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_comment(comment: &str, expect: &[&str]) {
        let sources = [RepositoryFile::new("a.rs", comment)];
        let messages: Vec<String> = findings(&sources, &[])
            .values()
            .flatten()
            .map(|finding| format!("{}: {}", finding.line, finding.message))
            .collect();
        assert_eq!(messages.len(), expect.len(), "{comment}\n{messages:#?}");
        for (message, expect) in messages.iter().zip(expect) {
            assert!(message.starts_with(expect), "{message} is not {expect}");
        }
    }

    #[test]
    fn banned_words_stand_alone_and_cross_lines() {
        check_comment("// Somebody waits.", &["1: `somebody`"]);
        check_comment("/// A lease. Here none\n/// is free.", &[&format!("1: `{}`", BANNED[4].0)]);
        check_comment("// `whoever` and whomever and heart-felt", &[]);
    }

    #[test]
    fn sentences_have_a_subject() {
        check_comment("/// What it said.", &["1: a sentence starts with `What`"]);
        check_comment("/// One. That two\n/// three. That.", &["1: a sen", "2: a sen"]);
        check_comment("/// What is it? Whatever. Say: what.", &[]);
    }
}
