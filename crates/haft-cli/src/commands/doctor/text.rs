//! The report of `haft doctor` for people: sections of short lines, folded at the width of a terminal. Nothing is found
//! out here.

use std::path::{Path, PathBuf};

use super::{
    AsksReport, BashReport, DoctorReport, FilesReport, LayerEnforcement, LayerReport,
    MechanismReport, ModelReport, ProgramReport, PythonReport, SandboxReport, SearchReport,
    ServerReport, apparmor,
};
use crate::views::path_text::counted;

/// Columns of the report.
const WIDTH: usize = 80;
/// Characters that are shown of a file's name that is a hash: as many as tell files apart.
const HASH_CHARS: usize = 12;

/// Returns the report.
pub(super) fn text(report: &DoctorReport) -> String {
    // As people write it, with `~` for the home directory.
    let shown = |path: &Path| match path.strip_prefix(&report.home) {
        Ok(inside) if !report.home.as_os_str().is_empty() => {
            Path::new("~").join(inside).display().to_string()
        }
        Ok(_) | Err(_) => path.display().to_string(),
    };
    let search = |report: &SearchReport| match &report.problem {
        None => labelled("ok", report.kind, &report.url),
        Some(problem) => labelled("--", report.kind, &format!("{}: {problem}", report.url)),
    };
    let misses = |reach: LayerEnforcement| report.layers.iter().any(|layer| layer.reach == reach);
    let verdict = match report.sandbox {
        SandboxReport::Off => {
            "switched off (--unsafe-no-sandbox): commands are not confined at all"
        }
        SandboxReport::On if misses(LayerEnforcement::Missing) => {
            "cannot be enforced, so commands are refused"
        }
        SandboxReport::On if misses(LayerEnforcement::Partly) => {
            "commands are confined, but not in full, so presets do not let them run freely"
        }
        SandboxReport::On if misses(LayerEnforcement::Open) => {
            "commands are confined, but have the network as it is (allow_network)"
        }
        SandboxReport::On => "commands are confined in full",
    };
    let server = |report: &ServerReport| {
        let name = &report.name;
        let (mark, label, text) = match (&report.problem, report.tools) {
            (Some(problem), _) => ("--", "unusable", format!("{name}: {problem}")),
            (None, Some(tools)) => {
                ("ok", "server", format!("{name}: {} when last started", counted(tools, "tool")))
            }
            (None, None) => {
                ("~", "server", format!("{name}: never started yet: haft mcp test {name}"))
            }
        };
        labelled(mark, label, &text)
    };
    let seen = &report.seen;
    let all = |paths: &[PathBuf]| list(&paths.iter().map(|path| shown(path)).collect::<Vec<_>>());
    let mut visible = vec![
        labelled("", "writable", &all(&seen.writable)),
        labelled("", "readable", &all(&seen.readable)),
        labelled("", "hidden", &all(&seen.hidden)),
        labelled("", "protected", "what others run or obey (haft permissions list)"),
    ];
    if !seen.unprotected.is_empty() {
        let text = format!("{} (sandbox.unprotect)", list(&seen.unprotected));
        visible.push(labelled("~", "not protected", &text));
    }
    visible.extend(seen.not_readable.iter().map(|one| {
        let text = format!("{} (sandbox.readable): {}", shown(&one.path), one.why);
        labelled("--", "not readable", &text)
    }));
    visible.extend(seen.repositories_above.iter().map(|one| {
        let (root, worktree) = (shown(&one.root), shown(&one.worktree));
        let text = format!(
            "does not work in {root}: commands do not see the repository around it; to change that: --root {worktree}"
        );
        labelled("--", "git", &text)
    }));
    let sections = [
        ("Sandbox", vec![folded("  ", verdict), report.layers.iter().map(layer).collect()]),
        ("Kernel", report.kernel.iter().map(mechanism).collect()),
        (
            "AppArmor",
            report.apparmor_profile.as_deref().map(apparmor::commands).into_iter().collect(),
        ),
        ("Programs on PATH", report.programs.iter().map(|one| program(one, &shown)).collect()),
        ("Commands see", visible),
        ("Python tools", report.python.iter().map(|one| python(one, &shown)).collect()),
        ("MCP servers", report.mcp.iter().map(server).collect()),
        ("Searches", report.web_search.iter().map(search).collect()),
        ("Model", vec![model(report.model.as_ref())]),
        ("Files of haft", files(&report.files, &shown)),
        ("bash", vec![bash(&report.bash)]),
        ("Asks", vec![asks(&report.asks)]),
        ("Notified", report.notify.iter().map(|one| folded("  ", one)).collect()),
    ];
    let section = |(heading, lines): &(&str, Vec<String>)| format!("{heading}\n{}", lines.concat());
    let said = sections.iter().filter(|(_, lines)| !lines.is_empty());
    said.map(section).collect::<Vec<_>>().join("\n")
}

fn layer(layer: &LayerReport) -> String {
    let (mark, without) = match layer.reach {
        LayerEnforcement::Full => ("ok", ""),
        LayerEnforcement::Partly => ("~", "only watched over by haft"),
        LayerEnforcement::Open => ("--", "open, as the settings say"),
        LayerEnforcement::Missing => ("--", "nothing would hold commands"),
    };
    let uses = if layer.uses.is_empty() { without.to_owned() } else { layer.uses.join(", ") };
    labelled(mark, layer.name, &uses)
}

fn mechanism(mechanism: &MechanismReport) -> String {
    let mark = if mechanism.available { "ok" } else { "--" };
    let mut text = labelled(mark, mechanism.name, &mechanism.detail);
    if let Some(remedy) = &mechanism.remedy {
        // At the left, so that most commands fit into one line and can be pasted.
        text.push_str(&folded("      ", remedy));
    }
    text
}

fn program(program: &ProgramReport, shown: &dyn Fn(&Path) -> String) -> String {
    let path = shown(&program.path);
    if program.visible {
        return labelled("ok", program.name, &path);
    }
    let text = format!("{path} (commands cannot read it; see sandbox.readable in haft.toml)");
    labelled("--", program.name, &text)
}

fn python(report: &PythonReport, shown: &dyn Fn(&Path) -> String) -> String {
    let dir = shown(&report.dir);
    let missing = report.not_readable.iter().map(|path| {
        let text = format!("{} (readable of its [[python]] entry): it is not there", shown(path));
        labelled("--", "not readable", &text)
    });
    let missing: String = missing.collect();
    if let Some(problem) = &report.problem {
        return labelled("--", "left out", &format!("{dir}: {problem}")) + &missing;
    }
    let interpreter = report.interpreter.as_deref().map_or(String::new(), shown);
    let version = report.version.as_deref().unwrap_or("of unknown version");
    let tools = counted(report.tools, "tool");
    let mut text = format!("{dir}: {tools}, Python {version} ({interpreter})");
    if report.errors + report.warnings > 0 {
        text.push_str(&format!(
            "; {}, {}: haft registry check",
            counted(report.errors, "error"),
            counted(report.warnings, "warning")
        ));
    }
    labelled(if report.errors == 0 { "ok" } else { "~" }, "directory", &text) + &missing
}

fn model(report: Option<&ModelReport>) -> String {
    let Some(report) = report else {
        let text = "haft agent, haft acp, haft plan make and haft do need a model: --model, HAFT_MODEL, or name \
                    in [model] of haft.toml";
        return labelled("~", "model", text);
    };
    let Some(name) = &report.name else {
        return labelled("--", "cannot be asked", report.problem.as_deref().unwrap_or_default());
    };
    let place = report.base_url.as_ref().map_or(String::new(), |url| format!(" at {url}"));
    let text = match (&report.problem, &report.key_variable) {
        (Some(problem), _) => format!("{name}{place}: {problem}"),
        (None, Some(variable)) => format!("{name}{place}; its key is in {variable}"),
        (None, None) => format!("{name}{place}; no key is sent"),
    };
    labelled(if report.problem.is_none() { "ok" } else { "--" }, "model", &text)
}

fn files(files: &FilesReport, shown: &dyn Fn(&Path) -> String) -> Vec<String> {
    let kept = |label: &str, path: &Path, problem: &Option<String>, remedy: &str| match problem {
        None => labelled("ok", label, &shown(path)),
        Some(problem) => {
            let text = format!("{} (no call is made: {problem}; {remedy})", shown(path));
            labelled("--", label, &text)
        }
    };
    let state_remedy = "name another directory in HAFT_STATE_DIR";
    let journal_remedy = "name another directory in HAFT_STATE_DIR, or a file in HAFT_DB";
    let path = |path: &Option<PathBuf>| path.as_deref().map_or("none".to_owned(), shown);
    // The name of the rules is a hash. As a pattern for shells, the path fits a line more often.
    let rules = shown(&files.project_rules);
    let pattern = rules.rsplit_once('/').and_then(|(directory, name)| {
        let (stem, extension) = name.rsplit_once('.')?;
        let start = stem.get(..HASH_CHARS).filter(|start| start.len() < stem.len())?;
        Some(format!("{directory}/{start}*.{extension}"))
    });
    vec![
        kept("state", &files.state, &files.state_problem, state_remedy),
        kept("journal", Path::new(&files.journal), &files.journal_problem, journal_remedy),
        labelled("", "manifest", &path(&files.manifest)),
        labelled("", "your configuration", &path(&files.user_configuration)),
        labelled("", "project rules", &pattern.unwrap_or(rules)),
    ]
}

fn bash(bash: &BashReport) -> String {
    let preset = bash.preset;
    match &bash.why {
        None => folded("  ", &format!("runs without asking (preset {preset})")),
        Some(why) => folded("  ", &format!("does not run without asking (preset {preset}): {why}")),
    }
}

fn asks(asks: &AsksReport) -> String {
    let text = match asks.wait {
        true => format!(
            "if the client of haft mcp cannot ask, a call waits {} s for haft asks (asks = \"wait\")",
            asks.answer_ms / 1_000
        ),
        false => "if the client of haft mcp cannot ask, a call that needs an answer is denied \
                  (asks = \"wait\" in haft.toml lets it wait for haft asks)"
            .to_owned(),
    };
    folded("  ", &text)
}

fn list(words: &[String]) -> String {
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

/// Returns a text beside its label, folded.
fn labelled(mark: &str, label: &str, text: &str) -> String {
    folded(&format!("  {mark:<2}  {label:<21} "), text)
}

/// Returns a text after a label that ends with a gap, folded between words and indented. A long word stays whole.
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

    use super::super::visible_paths::{EnclosingRepository, UnreadablePath, VisiblePathsReport};
    use super::*;

    fn servers() -> Vec<ServerReport> {
        let missing = "it is to be given the variable HUB_TOKEN, which is not set".to_owned();
        vec![
            ServerReport { name: "git".to_owned(), tools: Some(12), problem: None },
            ServerReport { name: "new".to_owned(), tools: None, problem: None },
            ServerReport { name: "hub".to_owned(), tools: Some(3), problem: Some(missing) },
        ]
    }

    fn searches() -> Vec<SearchReport> {
        vec![
            SearchReport {
                kind: "searxng",
                url: "https://searx.example/".to_owned(),
                problem: None,
            },
            SearchReport {
                kind: "brave",
                url: "https://api.search.brave.com/res/v1/".to_owned(),
                problem: Some("its key is missing".to_owned()),
            },
        ]
    }

    fn model() -> ModelReport {
        ModelReport {
            name: Some("openai/gpt-5".to_owned()),
            key_variable: Some("OPENAI_API_KEY".to_owned()),
            key_is_set: Some(true),
            ..ModelReport::default()
        }
    }

    fn report() -> DoctorReport {
        let available = |name: &'static str, detail: &str| MechanismReport {
            name,
            available: true,
            detail: detail.to_owned(),
            remedy: None,
        };
        DoctorReport {
            enforceable: false,
            sandbox: SandboxReport::On,
            layers: vec![
                LayerReport { name: "files", reach: LayerEnforcement::Full, uses: vec!["landlock", "no_new_privs"] },
                LayerReport { name: "processes", reach: LayerEnforcement::Partly, uses: Vec::new() },
            ],
            kernel: vec![
                available("Landlock", "ABI 7"),
                MechanismReport {
                    name: "user namespaces",
                    available: false,
                    detail: "Permission denied (os error 13); kernel.apparmor_restrict_unprivileged_userns is 1"
                        .to_owned(),
                    remedy: Some("give this program an AppArmor profile with the rule userns".to_owned()),
                },
            ],
            apparmor_profile: Some("profile haft {\n  userns,\n}\n".to_owned()),
            programs: vec![
                ProgramReport { name: "bash", path: "/usr/bin/bash".into(), visible: true },
                ProgramReport { name: "node", path: "/srv/tools/node".into(), visible: false },
            ],
            seen: VisiblePathsReport {
                writable: vec!["/srv/app/packages/a".into()],
                readable: ["/usr", "/etc", "/home/ada/.cargo", "/home/ada/.rustup", "/home/ada/.npm", "/opt"]
                    .map(Into::into)
                    .to_vec(),
                not_readable: vec![UnreadablePath { path: "/srv/data".into(), why: "it is not there" }],
                hidden: Vec::new(),
                unprotected: vec![".envrc".to_owned()],
                repositories_above: vec![EnclosingRepository {
                    root: "/srv/app/packages/a".into(),
                    worktree: "/srv/app".into(),
                }],
            },
            model: Some(model()),
            python: vec![PythonReport {
                dir: "/srv/app/tools".into(),
                interpreter: Some("/usr/bin/python3".into()),
                version: Some("3.12.1".to_owned()),
                tools: 3,
                errors: 1,
                warnings: 0,
                not_readable: vec!["/srv/data".into()],
                problem: None,
            }],
            mcp: servers(),
            web_search: searches(),
            files: FilesReport {
                state: "/home/ada/.local/state/haft".into(),
                state_problem: None,
                journal: "/mnt/journal.sqlite".into(),
                journal_problem: Some("/mnt cannot be written: Permission denied".to_owned()),
                manifest: None,
                user_configuration: Some("/home/ada/.config/haft/haft.toml".into()),
                project_rules: format!("/home/ada/.local/state/haft/projects/{}.toml", "1f2e".repeat(16)).into(),
            },
            bash: BashReport {
                freely: false,
                preset: "workspace",
                why: Some("no rule matches, and then the answer is ask".to_owned()),
            },
            asks: AsksReport { wait: false, answer_ms: 600_000 },
            notify: Vec::new(),
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
              --  user namespaces       Permission denied (os error 13);
                                        kernel.apparmor_restrict_unprivileged_userns is 1
                  give this program an AppArmor profile with the rule userns

            AppArmor
              A profile gives haft its namespaces, and no other program. To load it:

            sudo tee /etc/apparmor.d/haft >/dev/null <<'EOF'
            profile haft {
              userns,
            }
            EOF
            sudo apparmor_parser --replace --write-cache /etc/apparmor.d/haft

            Programs on PATH
              ok  bash                  /usr/bin/bash
              --  node                  /srv/tools/node (commands cannot read it; see
                                        sandbox.readable in haft.toml)

            Commands see
                  writable              /srv/app/packages/a
                  readable              /usr, /etc, ~/.cargo, ~/.rustup, ~/.npm, /opt
                  hidden                nothing
                  protected             what others run or obey (haft permissions list)
              ~   not protected         .envrc (sandbox.unprotect)
              --  not readable          /srv/data (sandbox.readable): it is not there
              --  git                   does not work in /srv/app/packages/a: commands do
                                        not see the repository around it; to change that:
                                        --root /srv/app

            Python tools
              ~   directory             /srv/app/tools: 3 tools, Python 3.12.1
                                        (/usr/bin/python3); 1 error, 0 warnings: haft
                                        registry check
              --  not readable          /srv/data (readable of its [[python]] entry): it is
                                        not there

            MCP servers
              ok  server                git: 12 tools when last started
              ~   server                new: never started yet: haft mcp test new
              --  unusable              hub: it is to be given the variable HUB_TOKEN, which
                                        is not set

            Searches
              ok  searxng               https://searx.example/
              --  brave                 https://api.search.brave.com/res/v1/: its key is
                                        missing

            Model
              ok  model                 openai/gpt-5; its key is in OPENAI_API_KEY

            Files of haft
              ok  state                 ~/.local/state/haft
              --  journal               /mnt/journal.sqlite (no call is made: /mnt cannot be
                                        written: Permission denied; name another directory
                                        in HAFT_STATE_DIR, or a file in HAFT_DB)
                  manifest              none
                  your configuration    ~/.config/haft/haft.toml
                  project rules         ~/.local/state/haft/projects/1f2e1f2e1f2e*.toml

            bash
              does not run without asking (preset workspace): no rule matches, and then the
              answer is ask

            Asks
              if the client of haft mcp cannot ask, a call that needs an answer is denied
              (asks = "wait" in haft.toml lets it wait for haft asks)
        "#]]
        .assert_eq(&text(&report()));
    }

    #[test]
    fn where_no_model_is_named_that_is_said() {
        let told = text(&DoctorReport { model: None, ..report() });
        let (_, told) = told.split_once("\n\nModel\n").unwrap();
        let (told, _) = told.split_once("\n\n").unwrap();
        let words: Vec<&str> = told.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            "~ model haft agent, haft acp, haft plan make and haft do need a model: --model, HAFT_MODEL, or name in \
             [model] of haft.toml"
        );
    }

    #[test]
    fn only_a_long_name_is_shortened() {
        for name in ["~/a/1f.toml", "none"] {
            let files = FilesReport { project_rules: name.into(), ..report().files };
            let lines = super::files(&files, &|path| path.display().to_string());
            assert_eq!(lines.last(), Some(&labelled("", "project rules", name)));
        }
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
