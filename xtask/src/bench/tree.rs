//! The trees that are searched: one that is generated, the same each time, and the sources of haft's own dependencies as
//! Cargo keeps them. The generated one has what real ones have: directories in directories, ignored files, binary
//! files, many small files and a few large ones.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::files;
use crate::process::{capture, cargo};

/// Matches in about twenty files of the generated tree.
pub(super) const FEW: &str = "unobtainium";
/// Matches in nearly every file of the generated tree.
pub(super) const MANY: &str = r"fn \w+_handler\(";
/// The directory of the generated tree.
pub(super) const NAME: &str = "tree";

pub(super) const FILES: usize = 20_000;
const DIRECTORIES: usize = 1_600;
const DEPTH_MAX: usize = 8;
/// To be raised whenever the generator makes another tree.
const VERSION: u32 = 1;
const SEED: u64 = 0x6861_6674;

const WORDS: &[&str] = &[
    "account", "buffer", "cache", "channel", "client", "cursor", "decode", "driver", "encode",
    "entry", "filter", "frame", "handle", "header", "index", "input", "journal", "layout",
    "ledger", "lookup", "merge", "message", "mirror", "module", "number", "object", "offset",
    "output", "packet", "parser", "policy", "prefix", "queue", "reader", "record", "region",
    "render", "result", "schema", "section", "signal", "source", "stream", "string", "symbol",
    "target", "thread", "ticket", "token", "update", "vector", "window", "worker", "writer",
];

/// Extensions by how often they occur in a hundred.
const EXTENSIONS: &[(u64, &str)] =
    &[(40, "rs"), (20, "ts"), (15, "py"), (10, "md"), (8, "json"), (4, "log"), (3, "png")];
const ANY_EXTENSION: &str = "txt";

/// Sizes of text files in bytes by how often they occur in a hundred; about 2,000 on average.
const SIZES: &[(u64, std::ops::Range<u64>)] =
    &[(40, 200..1_000), (40, 1_000..2_500), (17, 2_500..6_000)];
const LARGE_SIZES: std::ops::Range<u64> = 6_000..20_000;

/// The known facts about a tree before the search.
pub(super) struct SourceTreeSize {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// Makes sure that the tree is there, as `tree` below `parent`, and returns where.
pub(super) fn generate(parent: &Path) -> anyhow::Result<PathBuf> {
    let (tree, stamp_path) = (parent.join(NAME), parent.join("tree.stamp"));
    let stamp = format!("version {VERSION}, seed {SEED}, {FILES} files\n");
    if std::fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp) {
        return Ok(tree);
    }
    eprintln!("generating {FILES} files");
    files::remove_dir(&tree)?;
    let mut random = TreeRandom(SEED);
    // Without a repository around them, `.gitignore` files do not count.
    files::create_dir(&tree.join(".git"))?;
    files::write(&tree.join(".gitignore"), "*.log\nbuild/\n")?;
    let directories = directories(&tree, &mut random);
    for directory in &directories {
        files::create_dir(directory)?;
        // Directories of their own rules are where searches spend their time.
        if random.one_in(40) {
            let rules = "generated_*\n!generated_keep.*\n";
            files::write(&directory.join(".gitignore"), rules)?;
        }
    }
    for number in 0..FILES {
        let directory = random.choose(&directories).unwrap_or(&tree);
        let prefix = if random.one_in(50) { "generated" } else { random.word() };
        let extension = random.weighted(EXTENSIONS).copied().unwrap_or(ANY_EXTENSION);
        let contents = match extension {
            "png" => random.binary(),
            _ => random.text().into_bytes(),
        };
        files::write(&directory.join(format!("{prefix}_{number}.{extension}")), contents)?;
    }
    files::write(&stamp_path, stamp)?;
    Ok(tree)
}

/// Returns the directory that holds the sources of most packages that haft is built from.
pub(super) fn sources(root: &Path) -> anyhow::Result<PathBuf> {
    let mut metadata = cargo();
    metadata.current_dir(root).args(["metadata", "--format-version=1", "--locked", "--quiet"]);
    let metadata: Value = serde_json::from_str(&capture(&mut metadata)?)
        .context("`cargo metadata` printed something else than JSON")?;
    parent_of_most(&metadata).context("`cargo metadata` names no package of a registry")
}

fn parent_of_most(metadata: &Value) -> Option<PathBuf> {
    let packages = metadata.get("packages")?.as_array()?;
    let mut counts: HashMap<&Path, usize> = HashMap::new();
    for package in packages.iter().filter(|package| package["source"].is_string()) {
        let manifest = package.get("manifest_path").and_then(Value::as_str).map(Path::new);
        if let Some(parent) = manifest.and_then(|path| path.parent()?.parent()) {
            *counts.entry(parent).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(parent, _)| parent.to_owned())
}

/// Counts what is in a directory and below.
pub(super) fn extent(dir: &Path) -> anyhow::Result<SourceTreeSize> {
    let mut extent = SourceTreeSize { files: 0, bytes: 0 };
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for path in files::list(&dir)? {
            let metadata = path.symlink_metadata()?;
            if metadata.is_dir() {
                waiting.push(path);
            } else if metadata.is_file() {
                extent.files += 1;
                extent.bytes += metadata.len();
            }
        }
    }
    ensure!(extent.files > 0, "there is nothing in {}", dir.display());
    Ok(extent)
}

/// Returns directories, each below one of those before it.
fn directories(tree: &Path, random: &mut TreeRandom) -> Vec<PathBuf> {
    let mut directories = vec![(tree.to_owned(), 0)];
    while directories.len() < DIRECTORIES {
        let Some((parent, depth)) = random.choose(&directories).cloned() else { break };
        if depth == DEPTH_MAX {
            continue;
        }
        let name = match random.one_in(100) {
            true => "build".to_owned(),
            false => format!("{}-{}", random.word(), directories.len()),
        };
        directories.push((parent.join(name), depth + 1));
    }
    directories.into_iter().map(|(directory, _)| directory).collect()
}

/// SplitMix64: the same numbers on every machine, and good enough to make a tree of.
struct TreeRandom(u64);

impl TreeRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn choose<'s, T>(&mut self, items: &'s [T]) -> Option<&'s T> {
        let index = usize::try_from(self.below(items.len().try_into().ok()?)).ok()?;
        items.get(index)
    }

    /// Returns an item by how often in a hundred it is to come, or nothing for what remains of the hundred.
    fn weighted<'s, T>(&mut self, items: &'s [(u64, T)]) -> Option<&'s T> {
        let mut rest = self.below(100);
        for (weight, item) in items {
            if rest < *weight {
                return Some(item);
            }
            rest -= weight;
        }
        None
    }

    fn word(&mut self) -> &'static str {
        self.choose(WORDS).copied().unwrap_or_default()
    }

    fn text(&mut self) -> String {
        let sizes = self.weighted(SIZES).unwrap_or(&LARGE_SIZES).clone();
        let size = sizes.start + self.below(sizes.end - sizes.start);
        let mut text = String::new();
        while (text.len() as u64) < size {
            let (indent, line) = (4 * self.below(4), self.line());
            for _ in 0..indent {
                text.push(' ');
            }
            text.push_str(&line);
            text.push('\n');
        }
        if self.one_in(1_000) {
            let _ = writeln!(text, "// {} of {FEW}", self.word());
        }
        text
    }

    fn line(&mut self) -> String {
        let (first, second, third) = (self.word(), self.word(), self.word());
        match self.below(12) {
            0 => String::new(),
            1 => format!("pub fn {first}_handler({second}: &{third}) -> bool {{"),
            2 => format!("// The {first} of a {second} is not the {third} that was meant before."),
            3 => format!("if {first}.{second}() != {third}.len() {{ return Err({first}); }}"),
            4 => format!("let {first} = {second}.iter().map(|{third}| {third}.{first});"),
            5 => format!("import {{ {first}, {second} }} from './{third}';"),
            6 => "}".to_owned(),
            7 => format!("    {first} += {second} * {};", self.below(10_000)),
            8 => format!("\"{first}\": [\"{second}\", {}, null],", self.below(100)),
            9 => format!("self.{first}.{second}({third}, {});", self.below(100)),
            10 => format!("for {first} in {second} {{ {third}.push({first}.clone()); }}"),
            _ => format!("return {first}({second}, {third});"),
        }
    }

    fn binary(&mut self) -> Vec<u8> {
        let words = 100 + self.below(800);
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0".to_vec();
        for _ in 0..words {
            bytes.extend(self.next().to_le_bytes());
        }
        // Text in a binary file is no match.
        bytes.extend(FEW.as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_generator_makes_the_same_each_time() {
        let sample = || {
            let mut random = TreeRandom(SEED);
            (random.text(), random.binary(), directories(Path::new("tree"), &mut random))
        };
        assert_eq!(sample(), sample());
        let (text, binary, directories) = sample();
        assert!(text.len() >= 200 && binary.contains(&0));
        assert_eq!(directories.len(), DIRECTORIES);
        let depth = directories.iter().map(|path| path.components().count()).max();
        assert_eq!(depth, Some(DEPTH_MAX + 1), "the tree is as deep as it may be");
    }

    #[test]
    fn texts_have_about_two_thousand_bytes_and_what_is_searched_for() {
        let mut random = TreeRandom(SEED);
        let texts: Vec<String> = (0..2_000).map(|_| random.text()).collect();
        let average = texts.iter().map(String::len).sum::<usize>() / texts.len();
        assert!((1_700..2_300).contains(&average), "{average}");
        let having = |needle: &str| texts.iter().filter(|text| text.contains(needle)).count();
        assert!((1..20).contains(&having(FEW)));
        assert!(having("_handler(") > 1_500);
    }

    #[test]
    fn sources_are_where_most_packages_are() {
        let package = |source: Value, path: &str| json!({"source": source, "manifest_path": path});
        let metadata = json!({"packages": [
            package(json!(null), "/work/crates/haft/Cargo.toml"),
            package(json!(null), "/work/crates/haft-cli/Cargo.toml"),
            package(json!("registry+x"), "/registry/src/one/serde-1.0.0/Cargo.toml"),
            package(json!("git+x"), "/git/some/Cargo.toml"),
            package(json!("registry+x"), "/registry/src/one/toml-1.0.0/Cargo.toml"),
        ]});
        assert_eq!(parent_of_most(&metadata), Some(PathBuf::from("/registry/src/one")));
        assert_eq!(parent_of_most(&json!({"packages": []})), None);
    }
}
