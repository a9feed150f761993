//! Extraction of a page's text by haft and by trafilatura: the time, and the share of the found text that is content.
//! Content is what the file beside each page of the corpus says that it is, its heading among it, marked by hand.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::report::{BenchTarget, ReportSection, ReportTable, time_table};
use super::turns::{Entrant, interleave};
use crate::files;

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
    // These files say what the content of the page beside them is.
    let mut contents = files::list(&corpus)?;
    contents.retain(|path| path.extension().is_some_and(|end| end == "main"));
    let script = dir.join("extract.py");
    files::write(&script, SCRIPT)?;
    let other = bench.peers.test_python.as_ref().map(|python| {
        let mut command = Command::new(python);
        command.arg(script);
        command
    });
    for (name, program) in [(HAFT, Some(Command::new(&bench.peers.pages))), (OTHER, other)] {
        let Some(mut program) = program else {
            entrants.push(Entrant::absent(CASE, name, ABSENT));
            continue;
        };
        let out = dir.join(format!("{name}-texts"));
        files::create_dir(&out)?;
        program.arg(&corpus).arg(&out);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn().context("a reader of pages does not start")?;
        let (input, output) =
            child.stdin.take().zip(child.stdout.take()).context("it has no pipes")?;
        let mut reader = PageExtractor { child, input, output: BufReader::new(output) };
        // The texts are there when the first answer is.
        reader.ask()?;
        let (mut sums, mut pages) = ([0.0; 3], 0_u32);
        for content in &contents {
            let found = out.join(content.with_extension("html").file_name().unwrap_or_default());
            let found = words(&files::read(&found)?);
            let Score { f1, precision, recall } = compare(&words(&files::read(content)?), &found);
            sums = [sums[0] + f1, sums[1] + precision, sums[2] + recall];
            pages += 1;
        }
        let shares = sums.map(|sum| format!("{:.1} %", sum / f64::from(pages.max(1)) * PERCENT));
        table.row([name.to_owned()].into_iter().chain(shares));
        if notes.is_empty() {
            notes.push(format!("{pages} pages."));
        }
        entrants.push(Entrant::new(CASE, name, 1, move || Ok(reader.ask()? / pages)));
    }
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    for case in &cases {
        for name in [HAFT, OTHER] {
            let rate = case.median(name).map(|median| 1.0 / median.as_secs_f64());
            notes.extend(rate.map(|rate| format!("{name}: {rate:.0} pages a second.")));
        }
    }
    let targets = cases
        .iter()
        .map(|case| BenchTarget::ratio("reading pages", case, OTHER, RATIO_MAX))
        .collect();
    Ok(ReportSection {
        notes,
        targets,
        ..ReportSection::new("Reading pages", ABOUT, vec![time_table(&cases), table])
    })
}

/// A process that reads all pages whenever it is asked to.
struct PageExtractor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl PageExtractor {
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
