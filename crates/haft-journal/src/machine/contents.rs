//! The content store: texts that rows name by size and SHA-256. They belong to a run, and go with it or before.

use std::collections::HashMap;

use haft_contract::{ContentDigest, RunId};

use super::Stop;
use super::codec::integer;
use crate::MessagePart;
use crate::limits::PRUNE_CALLS_MAX;
use crate::store::{Column, Reader, RowCondition, RowNeed, RowQuery, Transaction, Value, contents};
use crate::stored_content::StoredContent;

/// Nothing is looked at but whether a text is there.
const HEAD: &[Column] = &[contents::BYTE_COUNT];

/// How far the texts of a run are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentRemoval {
    /// The store has further contents.
    Begun,
    /// The store has no further contents.
    Done,
}

impl ContentRemoval {
    /// Returns whether texts are left.
    pub(super) fn is_begun(self) -> bool {
        self == Self::Begun
    }
}

fn key(run: &RunId, digest: &ContentDigest) -> Vec<Value> {
    vec![run.as_str().into(), digest.sha256.as_str().into()]
}

/// Returns what is looked at before a text is inserted.
pub(super) fn need(run: &RunId, digest: &ContentDigest) -> RowNeed {
    RowNeed { table: &contents::TABLE, key: key(run, digest), columns: HEAD }
}

/// Inserts texts of a run. A text that is there already stays.
pub(super) fn insert(
    tx: &mut dyn Transaction,
    run: &RunId,
    texts: &[StoredContent],
) -> Result<(), Stop> {
    for StoredContent { digest, text } in texts {
        let cells = [
            (contents::RUN, run.as_str().into()),
            (contents::SHA256, digest.sha256.as_str().into()),
            (contents::BYTE_COUNT, integer(digest.bytes)?),
            (contents::CONTENT, text.as_str().into()),
        ];
        tx.insert(&contents::TABLE, &cells)?;
    }
    Ok(())
}

/// Returns a text of a run.
pub(super) fn content(
    reader: &mut dyn Reader,
    run: &RunId,
    digest: &ContentDigest,
) -> Result<Option<String>, Stop> {
    let found = reader.get(&contents::TABLE, &key(run, digest), &[contents::CONTENT])?;
    Ok(found.map(|mut row| row.text(contents::CONTENT)).transpose()?)
}

/// Puts the texts of parts back in the place of their digests. A digest whose text is not there stays.
pub(super) fn restore_texts(
    reader: &mut dyn Reader,
    run: &RunId,
    parts: &mut [MessagePart],
) -> Result<(), Stop> {
    let texts = parts.iter().flat_map(|part| [&part.input_json, &part.output_json]).flatten();
    let wanted: Vec<Value> = texts
        .filter_map(|text| ContentDigest::parse(text))
        .map(|digest| digest.sha256.into())
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let query = RowQuery::of(&contents::TABLE, &[contents::SHA256, contents::CONTENT]).with([
        RowCondition::Equal(contents::RUN, run.as_str().into()),
        RowCondition::OneOf(contents::SHA256, wanted),
    ]);
    let mut found = HashMap::new();
    for mut row in reader.select(&query)? {
        found.insert(row.text(contents::SHA256)?, row.text(contents::CONTENT)?);
    }
    for part in parts {
        for text in [&mut part.input_json, &mut part.output_json].into_iter().flatten() {
            let Some(digest) = ContentDigest::parse(text) else { continue };
            part.lies_apart = true;
            if let Some(content) = found.get(&digest.sha256) {
                text.clone_from(content);
            }
        }
    }
    Ok(())
}

/// Removes texts of a run, as many as one commit should.
pub(super) fn remove_part(tx: &mut dyn Transaction, run: &RunId) -> Result<ContentRemoval, Stop> {
    let of_run = [RowCondition::Equal(contents::RUN, run.as_str().into())];
    let removed = tx.delete(&contents::TABLE, &of_run, PRUNE_CALLS_MAX)?;
    let is_full = removed == u64::from(PRUNE_CALLS_MAX);
    Ok(if is_full { ContentRemoval::Begun } else { ContentRemoval::Done })
}

/// Removes one text of a run.
pub(super) fn remove(
    tx: &mut dyn Transaction,
    run: &RunId,
    digest: &ContentDigest,
) -> Result<(), Stop> {
    let conditions = [
        RowCondition::Equal(contents::RUN, run.as_str().into()),
        RowCondition::Equal(contents::SHA256, digest.sha256.as_str().into()),
    ];
    tx.delete(&contents::TABLE, &conditions, 1)?;
    Ok(())
}

/// Returns how much each run has.
pub(super) fn bytes_by_run(reader: &mut dyn Reader) -> Result<HashMap<String, u64>, Stop> {
    let query = RowQuery::of(&contents::TABLE, &[contents::RUN, contents::BYTE_COUNT]);
    let mut bytes = HashMap::new();
    for mut row in reader.select(&query)? {
        let count: u64 = row.number(contents::BYTE_COUNT)?;
        *bytes.entry(row.text(contents::RUN)?).or_default() += count;
    }
    Ok(bytes)
}
