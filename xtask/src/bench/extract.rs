//! Extraction of a page's text by haft and by trafilatura: the time, and the share of the found text that is content.
//! Content is what the file beside each page of the corpus says that it is, its heading among it, marked by hand.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::report::{BenchTarget, ReportSection, ReportTable, time_table};
use super::turns::{Case, Entrant, interleave};

const ROUNDS: usize = 50;
const CASE: &str = "one page, on average";
const HAFT: &str = "haft";
const OTHER: &str = "trafilatura";
const ABSENT: &str = "not installed: `cargo xtask setup`";
const SCRIPT: &str = include_str!("extract.py");
const CORPUS: &str = "crates/haft-reader/tests/fixtures/corpus";
/// The share of the other program's time that haft may take.
const RATIO_MAX: f64 = 1.0;
const PERCENT: f64 = 100.0;

const ABOUT: &str = "\
The HTML pages of the corpus, from bytes to Markdown with links, by the engine of `web_fetch` and by trafilatura. Each runs warm in a separate process,
and neither receives a character set. The words found are compared with the words of the content, which was marked by hand. Precision is the share of
content in the words found, and recall is the share of the content that was found. F1 is their harmonic mean. Each is the average of the pages. The pages were written for
this test in the manner of real ones. Ten character sets, a page of tables, a front page and broken markup are among them, for which trafilatura was
not primarily made.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let corpus = bench.root.join(CORPUS);
    let dir = bench.make_dir("extract")?;
    let mut table = ReportTable::new(&["", "F1", "precision", "recall"]);
    let mut notes = Vec::new();
    let mut entrants = Vec::new();
    for (name, program) in programs(bench, &dir)? {
        let Some(mut program) = program else {
            entrants.push(Entrant::absent(CASE, name, ABSENT));
            continue;
        };
        let out = dir.join(format!("{name}-texts"));
        fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
        let mut reader = PageExtractor::start(program.arg(&corpus).arg(&out))?;
        // The texts are there when the first answer is.
        reader.ask()?;
        let (score, pages) = score_of(&corpus, &out)?;
        let percent = |part: f64| format!("{:.1} %", part * PERCENT);
        table.row([
            name.to_owned(),
            percent(score.f1),
            percent(score.precision),
            percent(score.recall),
        ]);
        if notes.is_empty() {
            notes.push(format!("{pages} pages."));
        }
        let pages = u32::try_from(pages)?;
        entrants.push(Entrant::new(CASE, name, 1, move || Ok(reader.ask()? / pages)));
    }
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    notes.extend(cases.iter().flat_map(rates));
    let targets = cases
        .iter()
        .map(|case| BenchTarget::ratio("reading pages", case, OTHER, RATIO_MAX))
        .collect();
    Ok(ReportSection {
        title: "Reading pages".to_owned(),
        about: ABOUT.to_owned(),
        tables: vec![time_table(&cases), table],
        notes,
        targets,
    })
}

fn programs(bench: &Bench, dir: &Path) -> anyhow::Result<[(&'static str, Option<Command>); 2]> {
    let script = dir.join("extract.py");
    fs::write(&script, SCRIPT).with_context(|| format!("cannot write {}", script.display()))?;
    let other = bench.peers.test_python().map(|python| {
        let mut command = Command::new(python);
        command.arg(script);
        command
    });
    Ok([(HAFT, Some(Command::new(bench.peers.pages_program()))), (OTHER, other)])
}

/// Says how many pages each reads in a second.
fn rates(case: &Case) -> Vec<String> {
    let rate = |name: &str| {
        let median = case.median(name)?;
        Some(format!("{name}: {:.0} pages a second.", 1.0 / median.as_secs_f64()))
    };
    [HAFT, OTHER].into_iter().filter_map(rate).collect()
}

/// A process that reads all pages whenever it is asked to.
struct PageExtractor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl PageExtractor {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("a reader of pages does not start")?;
        let (input, output) =
            child.stdin.take().zip(child.stdout.take()).context("it has no pipes")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn ask(&mut self) -> anyhow::Result<Duration> {
        self.input.write_all(b"\n")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let nanoseconds = line.trim().parse();
        Ok(Duration::from_nanos(nanoseconds.context("a reader of pages gave up")?))
    }
}

impl Drop for PageExtractor {
    fn drop(&mut self) {
        // It may have ended already, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How what was found compares with what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Score {
    f1: f64,
    precision: f64,
    recall: f64,
}

/// Returns the average of all pages, and how many there are.
fn score_of(corpus: &Path, out: &Path) -> anyhow::Result<(Score, usize)> {
    let mut sum = Score::default();
    let mut pages = 0_u32;
    for content in contents(corpus)? {
        let found = out.join(content.with_extension("html").file_name().unwrap_or_default());
        let text = |path: &Path| {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let score = compare(&words(&text(&content)?), &words(&text(&found)?));
        sum.f1 += score.f1;
        sum.precision += score.precision;
        sum.recall += score.recall;
        pages += 1;
    }
    let count = f64::from(pages.max(1));
    let average =
        Score { f1: sum.f1 / count, precision: sum.precision / count, recall: sum.recall / count };
    Ok((average, usize::try_from(pages)?))
}

/// Returns the files that say what the content of the page beside them is.
fn contents(corpus: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(corpus).with_context(|| format!("cannot list {}", corpus.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "main")).collect())
}

/// Counts words; of scripts without spaces each character is one. Addresses of links are none.
fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let parts = text.split("](").enumerate().map(|(index, part)| match index {
        0 => part,
        _ => part.split_once(')').map_or("", |(_, after)| after),
    });
    for part in parts {
        let is_wide = |character: char| character >= '\u{2e80}';
        for word in part.split(|character: char| !character.is_alphanumeric() || is_wide(character))
        {
            if !word.is_empty() {
                *counts.entry(word.to_lowercase()).or_default() += 1;
            }
        }
        for character in
            part.chars().filter(|character| is_wide(*character) && character.is_alphanumeric())
        {
            *counts.entry(character.to_string()).or_default() += 1;
        }
    }
    counts
}

fn compare(content: &HashMap<String, usize>, found: &HashMap<String, usize>) -> Score {
    let total = |words: &HashMap<String, usize>| words.values().sum::<usize>();
    let shared: usize =
        content.iter().map(|(word, count)| *count.min(found.get(word).unwrap_or(&0))).sum();
    if shared == 0 {
        return Score::default();
    }
    #[expect(clippy::cast_precision_loss, reason = "words of a page fit a float exactly")]
    let part = |of: usize| shared as f64 / of as f64;
    let (precision, recall) = (part(total(found)), part(total(content)));
    Score { f1: 2.0 * precision * recall / (precision + recall), precision, recall }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_by_how_often_they_are_there() {
        let content = words("a b b c");
        assert_eq!(
            compare(&content, &words("A, *b* b c")),
            Score { f1: 1.0, precision: 1.0, recall: 1.0 }
        );
        assert_eq!(compare(&content, &words("b")), Score { f1: 0.4, precision: 1.0, recall: 0.25 });
        assert_eq!(compare(&content, &words("x")), Score::default());
        assert_eq!(words("[go](https://a.example/b) on"), words("go on"));
        assert_eq!(words("山中a茶").len(), 4);
    }
}
