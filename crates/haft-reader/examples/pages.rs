//! Reads all HTML pages of a directory for each line on standard input, and answers each line with the time in nanoseconds.
//! It writes the content of the pages to files once, and measures nothing else.
//!
//! Arguments: DIRECTORY (of the pages), OUT (for the texts).

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::Instant;

use haft_reader::{FetchedPage, read_page};

type Failure = Box<dyn Error>;

/// A page and the name of its file.
type Named = (String, Vec<u8>);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, out] = arguments.as_slice() else {
        return Err("expected DIRECTORY OUT".into());
    };
    let pages = pages(Path::new(directory))?;
    for (name, bytes) in &pages {
        fs::write(Path::new(out).join(name), read(bytes)?)?;
    }
    let mut answers = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        line?;
        let started = Instant::now();
        for (_, bytes) in &pages {
            std::hint::black_box(read(bytes)?);
        }
        writeln!(answers, "{}", started.elapsed().as_nanos())?;
        answers.flush()?;
    }
    Ok(())
}

/// Returns the pages, sorted by name.
fn pages(directory: &Path) -> Result<Vec<Named>, Failure> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if name.ends_with(".html") {
            pages.push((name, fs::read(&path)?));
        }
    }
    pages.sort();
    Ok(pages)
}

fn read(bytes: &[u8]) -> Result<String, Failure> {
    let page = FetchedPage { bytes, content_type: Some("text/html"), url: "https://a.example/" };
    let extracted = read_page(&page)?;
    let (title, text) = (extracted.title.unwrap_or_default(), extracted.text.unwrap_or_default());
    Ok(format!("{title}\n\n{text}"))
}
