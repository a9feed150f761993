//! Measures finding tools: making the index of many, and asking it, beside reading every description for each query. It prints
//! one sample a line, `case<TAB>entrant<TAB>nanoseconds`, and judges nothing but that both find what a query names.
//!
//! Arguments: TOOLS (how many), ROUNDS.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use haft::ToolRanking;

type Failure = Box<dyn Error>;

const SERVERS: &[&str] = &[
    "github",
    "gitlab",
    "jira",
    "linear",
    "slack",
    "gmail",
    "calendar",
    "drive",
    "notion",
    "stripe",
    "postgres",
    "redis",
    "mongodb",
    "browser",
    "kubernetes",
    "docker",
    "sentry",
    "grafana",
    "maps",
    "weather",
];
const VERBS: &[&str] = &[
    "list", "get", "create", "update", "delete", "search", "export", "import", "archive",
    "restore", "share", "move", "copy", "rename", "approve", "reject", "schedule", "cancel",
    "retry", "download", "upload", "watch",
];
const NOUNS: &[&str] = &[
    "issue",
    "comment",
    "branch",
    "message",
    "channel",
    "event",
    "document",
    "page",
    "customer",
    "invoice",
    "payment",
    "table",
    "query",
    "index",
    "pod",
    "container",
    "dashboard",
    "alert",
    "place",
    "forecast",
    "attachment",
    "label",
    "project",
    "user",
    "team",
];
const FILLING: &[&str] = &[
    "of",
    "the",
    "workspace",
    "with",
    "its",
    "permissions",
    "and",
    "history",
    "as",
    "structured",
    "data",
    "filtered",
    "by",
    "owner",
    "status",
    "or",
    "date",
    "returns",
    "an",
    "identifier",
    "that",
    "later",
    "calls",
    "take",
];
/// Words of one description, as servers write them.
const WORDS: usize = 24;
const MATCHES_MAX: usize = 10;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, rounds] = arguments.as_slice() else { return Err("expected TOOLS ROUNDS".into()) };
    let (count, rounds): (usize, usize) = (count.parse()?, rounds.parse()?);
    let tools: Vec<(String, String)> = (0..count).map(tool).collect();
    let texts = || tools.iter().map(|(id, about)| (id.as_str(), about.as_str()));
    for _ in 0..rounds.div_ceil(20) {
        let started = Instant::now();
        black_box(ToolRanking::new(texts()));
        sample("an index is made", "haft", started);
    }
    let index = ToolRanking::new(texts());
    for round in 0..rounds {
        let meant = (round * 7_919) % count;
        let query = tools.get(meant).map(|(id, _)| id.replace('_', " ")).unwrap_or_default();
        let started = Instant::now();
        let found = black_box(index.best(&query, MATCHES_MAX));
        sample("a query", "haft", started);
        if !found.contains(&meant) {
            return Err(format!("{query:?} does not find {:?}", tools.get(meant)).into());
        }
        let started = Instant::now();
        black_box(scan(&tools, &query));
        sample("a query", "every description read", started);
    }
    Ok(())
}

fn sample(case: &str, entrant: &str, started: Instant) {
    println!("{case}\t{entrant}\t{}", started.elapsed().as_nanos());
}

/// Returns an id that no other tool has, and a description that shares most of its words with others.
fn tool(number: usize) -> (String, String) {
    let pick = |words: &'static [&'static str], by: usize| {
        words.get(by % words.len()).copied().unwrap_or_default()
    };
    let server = pick(SERVERS, number);
    let verb = pick(VERBS, number / SERVERS.len());
    let noun = pick(NOUNS, number / (SERVERS.len() * VERBS.len()));
    let filling: Vec<&str> = (0..WORDS).map(|word| pick(FILLING, number * 31 + word * 7)).collect();
    (
        format!("{server}_{verb}_{noun}_v{number}"),
        format!("{verb} a {noun} in {server}: {}", filling.join(" ")),
    )
}

/// Counts the words of a query in every tool, which is the least that a search without an index does.
fn scan(tools: &[(String, String)], query: &str) -> Vec<usize> {
    let wanted: Vec<String> = query.split(' ').map(str::to_lowercase).collect();
    let count = |text: &str| {
        let words = text.split(|it: char| !it.is_alphanumeric());
        words.filter(|word| wanted.iter().any(|wanted| word.eq_ignore_ascii_case(wanted))).count()
    };
    let mut found: Vec<(usize, usize)> = tools
        .iter()
        .enumerate()
        .map(|(tool, (id, about))| (3 * count(id) + count(about), tool))
        .filter(|(words, _)| *words > 0)
        .collect();
    found.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    found.into_iter().take(MATCHES_MAX).map(|(_, tool)| tool).collect()
}
