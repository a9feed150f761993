//! The three questions of `haft init`, and the manifest that the answers make.

use haft_app::Preset;
use toml::Value;

use crate::asking::ask_line;
use crate::views::output;

/// Tries to answer the first question.
const TRIES_MAX: usize = 3;
/// The answers to the first question, with the preset of each.
const PRESETS: [(&str, Preset); 3] =
    [("read", Preset::ReadOnly), ("work", Preset::Workspace), ("ask", Preset::Ask)];
const PRESET_QUESTION: &str = "\
1/3  What may agents do here without asking you?
       read  read files
       work  read and change files, and run confined commands
       ask   read files, and ask about everything else
     Answer [work]: ";
const HOSTS_QUESTION: &str = "\
2/3  Which hosts may commands reach? For npm, that is registry.npmjs.org.
     Hosts, with spaces between them [none]: ";
const HIDDEN_QUESTION: &str = "\
3/3  Which files may no agent read?
     Files, with spaces between them, - for none [.env]: ";
/// Hosts, and hidden files, that the answers to one question name.
const ITEMS_MAX: usize = 32;

/// The contents of a new manifest.
pub(super) struct InitAnswers {
    preset: Preset,
    hosts: Vec<String>,
    hidden: Vec<String>,
}

/// Says no more than the defaults do.
impl Default for InitAnswers {
    fn default() -> Self {
        Self { preset: Preset::default(), hosts: Vec::new(), hidden: Vec::new() }
    }
}

/// Asks the person at the terminal. Without a terminal, the answers are the defaults.
pub(super) async fn ask() -> InitAnswers {
    let mut answers = InitAnswers::default();
    for _ in 0..TRIES_MAX {
        let Some(line) = ask_line(PRESET_QUESTION).await else { return answers };
        match preset_of(&line) {
            Some(preset) => {
                answers.preset = preset;
                break;
            }
            None => output::print_note("Answer read, work or ask."),
        }
    }
    let Some(line) = ask_line(HOSTS_QUESTION).await else { return answers };
    answers.hosts = items(&line);
    let Some(line) = ask_line(HIDDEN_QUESTION).await else { return answers };
    answers.hidden = if line.is_empty() { vec![".env".to_owned()] } else { items(&line) };
    answers
}

/// Returns the preset that an answer means: a word or its beginning.
fn preset_of(line: &str) -> Option<Preset> {
    let typed = line.to_lowercase();
    if typed.is_empty() {
        return Some(Preset::Workspace);
    }
    PRESETS.into_iter().find(|(word, _)| word.starts_with(&typed)).map(|(_, preset)| preset)
}

fn items(line: &str) -> Vec<String> {
    let words = line.split([' ', ',']).map(str::trim).filter(|word| !word.is_empty());
    words.filter(|word| !["-", "none"].contains(word)).take(ITEMS_MAX).map(str::to_owned).collect()
}

impl InitAnswers {
    /// Returns the text of the manifest, in at most 15 lines.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![
            "# What agents may do in this directory and below it.".to_owned(),
            "# Every setting: docs/cli.md, or haft init --all-settings in an empty directory."
                .to_owned(),
            format!("preset = {}", Value::from(self.preset.name())),
        ];
        if !self.hidden.is_empty() {
            lines.push("# Neither tools nor commands read these files.".to_owned());
            let rules = self.hidden.iter().map(|pattern| {
                let pattern = Value::from(pattern.clone());
                format!("{{ permission = \"fs.read\", pattern = {pattern}, action = \"deny\" }}")
            });
            lines.push(format!("permissions = [{}]", rules.collect::<Vec<_>>().join(", ")));
        }
        if !self.hosts.is_empty() {
            lines.push("# Hosts that commands and tools may reach.".to_owned());
            lines.push(format!("requires.net.hosts = {}", Value::from(self.hosts.clone())));
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use haft_app::manifest::ManifestFile;

    use super::*;

    /// Most lines of a new manifest.
    const LINES_MAX: usize = 15;

    #[test]
    fn what_was_answered_is_a_short_manifest() {
        let answers = InitAnswers {
            preset: Preset::Ask,
            hosts: items("registry.npmjs.org, docs.rs"),
            hidden: items(".env \"x\""),
        };
        let text = answers.text();
        expect_test::expect![[r#"
            # What agents may do in this directory and below it.
            # Every setting: docs/cli.md, or haft init --all-settings in an empty directory.
            preset = "ask"
            # Neither tools nor commands read these files.
            permissions = [{ permission = "fs.read", pattern = ".env", action = "deny" }, { permission = "fs.read", pattern = '"x"', action = "deny" }]
            # Hosts that commands and tools may reach.
            requires.net.hosts = ["registry.npmjs.org", "docs.rs"]
        "#]]
        .assert_eq(&text);
        for text in [text, InitAnswers::default().text()] {
            assert!(text.lines().count() <= LINES_MAX);
            let manifest = ManifestFile::of_text("/nowhere/haft.toml".into(), text).parse();
            assert!(manifest.is_ok(), "{}", manifest.unwrap_err().message);
        }
    }

    #[test]
    fn an_answer_is_a_word_or_its_beginning() {
        let check = |line: &str, expect: Option<&str>| {
            assert_eq!(preset_of(line).map(|preset| preset.name()), expect, "{line:?}");
        };
        check("", Some("workspace"));
        check("R", Some("read-only"));
        check("ask", Some("ask"));
        check("full", None);
        assert_eq!(items(" - "), [""; 0]);
    }
}
