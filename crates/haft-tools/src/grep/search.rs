//! The search: walks, shares the files out among threads, and puts what they found in order. The answer depends on
//! neither the number of threads nor their speed. It is deliberately not a tool, so that every profile's grep can
//! stand on it.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use haft_contract::limits::SEARCH_SIDECAR_BYTES_MAX;
use haft_contract::{Cx, ErrorCode, FilePath, FsEntryKind, ToolError};

use super::lines::{FileMatches, GROUP_SEPARATOR, MatchCollector};
use super::pattern::compile;
use crate::text_file::missing_file_error;
use crate::walk::{DirectoryWalk, EntrySelector, WalkGlob, WalkListing, skipped_note};

/// Context lines of `grep` on each side of a match.
///
/// Limit (files): the input is refused.
pub(crate) const CONTEXT_LINES_MAX: u32 = 50;
/// Largest file that is read as a whole before it is searched, in bytes; larger ones pass through a buffer.
pub(crate) const WHOLE_FILE_BYTES_MAX: usize = 1024 * 1024;
/// Longest line of a file that `grep` searches, in bytes.
///
/// Limit (files): the file is not searched.
pub(crate) const LINE_BUFFER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files that a thread claims at a time.
pub(crate) const CHUNK_FILES: usize = 16;

/// The pattern of a search, and the files to search.
#[derive(Clone, Debug)]
pub(crate) struct GrepQuery {
    /// A Rust regex.
    pub(crate) pattern: String,
    /// A file, or the directory to search.
    pub(crate) path: String,
    /// Which files below the directory to search.
    pub(crate) glob: Option<String>,
    /// Whether letters match whatever their case.
    pub(crate) ignore_case: bool,
    /// Lines to show on either side of a match.
    pub(crate) context_lines: u32,
    /// How many threads share the work.
    pub(crate) threads: NonZeroUsize,
}

/// The matches of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GrepMatches {
    /// One per match, ordered by path, then line; each holds the match's context lines too.
    pub(crate) entries: Vec<String>,
    /// Whether the search stopped before its end.
    pub(crate) incomplete: bool,
    /// The files that were searched.
    pub(crate) searched: SearchedFiles,
}

/// How many files a search looked at, and how many it passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchedFiles {
    /// The files that were searched.
    pub(crate) text: usize,
    /// The files that turned out to be binary.
    pub(crate) binary: usize,
    /// The files that could not be read.
    pub(crate) unreadable: usize,
    /// The files and directories that are hidden or ignored.
    pub(crate) ignored: usize,
    /// The files and directories that the call may not see.
    pub(crate) unlisted: usize,
}

impl SearchedFiles {
    /// Returns the sentence about a search without a match.
    pub(crate) fn without_match(&self, glob: Option<&str>) -> String {
        let Self { text, binary, unreadable, ignored, unlisted } = *self;
        let skipped = skipped_note(&[
            (binary, "binary"),
            (unreadable, "unreadable"),
            (ignored, "hidden or ignored"),
            (unlisted, "not permitted"),
        ]);
        match (text, glob) {
            (0, Some(glob)) => {
                format!("No file matches the glob {glob:?}{skipped}, so nothing was searched.")
            }
            (0, None) => format!("There are no text files to search{skipped}."),
            (1, _) => format!("No match in 1 file{skipped}."),
            (files, _) => format!("No match in {files} files{skipped}."),
        }
    }
}

/// Searches. It stops where more than a sidecar holds was found, and when the call is cancelled.
pub(crate) fn search(cx: &Cx, request: &GrepQuery) -> Result<GrepMatches, ToolError> {
    if request.context_lines > CONTEXT_LINES_MAX {
        let found = request.context_lines;
        let message = format!("`context` is {found}: expected at most {CONTEXT_LINES_MAX} lines");
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    let matcher = compile(&request.pattern, request.ignore_case)?;
    let search = GrepSearch { cx, matcher, context_lines: usize::try_from(request.context_lines)? };
    let found = match cx.fs().resolve(&request.path)? {
        // The caller named this file, so the exceptions of the walk do not hold for it.
        (file, Some(FsEntryKind::Regular)) => {
            let found = search.worker().search(&file)?;
            if found.is_binary {
                let message = format!(
                    "{:?} is binary, and grep searches text only: name another file, or use bash with grep -a",
                    file.display()
                );
                return Err(ToolError::new(ErrorCode::GrepFailed, message));
            }
            let mut answer = GrepMatchesBuilder::default();
            answer.add(found, false);
            let searched = SearchedFiles { text: 1, ..SearchedFiles::default() };
            answer.finish(cx.is_cancelled(), searched)
        }
        (base, Some(FsEntryKind::Directory)) => {
            let selector = match request.glob.as_deref() {
                Some(glob) => WalkGlob::parse_filter(glob)?,
                None => EntrySelector::all_files(),
            };
            let listing =
                DirectoryWalk { cx, base: &base, selector: &selector, threads: request.threads }
                    .run()?;
            let claims = FileChunks {
                listing: &listing,
                next: AtomicUsize::new(0),
                found_bytes: AtomicUsize::new(0),
            };
            let threads = request.threads.get().min(listing.len().div_ceil(CHUNK_FILES));
            let tallies = std::thread::scope(|scope| {
                let others: Vec<_> =
                    (1..threads).map(|_| scope.spawn(|| search.worker().run(&claims))).collect();
                let mut tallies = vec![search.worker().run(&claims)];
                for other in others {
                    match other.join() {
                        Ok(tally) => tallies.push(tally),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                tallies
            });
            let stopped = cx.is_cancelled() || !listing.is_complete();
            let readable: usize = tallies.iter().map(|tally| tally.readable).sum();
            let binary: usize = tallies.iter().map(|tally| tally.binary).sum();
            let searched = SearchedFiles {
                text: readable - binary,
                binary,
                unreadable: tallies.iter().map(|tally| tally.unreadable_files).sum(),
                ignored: listing.passed_over(),
                unlisted: cx.fs().unlisted(),
            };
            let (found, unreadable): (Vec<_>, Vec<_>) =
                tallies.into_iter().map(|tally| (tally.found, tally.unreadable)).unzip();
            // One file that cannot be read is no reason to fail, but all of them are.
            match unreadable.into_iter().flatten().min_by_key(|(index, _)| *index) {
                Some((_, first)) if readable == 0 => return Err(first),
                _ => {}
            }
            let mut found: Vec<(usize, FileMatches)> = found.into_iter().flatten().collect();
            found.sort_unstable_by_key(|(index, _)| *index);
            let mut answer = GrepMatchesBuilder::default();
            for (_, file) in found {
                answer.add(file, search.context_lines > 0);
            }
            answer.finish(stopped, searched)
        }
        (place, None) => return Err(missing_file_error(cx.fs(), &request.path, &place)),
        (place, Some(found)) => {
            let message = format!(
                "path {:?} is {}, which cannot be searched: name a file or a directory",
                place.display(),
                found.with_article()
            );
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
    };
    if cx.is_cancelled() && found.entries.is_empty() {
        return Err(ToolError::new(
            ErrorCode::ToolTimeout,
            "the search was stopped before it found anything: narrow it with `path` or `glob`",
        ));
    }
    Ok(found)
}

/// The parts of a search that are the same for all files.
struct GrepSearch<'a> {
    cx: &'a Cx,
    matcher: RegexMatcher,
    context_lines: usize,
}

/// The state of one thread, which it reuses from file to file.
struct GrepWorker<'a> {
    search: &'a GrepSearch<'a>,
    /// A separate copy: threads that share one wait for each other's scratch memory.
    matcher: RegexMatcher,
    searcher: Searcher,
    buffer: Vec<u8>,
    tally: GrepWorkerMatches,
}

/// The matches that one thread found.
#[derive(Default)]
struct GrepWorkerMatches {
    /// Entries by the number of their file.
    found: Vec<(usize, FileMatches)>,
    readable: usize,
    /// Those of them that turned out to be binary.
    binary: usize,
    unreadable_files: usize,
    /// The first file that could not be read, and why.
    unreadable: Option<(usize, ToolError)>,
}

/// The files of a listing, which threads claim in order, a chunk at a time.
struct FileChunks<'a> {
    listing: &'a WalkListing,
    next: AtomicUsize,
    found_bytes: AtomicUsize,
}

impl GrepSearch<'_> {
    fn worker(&self) -> GrepWorker<'_> {
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .before_context(self.context_lines)
            .after_context(self.context_lines)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BUFFER_BYTES_MAX));
        GrepWorker {
            search: self,
            matcher: self.matcher.clone(),
            searcher: builder.build(),
            buffer: Vec::new(),
            tally: GrepWorkerMatches::default(),
        }
    }
}

impl GrepWorker<'_> {
    fn run(mut self, claims: &FileChunks<'_>) -> GrepWorkerMatches {
        // Chunks are claimed in order. Once the claimed ones hold more than fits, no later one matters, so the cut is the
        // same however the threads run.
        while claims.found_bytes.load(Ordering::Relaxed) <= SEARCH_SIDECAR_BYTES_MAX {
            let start = claims.next.fetch_add(CHUNK_FILES, Ordering::Relaxed);
            let end = claims.listing.len().min(start + CHUNK_FILES);
            if start >= end {
                break;
            }
            let mut chunk_bytes = 0;
            for index in start..end {
                if self.search.cx.is_cancelled() {
                    return self.tally;
                }
                let Some(path) = claims.listing.path(index) else { continue };
                match self.search(&path) {
                    Ok(file) => {
                        chunk_bytes += file.bytes;
                        self.tally.readable += 1;
                        self.tally.binary += usize::from(file.is_binary);
                        if !file.entries.is_empty() {
                            self.tally.found.push((index, file));
                        }
                    }
                    Err(err) => {
                        self.tally.unreadable_files += 1;
                        self.tally.unreadable.get_or_insert((index, err));
                    }
                }
                // Nothing after this in the chunk can matter, whatever others find.
                if chunk_bytes > SEARCH_SIDECAR_BYTES_MAX {
                    break;
                }
            }
            claims.found_bytes.fetch_add(chunk_bytes, Ordering::Relaxed);
        }
        self.tally
    }

    fn search(&mut self, path: &FilePath) -> Result<FileMatches, ToolError> {
        let Self { search, matcher, searcher, buffer, .. } = self;
        let open = search.cx.fs().open_regular(path)?;
        let failed = |err: io::Error| {
            ToolError::new(
                ErrorCode::GrepFailed,
                format!("{:?} cannot be searched: {err}", path.display()),
            )
        };
        let mut collector = MatchCollector::new(search.cx, matcher, path.display());
        match usize::try_from(open.stamp.size) {
            Ok(size) if size <= WHOLE_FILE_BYTES_MAX => {
                // The size is known, so haft saves the read that would find the end.
                if buffer.len() < size {
                    buffer.resize(size, 0);
                }
                let (mut file, mut filled) = (&open.file, 0);
                while let Some(rest) = buffer.get_mut(filled..size).filter(|rest| !rest.is_empty())
                {
                    match file.read(rest) {
                        Ok(0) => break,
                        Ok(count) => filled += count,
                        Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                        Err(err) => return Err(failed(err)),
                    }
                }
                let contents = buffer.get(..filled).unwrap_or_default();
                searcher.search_slice(&*matcher, contents, &mut collector).map_err(failed)?;
                let mut found = collector.finish();
                // The searcher looks for NUL only where it starts and where it matches.
                // In UTF-16, NUL is nothing special.
                let is_utf16 =
                    contents.starts_with(b"\xff\xfe") || contents.starts_with(b"\xfe\xff");
                if !found.entries.is_empty() && !is_utf16 && contents.contains(&0) {
                    found = FileMatches { is_binary: true, ..FileMatches::default() };
                }
                Ok(found)
            }
            _ => {
                let reader = StoppingReader { file: &open.file, cx: search.cx };
                searcher.search_reader(&*matcher, reader, &mut collector).map_err(failed)?;
                Ok(collector.finish())
            }
        }
    }
}

/// Ends a large file early when the call is cancelled, also where nothing matches.
struct StoppingReader<'a> {
    file: &'a File,
    cx: &'a Cx,
}

impl Read for StoppingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cx.is_cancelled() { Ok(0) } else { self.file.read(buffer) }
    }
}

/// Puts entries together up to the size of a sidecar.
#[derive(Default)]
struct GrepMatchesBuilder {
    entries: Vec<String>,
    bytes: usize,
    is_cut: bool,
}

impl GrepMatchesBuilder {
    /// Adds the entries of the next file. In an answer with context lines, files are separate groups.
    fn add(&mut self, file: FileMatches, has_groups: bool) {
        for (index, mut entry) in file.entries.into_iter().enumerate() {
            if has_groups && index == 0 && !self.entries.is_empty() {
                entry = format!("{GROUP_SEPARATOR}\n{entry}");
            }
            self.bytes += entry.len() + 1;
            if self.bytes > SEARCH_SIDECAR_BYTES_MAX {
                self.is_cut = true;
                return;
            }
            self.entries.push(entry);
        }
    }

    fn finish(self, stopped: bool, searched: SearchedFiles) -> GrepMatches {
        GrepMatches { entries: self.entries, incomplete: self.is_cut || stopped, searched }
    }
}
