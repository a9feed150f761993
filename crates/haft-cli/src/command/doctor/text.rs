//! The report of `haft doctor` for people: sections of short lines, folded at the width of a terminal. Nothing is found
//! out here.

use std::path::Path;

use super::{Bash, Files, Layer, Mechanism, Program, Reach, Report, SandboxReport};

/// Columns of the report.
const WIDTH: usize = 80;
/// Returns the report.
pub(super) fn text(report: &Report) -> String {
    let shown = |path: &Path| abbreviated(path, &report.home);
    let readable: Vec<String> = report.readable.iter().map(|path| shown(path)).collect();
    let hidden: Vec<String> = report.hidden.iter().map(|path| shown(path)).collect();
    let sections = [
        ("Sandbox", vec![verdict(report), report.layers.iter().map(layer).collect()]),
        ("Kernel", report.kernel.iter().map(mechanism).collect()),
        ("Programs on PATH", report.programs.iter().map(|one| program(one, &shown)).collect()),
        (
            "Commands see",
            vec![
                labelled("", "readable", &list(&readable)),
                labelled("", "hidden", &list(&hidden)),
            ],
        ),
        ("Files of haft", files(&report.files, &shown)),
        ("bash", vec![bash(&report.bash)]),
    ];
    let section = |(heading, lines): &(&str, Vec<String>)| format!("{heading}\n{}", lines.concat());
    sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn verdict(report: &Report) -> String {
    let misses = |reach: Reach| report.layers.iter().any(|layer| layer.reach == reach);
    let text = match report.sandbox {
        SandboxReport::Off => {
            "switched off (--unsafe-no-sandbox): commands are not confined at all"
        }
        SandboxReport::On if misses(Reach::Missing) => {
            "cannot be enforced, so commands are refused"
        }
        SandboxReport::On if misses(Reach::Partly) => {
            "commands are confined, but not in full, so presets do not let them run freely"
        }
        SandboxReport::On if misses(Reach::Open) => {
            "commands are confined, but have the network as it is (allow_network)"
        }
        SandboxReport::On => "commands are confined in full",
    };
    folded("  ", text)
}

fn layer(layer: &Layer) -> String {
    let (mark, without) = match layer.reach {
        Reach::Full => ("ok", ""),
        Reach::Partly => ("~", "only watched over by haft"),
        Reach::Open => ("--", "open, as the settings say"),
        Reach::Missing => ("--", "nothing would hold commands"),
    };
    let uses = if layer.uses.is_empty() { without.to_owned() } else { layer.uses.join(", ") };
    labelled(mark, layer.name, &uses)
}

fn mechanism(mechanism: &Mechanism) -> String {
    let mark = if mechanism.available { "ok" } else { "--" };
    let mut text = labelled(mark, mechanism.name, &mechanism.detail);
    if let Some(remedy) = &mechanism.remedy {
        // At the left, so that most commands fit into one line and can be pasted.
        text.push_str(&folded("      ", remedy));
    }
    text
}

fn program(program: &Program, shown: &dyn Fn(&Path) -> String) -> String {
    let path = shown(&program.path);
    if program.visible {
        return labelled("ok", program.name, &path);
    }
    let text = format!("{path} (commands cannot read it; see sandbox.readable in haft.toml)");
    labelled("--", program.name, &text)
}

fn files(files: &Files, shown: &dyn Fn(&Path) -> String) -> Vec<String> {
    let manifest = files.manifest.as_deref().map_or("none".to_owned(), shown);
    vec![
        labelled("", "state", &shown(&files.state)),
        labelled("", "journal", &shown(&files.journal)),
        labelled("", "manifest", &manifest),
        labelled("", "project rules", &shown(&files.project_rules)),
    ]
}

fn bash(bash: &Bash) -> String {
    let preset = bash.preset;
    match &bash.why {
        None => folded("  ", &format!("runs without asking (preset {preset})")),
        Some(why) => folded("  ", &format!("does not run without asking (preset {preset}): {why}")),
    }
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

/// Returns a path with the home directory as people write it.
fn abbreviated(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(inside) if !home.as_os_str().is_empty() => {
            Path::new("~").join(inside).display().to_string()
        }
        Ok(_) | Err(_) => path.display().to_string(),
    }
}

/// Returns a text beside its label, folded.
fn labelled(mark: &str, label: &str, text: &str) -> String {
    folded(&format!("  {mark:<2}  {label:<21} "), text)
}

/// Returns a text after something that ends with a gap, folded between words and set in. What has no gap stays whole.
fn folded(before: &str, text: &str) -> String {
    let indent = before.chars().count();
    let mut line = before.to_owned();
    let mut column = indent;
    for word in text.split_whitespace() {
        let columns = word.chars().count();
        if column > indent && column + 1 + columns > WIDTH {
            line.push_str(&format!("\n{:indent$}", ""));
            column = indent;
        }
        if column > indent {
            line.push(' ');
            column += 1;
        }
        line.push_str(word);
        column += columns;
    }
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn report() -> Report {
        let available = |name: &'static str, detail: &str| Mechanism {
            name,
            available: true,
            detail: detail.to_owned(),
            remedy: None,
        };
        Report {
            enforceable: false,
            sandbox: SandboxReport::On,
            layers: vec![
                Layer { name: "files", reach: Reach::Full, uses: vec!["landlock", "no_new_privs"] },
                Layer { name: "processes", reach: Reach::Partly, uses: Vec::new() },
            ],
            kernel: vec![
                available("Landlock", "ABI 7"),
                Mechanism {
                    name: "user namespaces",
                    available: false,
                    detail: "AppArmor does not let ordinary programs make them, as Ubuntu has it by default"
                        .to_owned(),
                    remedy: Some("sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".to_owned()),
                },
            ],
            programs: vec![
                Program { name: "bash", path: "/usr/bin/bash".into(), visible: true },
                Program { name: "node", path: "/srv/tools/node".into(), visible: false },
            ],
            readable: ["/usr", "/etc", "/home/ada/.cargo", "/home/ada/.rustup", "/home/ada/.npm", "/opt"]
                .map(Into::into)
                .to_vec(),
            hidden: Vec::new(),
            files: Files {
                state: "/home/ada/.local/state/haft".into(),
                journal: "/home/ada/.local/state/haft/journal.sqlite".into(),
                manifest: None,
                project_rules: "/home/ada/.local/state/haft/projects/1f.toml".into(),
            },
            bash: Bash {
                freely: false,
                preset: "workspace",
                why: Some("no rule matches, and then the answer is ask".to_owned()),
            },
            home: "/home/ada".into(),
        }
    }

    #[test]
    fn the_report_is_folded_and_says_how_to_get_what_is_missing() {
        expect![[r#"
            Sandbox
              commands are confined, but not in full, so presets do not let them run freely
              ok  files                 landlock, no_new_privs
              ~   processes             only watched over by haft

            Kernel
              ok  Landlock              ABI 7
              --  user namespaces       AppArmor does not let ordinary programs make them,
                                        as Ubuntu has it by default
                  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0

            Programs on PATH
              ok  bash                  /usr/bin/bash
              --  node                  /srv/tools/node (commands cannot read it; see
                                        sandbox.readable in haft.toml)

            Commands see
                  readable              /usr, /etc, ~/.cargo, ~/.rustup, ~/.npm, /opt
                  hidden                nothing

            Files of haft
                  state                 ~/.local/state/haft
                  journal               ~/.local/state/haft/journal.sqlite
                  manifest              none
                  project rules         ~/.local/state/haft/projects/1f.toml

            bash
              does not run without asking (preset workspace): no rule matches, and then the
              answer is ask
        "#]]
        .assert_eq(&text(&report()));
    }

    #[test]
    fn nothing_to_say_leaves_no_gap() {
        assert_eq!(labelled("ok", "seccomp", ""), "  ok  seccomp\n");
    }

    #[test]
    fn long_words_stay_whole() {
        let word = "x".repeat(WIDTH);
        assert_eq!(folded("  ", &format!("a {word} b")), format!("  a\n  {word}\n  b\n"));
        let exact = "y".repeat(WIDTH - 4);
        assert_eq!(folded("  ", &format!("a {exact} b")), format!("  a {exact}\n  b\n"));
    }
}
