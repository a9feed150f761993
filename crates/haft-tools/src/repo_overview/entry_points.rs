//! Where a repository begins: programs, scripts, build targets and documents, as its own manifests name them. A manifest that
//! cannot be read is still named; nothing is looked for beyond what such files say.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// Entry points that are listed.
pub(crate) const ENTRY_POINTS_MAX: usize = 60;
/// What one entry point provides, as far as it is listed.
pub(crate) const PROVIDED_MAX: usize = 40;
/// Longest name of something that is provided, in characters.
pub(crate) const PROVIDED_CHARS_MAX: usize = 160;
/// How deep they are looked for, in directories.
pub(crate) const DEPTH_MAX: usize = 4;

/// A file that something begins with.
#[derive(Debug, Serialize)]
pub(super) struct EntryPoint {
    path: String,
    kind: &'static str,
    /// What it provides: programs, scripts, targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    provides: Vec<String>,
    #[serde(skip)]
    depth: usize,
}

/// Entry points as they are found.
#[derive(Debug, Default)]
pub(super) struct EntryPoints {
    found: Vec<EntryPoint>,
}

impl EntryPoints {
    /// Returns whether a file may be one.
    pub(super) fn is_candidate(path: &Path, name: &str) -> bool {
        path.components().count() <= DEPTH_MAX && kind_of(name).is_some()
    }

    /// Takes note of a file that is wanted.
    pub(super) fn add_file(&mut self, path: &Path, display: &str, text: &str) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(kind) = kind_of(&name) else { return };
        let provides = match kind {
            "cargo" => of_cargo(text),
            "npm" => of_npm(text),
            "python" if name == "pyproject.toml" => of_pyproject(text),
            "go" if name == "go.mod" => of_go_mod(text),
            "go" if !text.contains("func main(") => return,
            "rust" if !text.contains("fn main(") => return,
            "make" => of_make(text),
            _ => Vec::new(),
        };
        let cut = |text: String| text.chars().take(PROVIDED_CHARS_MAX).collect();
        let provides = provides.into_iter().take(PROVIDED_MAX).map(cut).collect();
        let depth = path.components().count();
        self.found.push(EntryPoint { path: display.to_owned(), kind, provides, depth });
    }

    /// Returns those closest to the top, these first.
    pub(super) fn finish(mut self) -> Vec<EntryPoint> {
        self.found.sort_by(|one, other| (one.depth, &one.path).cmp(&(other.depth, &other.path)));
        self.found.truncate(ENTRY_POINTS_MAX);
        self.found
    }
}

fn kind_of(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "cargo.toml" => "cargo",
        "package.json" => "npm",
        "pyproject.toml" | "setup.py" | "setup.cfg" | "manage.py" | "__main__.py" => "python",
        "go.mod" | "main.go" => "go",
        "main.rs" => "rust",
        "makefile" | "gnumakefile" => "make",
        "dockerfile"
        | "containerfile"
        | "compose.yaml"
        | "compose.yml"
        | "docker-compose.yaml"
        | "docker-compose.yml" => "container",
        "justfile" | "cmakelists.txt" | "meson.build" | "build.gradle" | "build.gradle.kts"
        | "pom.xml" | "build.zig" | "rakefile" | "flake.nix" => "build",
        "agents.md" | "claude.md" | "contributing.md" | "architecture.md" => "document",
        _ if lower == "readme" || lower.starts_with("readme.") => "document",
        _ => return None,
    })
}

/// Returns the packages and programs of a Cargo manifest.
fn of_cargo(text: &str) -> Vec<String> {
    let Some(manifest) = toml(text) else { return Vec::new() };
    let name = text_at(&manifest, &["package", "name"]);
    let mut provides: Vec<String> = name.iter().map(|name| format!("package {name}")).collect();
    let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let programs =
        programs.filter_map(|bin| Some(format!("binary {}", bin.get("name")?.as_str()?)));
    provides.extend(programs);
    provides
        .extend(texts_at(&manifest, &["workspace", "members"]).map(|it| format!("member {it}")));
    provides
}

/// Returns the name, the files and the scripts of an npm manifest.
fn of_npm(text: &str) -> Vec<String> {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let plain = ["name", "main", "module"];
    let plain =
        plain.iter().filter_map(|key| Some(format!("{key} {}", manifest.get(key)?.as_str()?)));
    let mut provides: Vec<String> = plain.collect();
    match manifest.get("bin") {
        Some(Value::String(file)) => provides.push(format!("binary {file}")),
        Some(Value::Object(files)) => {
            provides.extend(files.keys().map(|name| format!("binary {name}")));
        }
        Some(_) | None => {}
    }
    provides.extend(keys_at(&manifest, &["scripts"]).map(|name| format!("script {name}")));
    provides
}

/// Returns the name and the programs of a Python project.
fn of_pyproject(text: &str) -> Vec<String> {
    let Some(manifest) = toml(text) else { return Vec::new() };
    let names = [["project", "name"].as_slice(), &["tool", "poetry", "name"]];
    let name = names.iter().find_map(|path| text_at(&manifest, path));
    let mut provides: Vec<String> = name.iter().map(|name| format!("package {name}")).collect();
    let tables = [
        ["project", "scripts"].as_slice(),
        &["project", "gui-scripts"],
        &["tool", "poetry", "scripts"],
    ];
    for table in tables {
        provides.extend(keys_at(&manifest, table).map(|name| format!("binary {name}")));
    }
    provides
}

fn of_go_mod(text: &str) -> Vec<String> {
    let module = text.lines().find_map(|line| line.strip_prefix("module "));
    module.map(|name| format!("module {}", name.trim())).into_iter().collect()
}

/// Returns the targets of a makefile that are plain names.
fn of_make(text: &str) -> Vec<String> {
    let is_plain = |name: &&str| {
        let plain = |it: char| it.is_ascii_alphanumeric() || "_-/.".contains(it);
        !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
    };
    let rules = text.lines().filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        (!rest.starts_with('=') && !line.starts_with(['\t', ' ', '#'])).then_some(names)
    });
    let mut targets: Vec<String> = Vec::new();
    for name in rules.flat_map(str::split_whitespace).filter(is_plain) {
        let target = format!("target {name}");
        if !targets.contains(&target) && targets.len() < PROVIDED_MAX {
            targets.push(target);
        }
    }
    targets
}

fn toml(text: &str) -> Option<Value> {
    toml::from_str(text).ok()
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

fn texts_at<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a str> {
    at(value, path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn keys_at<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a String> {
    at(value, path).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys)
}
