//! Finds the entry points of a repository: programs, scripts, build targets and documents, as its manifests name them. A
//! manifest that cannot be read is still listed. Other files are not searched.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// Entry points that are listed.
pub(crate) const ENTRY_POINTS_MAX: usize = 60;
/// Provided things that are listed of one entry point.
pub(crate) const PROVIDED_MAX: usize = 40;
/// Longest name of something that is provided, in characters.
pub(crate) const PROVIDED_CHARS_MAX: usize = 160;
/// Depth of the search for entry points, in directories.
pub(crate) const DEPTH_MAX: usize = 4;

/// A file that something begins with.
#[derive(Debug, Serialize)]
pub(super) struct EntryPoint {
    path: String,
    kind: &'static str,
    /// The programs, scripts or targets that it provides.
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

    /// Adds a candidate.
    pub(super) fn add_file(&mut self, path: &Path, display: &str, text: &str) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(kind) = kind_of(&name) else { return };
        let mut provides: Vec<String> = Vec::new();
        match kind {
            "cargo" => {
                let manifest: Value = toml::from_str(text).unwrap_or_default();
                let name = at(&manifest, &["package", "name"]).and_then(Value::as_str);
                provides.extend(name.map(|name| format!("package {name}")));
                let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
                let names = programs.filter_map(|bin| bin.get("name")?.as_str());
                provides.extend(names.map(|name| format!("binary {name}")));
                let members = at(&manifest, &["workspace", "members"]).and_then(Value::as_array);
                let members = members.into_iter().flatten().filter_map(Value::as_str);
                provides.extend(members.map(|member| format!("member {member}")));
            }
            "npm" => {
                let manifest: Value = serde_json::from_str(text).unwrap_or_default();
                for key in ["name", "main", "module"] {
                    let value = manifest.get(key).and_then(Value::as_str);
                    provides.extend(value.map(|value| format!("{key} {value}")));
                }
                match manifest.get("bin") {
                    Some(Value::String(file)) => provides.push(format!("binary {file}")),
                    Some(Value::Object(files)) => {
                        provides.extend(files.keys().map(|name| format!("binary {name}")));
                    }
                    Some(_) | None => {}
                }
                provides
                    .extend(keys_at(&manifest, &["scripts"]).map(|name| format!("script {name}")));
            }
            "python" if name == "pyproject.toml" => {
                let manifest: Value = toml::from_str(text).unwrap_or_default();
                let names = [["project", "name"].as_slice(), &["tool", "poetry", "name"]];
                let mut names = names.iter().filter_map(|path| at(&manifest, path)?.as_str());
                provides.extend(names.next().map(|name| format!("package {name}")));
                for table in [
                    ["project", "scripts"].as_slice(),
                    &["project", "gui-scripts"],
                    &["tool", "poetry", "scripts"],
                ] {
                    provides.extend(keys_at(&manifest, table).map(|name| format!("binary {name}")));
                }
            }
            "go" if name == "go.mod" => {
                let module = text.lines().find_map(|line| line.strip_prefix("module "));
                provides.extend(module.map(|name| format!("module {}", name.trim())));
            }
            "go" if !text.contains("func main(") => return,
            "rust" if !text.contains("fn main(") => return,
            // The targets of a makefile that are plain names.
            "make" => {
                let rules = text.lines().filter_map(|line| {
                    let (names, rest) = line.split_once(':')?;
                    (!rest.starts_with('=') && !line.starts_with(['\t', ' ', '#'])).then_some(names)
                });
                let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-/.".contains(it);
                for name in rules.flat_map(str::split_whitespace) {
                    let target = format!("target {name}");
                    if !name.starts_with('.')
                        && name.chars().all(is_plain)
                        && !provides.contains(&target)
                        && provides.len() < PROVIDED_MAX
                    {
                        provides.push(target);
                    }
                }
            }
            _ => {}
        }
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

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn keys_at<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a String> {
    at(value, path).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys)
}
