use super::*;

fn collect(bytes_max: usize, chunks: &[&[u8]], directory: &std::path::Path) -> Excerpt {
    let sidecars = Sidecars::new(directory.join("sidecars"));
    let label = CallLabel { tool: "bash".to_owned(), seq: 7 };
    let mut collector = OutputCollector::new(bytes_max, &sidecars, &label);
    chunks.iter().for_each(|chunk| collector.take(chunk));
    let excerpt = collector.finish();
    if let Some(path) = &excerpt.sidecar {
        let kept = std::fs::read(path).unwrap();
        assert_eq!(kept, chunks.concat(), "the sidecar holds all of the output");
    }
    excerpt
}

#[test]
fn an_output_at_the_limit_is_whole_and_one_byte_more_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    for limit in [100, OUTPUT_TAIL_BYTES * 5] {
        let tail_bytes = OUTPUT_TAIL_BYTES.min(limit / 4);
        let exact = vec![b'a'; limit];
        let whole = collect(limit, &[&exact], directory.path());
        assert_eq!((whole.head.len(), whole.tail, whole.sidecar), (limit, None, None));
        let cut = collect(limit, &[&exact, b"b"], directory.path());
        assert_eq!(cut.head.len(), limit - tail_bytes);
        assert_eq!(cut.total_bytes, u64::try_from(limit + 1).unwrap());
        assert!(cut.tail.is_some_and(|tail| tail.len() == tail_bytes && tail.ends_with("ab")));
    }
}

#[test]
fn a_sidecar_holds_what_fits_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let sidecars = Sidecars::new(directory.path().join("sidecars"));
    let label = CallLabel { tool: "bash".to_owned(), seq: 1 };
    let mut collector = OutputCollector::new(1_000, &sidecars, &label);
    let chunk = vec![b'a'; OUTPUT_BYTES_MAX / 2 + 1];
    collector.take(&chunk);
    collector.take(&chunk);
    let excerpt = collector.finish();
    let kept = std::fs::metadata(excerpt.sidecar.unwrap()).unwrap().len();
    assert_eq!(kept, u64::try_from(OUTPUT_BYTES_MAX).unwrap());
    let whole = OUTPUT_BYTES_MAX + 2;
    let lost = format!("only the first {OUTPUT_BYTES_MAX} of {whole} bytes were kept");
    assert_eq!(excerpt.sidecar_error, Some(lost));
}

#[test]
fn a_cut_never_splits_a_character() {
    let directory = tempfile::tempdir().unwrap();
    let limit = OUTPUT_TAIL_BYTES + 10;
    let text = "ä".repeat(limit);
    let cut = collect(limit, &[b"x", text.as_bytes()], directory.path());
    assert!(!cut.head.contains('\u{fffd}'), "{}", cut.head);
    assert!(cut.tail.is_some_and(|tail| !tail.contains('\u{fffd}')));
}

#[test]
fn one_large_chunk_fills_the_head() {
    let directory = tempfile::tempdir().unwrap();
    let cut = collect(100, &[&vec![b'a'; 300]], directory.path());
    assert_eq!(cut.head.len(), 75);
}

#[test]
fn a_sidecar_that_cannot_be_made_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("sidecars"), "in the way").unwrap();
    let cut = collect(OUTPUT_TAIL_BYTES, &[&vec![b'a'; OUTPUT_TAIL_BYTES + 1]], directory.path());
    assert!(cut.sidecar.is_none() && cut.sidecar_error.is_some() && cut.truncated());
}
