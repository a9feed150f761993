//! grep and glob beside the command `rg`, over a generated tree and over real sources. The results are compared
//! first: a search that finds less is not faster.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::calls::open;
use super::peers::{Peer, RG_ABSENT};
use super::report::{BenchTarget, ReportSection, time_table};
use super::server::{BenchCall, BenchServer, BenchTransport};
use super::tree;
use super::turns::{Case, CaseRow, Entrant, Figure, interleave};
use crate::markers::grouped;

const ROUNDS: usize = 20;
const RATIO_MAX: f64 = 1.0;
/// Most differences that are shown.
const EXAMPLES_MAX: usize = 3;

const RG: &str = "rg";
const RG_SPAWN: &str = "rg --version";

const ABOUT_GREP: &str = "\
One call of `grep` in a running server, beside the command `rg -n`, which must start first. The cost of its start is
the row `rg --version`. `haft call grep` must start too, and opens its journal. haft answers in the order of paths, and
keeps the whole answer in a file if it has more than 200 matches. `rg` writes in the order in which its threads find matches.";

const ABOUT_GLOB: &str = "\
One call of `glob` in a running server, beside the command `rg --files` for a file type with the same
pattern, because `rg -g` would list ignored files too. Everything else is as above. More than 1,000 paths go to a file.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchProgram {
    Grep,
    Glob,
}

/// A directory and what to look for in it: one pattern that matches little and one that matches much.
struct SearchPlace {
    name: &'static str,
    dir: PathBuf,
    grep: [&'static str; 2],
    glob: [&'static str; 2],
}

/// One search, by whomever.
struct SearchQuery<'a> {
    tool: SearchProgram,
    place: &'a SearchPlace,
    pattern: &'static str,
}

pub(super) fn measure_grep(bench: &Bench) -> anyhow::Result<ReportSection> {
    measure(bench, SearchProgram::Grep, ABOUT_GREP)
}

pub(super) fn measure_glob(bench: &Bench) -> anyhow::Result<ReportSection> {
    measure(bench, SearchProgram::Glob, ABOUT_GLOB)
}

fn measure(bench: &Bench, tool: SearchProgram, about: &str) -> anyhow::Result<ReportSection> {
    let (mut cases, mut notes, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    let places = [
        SearchPlace {
            name: "generated tree",
            dir: tree::generate(&bench.kept_dir)?,
            grep: [tree::FEW, tree::MANY],
            glob: ["window_1*.md", "*.rs"],
        },
        SearchPlace {
            name: "real sources",
            dir: tree::sources(&bench.root)?,
            grep: ["unsafe impl GlobalAlloc", r"#\[derive\("],
            glob: ["build.rs", "*.rs"],
        },
    ];
    for place in places {
        let extent = tree::extent(&place.dir)?;
        let (files, bytes) = (grouped(extent.files), grouped(extent.bytes / 1_000_000));
        notes.push(format!("{}: {files} files with {bytes} MB in all.", place.name));
        let patterns = match tool {
            SearchProgram::Grep => place.grep,
            SearchProgram::Glob => place.glob,
        };
        for pattern in patterns {
            let query = SearchQuery { tool, place: &place, pattern };
            let mut server = query.server(bench)?;
            let (_, result) = server.call(&query.call())?;
            let content = result.get("content").and_then(Value::as_array).context("no content")?;
            let field = |name: &str| content.iter().find_map(|part| part.get(name)?.as_str());
            // A file holds the whole answer if it was cut.
            let answer = match (field("uri"), field("text")) {
                (Some(uri), _) => server.read_resource(uri)?,
                (None, Some(text)) => text.to_owned(),
                (None, None) => bail!("an answer without text: {result}"),
            };
            // No other server runs while the clock does.
            drop(server);
            let ours = query.keys(&answer);
            ensure!(!ours.is_empty(), "haft finds nothing for {}", query.case());
            let comparison = match query.rg(bench) {
                Some(mut rg) => {
                    let output = rg.output().context("cannot start rg")?;
                    let theirs = query.keys(&String::from_utf8_lossy(&output.stdout));
                    difference(&place.dir, &ours, &theirs)
                }
                None => format!("haft finds {}.", grouped(ours.len())),
            };
            notes.push(format!("{}: {comparison}", query.case()));
            let [warm, cold] = query.time(bench)?;
            targets.push(BenchTarget::ratio(tool.name(), &warm, RG, RATIO_MAX));
            cases.extend([warm, cold]);
        }
    }
    Ok(ReportSection {
        notes,
        targets,
        ..ReportSection::new(
            &format!("{} over many files", tool.name()),
            about,
            vec![time_table(&cases)],
        )
    })
}

impl SearchProgram {
    fn name(self) -> &'static str {
        match self {
            Self::Grep => "grep",
            Self::Glob => "glob",
        }
    }
}

impl SearchQuery<'_> {
    fn case(&self) -> String {
        format!("`{}`, {}", self.pattern, self.place.name)
    }

    fn call(&self) -> BenchCall {
        BenchCall::new(self.tool.name(), json!({"pattern": self.pattern}))
    }

    fn server(&self, bench: &Bench) -> anyhow::Result<BenchServer> {
        let command = bench.peers.server(Peer::Haft, &self.place.dir);
        open(command.context("haft is not there")?, BenchTransport::Pipes)
    }

    fn rg(&self, bench: &Bench) -> Option<Command> {
        let mut rg = bench.peers.rg(&self.place.dir)?;
        match self.tool {
            SearchProgram::Grep => rg.args(["--no-heading", "--line-number", "-e", self.pattern]),
            // With `--glob` it would list ignored files too. A type of our own does not override ignore files.
            SearchProgram::Glob => {
                let wanted = format!("wanted:{}", self.pattern);
                rg.args(["--files", "--type-add", &wanted, "--type", "wanted"])
            }
        };
        Some(rg)
    }

    /// Returns what tells matches apart: the path, and for grep the line.
    fn keys(&self, text: &str) -> BTreeSet<String> {
        let key = |line: &str| match self.tool {
            SearchProgram::Grep => line.splitn(3, ':').take(2).collect::<Vec<_>>().join(":"),
            SearchProgram::Glob => line.to_owned(),
        };
        text.lines().map(key).collect()
    }

    /// Times the search in a server that runs, and in a separate process.
    fn time(&self, bench: &Bench) -> anyhow::Result<[Case; 2]> {
        let (warm, cold) = (self.case(), format!("{}, each a process", self.case()));
        let (mut server, call) = (self.server(bench)?, self.call());
        let mut entrants = vec![
            Entrant::new(&warm, Peer::Haft.name(), 1, move || Ok(server.call(&call)?.0)),
            Entrant::new(&cold, "haft call", 1, || {
                let BenchCall { tool, arguments, .. } = self.call();
                let mut haft = bench.peers.haft(&self.place.dir);
                haft.args(["call", tool]).arg(arguments.to_string());
                time_process(haft)
            }),
        ];
        match self.rg(bench) {
            Some(_) => {
                let absent = || anyhow::anyhow!(RG_ABSENT);
                entrants.push(Entrant::new(&warm, RG, 1, move || {
                    time_process(self.rg(bench).ok_or_else(absent)?)
                }));
                entrants.push(Entrant::new(&warm, RG_SPAWN, 1, move || {
                    let mut rg = bench.peers.rg(&self.place.dir).ok_or_else(absent)?;
                    rg.arg("--version");
                    time_process(rg)
                }));
            }
            None => entrants.push(Entrant::absent(&warm, RG, RG_ABSENT)),
        }
        let cases = interleave(entrants, bench.rounds(ROUNDS))?;
        let [mut warm, mut cold] = <[Case; 2]>::try_from(cases)
            .map_err(|cases| anyhow::anyhow!("expected two cases, found {}", cases.len()))?;
        // The same runs of rg are what both are compared with.
        cold.rows.extend(warm.rows.iter().find(|row| row.name == RG).cloned());
        if let Some((whole, spawn)) = warm.median(RG).zip(warm.median(RG_SPAWN)) {
            let figure = Figure::Computed(whole.saturating_sub(spawn));
            warm.rows.push(CaseRow { name: format!("{RG} less {RG_SPAWN}"), figure });
        }
        Ok([warm, cold])
    }
}

/// Runs a program to its end and reads what it prints.
fn time_process(mut command: Command) -> anyhow::Result<Duration> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let output = command.output()?;
    let elapsed = begin.elapsed();
    let program = command.get_program().display();
    ensure!(output.status.success(), "{program} failed ({})", output.status);
    ensure!(!output.stdout.is_empty(), "{program} printed nothing");
    Ok(elapsed)
}

/// Says what is in one set and not in the other.
fn difference(dir: &Path, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> String {
    if ours == theirs {
        return format!("both find the same {}.", grouped(ours.len()));
    }
    let only = |left: &BTreeSet<String>, right: &BTreeSet<String>| {
        let only: Vec<&String> = left.difference(right).collect();
        let path = |key: &str| dir.join(key.split(':').next().unwrap_or_default());
        let contents = only.iter().filter_map(|key| std::fs::read(path(key)).ok());
        let in_binary = contents.filter(|contents| contents.contains(&0)).count();
        let examples: Vec<String> =
            only.iter().take(EXAMPLES_MAX).map(|key| format!("`{key}`")).collect();
        let colon = if examples.is_empty() { "" } else { ": " };
        let examples = examples.join(", ");
        format!("{} alone, {in_binary} of them in binary files{colon}{examples}", only.len())
    };
    format!(
        "haft finds {} ({}); rg finds {} ({}).",
        grouped(ours.len()),
        only(ours, theirs),
        grouped(theirs.len()),
        only(theirs, ours)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_and_shown() {
        let set = |keys: &[&str]| keys.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let check = |ours: &[&str], theirs: &[&str], expect: &str| {
            assert_eq!(difference(Path::new("/nonexistent"), &set(ours), &set(theirs)), expect);
        };
        check(&["a:1", "b:2"], &["b:2", "a:1"], "both find the same 2.");
        check(
            &["a:1"],
            &["a:1", "b:1", "b:2", "b:3", "b:4"],
            "haft finds 1 (0 alone, 0 of them in binary files); \
             rg finds 5 (4 alone, 0 of them in binary files: `b:1`, `b:2`, `b:3`).",
        );
    }
}
