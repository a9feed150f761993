//! Ranks tools by how well their ids and descriptions fit a query, with BM25. The index holds the weights, so a query only
//! adds them. This module knows only texts. Callers choose the tools and decide what a match means.

#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use self::words::{WORD_CHARS_MIN, words};

/// Different words of a query that are looked up.
pub(crate) const QUERY_WORDS_MAX: usize = 32;
/// Longer words that a word of a query also stands for.
pub(crate) const LONGER_WORDS_MAX: usize = 64;
/// The weight of a word of the id, as a number of words of the description.
const ID_WEIGHT: u32 = 3;
/// The weight of a longer word that begins with a word of the query.
const LONGER_WEIGHT: f64 = 0.4;
/// Letters that are taken off the end of a word that is in no text, to find another form of it.
const ENDING_CHARS_MAX: usize = 3;
/// How quickly a word stops counting more the more often it comes.
const SATURATION: f64 = 1.2;
/// How much a long text counts against a tool, from 0 to 1. It is less than for prose, because the length of a server's
/// description says little about the tool.
const LENGTH_WEIGHT: f64 = 0.4;

/// An index to find tools by words. Making it takes about as long as reading the descriptions; a query takes far less.
///
/// ```
/// let index = haft::ToolRanking::new([
///     ("mail_send", "Send an e-mail"),
///     ("mail_search", "Search the mailbox"),
/// ]);
/// assert_eq!(index.best("sending mails", 10), [0, 1]);
/// ```
#[derive(Debug, Default)]
pub struct ToolRanking {
    /// For each word the tools that have it, by number, and what it counts for each.
    places: BTreeMap<String, Vec<(usize, f64)>>,
    /// The number of tools in the index.
    tools: usize,
}

/// The words of one tool.
struct IndexedToolText {
    /// How often each word comes, those of the id counted several times.
    counts: HashMap<String, u32>,
    /// The number of words in the texts of the tool.
    length: u32,
}

impl ToolRanking {
    /// Returns the index of these ids and descriptions.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts = tools.into_iter().map(|(id, about)| {
            let mut text = IndexedToolText { counts: HashMap::new(), length: 0 };
            for (part, weight) in [(id, ID_WEIGHT), (about, 1)] {
                for word in words(part) {
                    let count = text.counts.entry(word).or_insert(0);
                    *count = count.saturating_add(weight);
                    text.length = text.length.saturating_add(1);
                }
            }
            text
        });
        let texts: Vec<IndexedToolText> = texts.collect();
        let total: f64 = texts.iter().map(|text| f64::from(text.length)).sum();
        let length_usual = total / count_as_f64(texts.len()).max(1.0);
        let mut index = Self { places: BTreeMap::new(), tools: texts.len() };
        for (tool, text) in texts.into_iter().enumerate() {
            let of_length =
                1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * f64::from(text.length) / length_usual;
            for (word, count) in text.counts {
                let count = f64::from(count);
                let counts = count * (SATURATION + 1.0) / (count + SATURATION * of_length);
                index.places.entry(word).or_default().push((tool, counts));
            }
        }
        let tools = count_as_f64(index.tools);
        for places in index.places.values_mut() {
            let having = count_as_f64(places.len());
            // A word that every tool has still tells more than none.
            let rarity = (1.0 + (tools - having + 0.5) / (having + 0.5)).ln();
            places.iter_mut().for_each(|(_, counts)| *counts *= rarity);
        }
        index
    }

    /// Returns the positions of the tools that fit the query best, best first. Tools with equal scores keep their order.
    pub fn best(&self, query: &str, tools_max: usize) -> Vec<usize> {
        let mut scores = vec![0.0_f64; self.tools];
        let mut asked: Vec<String> = Vec::new();
        for word in words(query) {
            if asked.len() < QUERY_WORDS_MAX && !asked.contains(&word) {
                self.add(&word, &mut scores);
                asked.push(word);
            }
        }
        let mut fitting: Vec<(usize, f64)> =
            scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
        fitting.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        fitting.into_iter().take(tools_max).map(|(tool, _)| tool).collect()
    }

    /// Adds what a word of a query says for each tool.
    fn add(&self, word: &str, scores: &mut [f64]) {
        let exact = self.places.get(word);
        if word.chars().count() < WORD_CHARS_MIN {
            exact.into_iter().for_each(|places| add(places, 1.0, scores));
            return;
        }
        exact.into_iter().for_each(|places| add(places, 1.0 - LONGER_WEIGHT, scores));
        let mut beginning = self.beginning(word);
        if beginning.is_empty() {
            // Other forms of the word may share its beginning. The longest shared beginning counts.
            let ends = word.char_indices().rev().take(ENDING_CHARS_MAX);
            let starts = ends.filter_map(|(end, _)| word.get(..end));
            let mut shorter = starts
                .filter(|start| start.chars().count() > WORD_CHARS_MIN)
                .map(|start| self.beginning(start));
            beginning = shorter.find(|it| !it.is_empty()).unwrap_or_default();
        }
        for places in beginning {
            add(places, LONGER_WEIGHT, scores);
        }
    }

    /// Returns where the words are that begin with `start`.
    fn beginning(&self, start: &str) -> Vec<&Vec<(usize, f64)>> {
        let from = (Bound::Included(start), Bound::Unbounded);
        let words = self.places.range::<str, _>(from);
        let words = words.take_while(|(word, _)| word.starts_with(start));
        words.take(LONGER_WORDS_MAX).map(|(_, places)| places).collect()
    }
}

/// Adds the weighted frequencies of one word to the scores of the tools that contain it.
fn add(places: &[(usize, f64)], weight: f64, scores: &mut [f64]) {
    for (tool, counts) in places {
        if let Some(score) = scores.get_mut(*tool) {
            *score += counts * weight;
        }
    }
}

/// Returns a count as a float. Counts of tools are far below the numbers that a float holds exactly.
#[expect(clippy::cast_precision_loss, reason = "there are fewer tools than a float counts exactly")]
fn count_as_f64(count: usize) -> f64 {
    count as f64
}
