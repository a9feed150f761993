use super::*;

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[test]
fn command_lines() {
    let check = |arguments: &[&str]| {
        parse(&owned(arguments), owned(&["a", "b"]))
            .map(|request| (request.seconds, request.targets))
            .ok()
    };
    assert_eq!(check(&[]), Some((20, owned(&["a", "b"]))));
    assert_eq!(check(&["--seconds", "5", "a", "b"]), Some((5, owned(&["a", "b"]))));
    for bad in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "-1"], &["--jobs"]] {
        assert_eq!(check(bad), None, "{bad:?}");
    }
}

#[test]
fn targets_are_those_of_the_manifest() {
    let declared =
        declared_targets("[package]\nname = \"x\"\n[[bin]]\nname = \"a\"\n[[bin]]\nname = \"b\"\n")
            .expect("this is TOML");
    assert_eq!(declared, ["a", "b"]);
    let select = |arguments: &[&str]| {
        parse(&owned(arguments), declared.clone()).map(|request| request.targets)
    };
    assert_eq!(select(&[]).expect("all"), ["a", "b"]);
    assert_eq!(select(&["b"]).expect("one"), ["b"]);
    assert!(select(&["c"]).is_err_and(|err| err.is::<UsageError>()));
    assert!(parse(&[], Vec::new()).is_err());
}

#[test]
fn progress_is_first_and_last_coverage() {
    let log = "INFO: seed corpus: files: 2\n\
               #3\tINITED cov: 7 ft: 8 corp: 1/1b exec/s: 0 rss: 30Mb\n\
               #90\tNEW    cov: 12 ft: 15 corp: 2/6b lim: 4 exec/s: 0\n\
               #500\tDONE   cov: 40 ft: 80 corp: 9/30b lim: 8 exec/s: 250 rss: 31Mb\n\
               Done 500 runs in 2 second(s)\n";
    let expected = FuzzProgress { runs: 500, coverage_first: 7, coverage_last: 40 };
    assert_eq!(read_progress(log), Some(expected));
    assert_eq!(read_progress("#2\tINITED ft: 1 corp: 1/1b\nDone 2 runs\n"), None);
}

#[test]
fn a_crash_names_the_input() {
    let log = "thread panicked\nartifact_prefix='a/'; Test unit written to a/crash-12\n";
    let text = describe_crash("edit_match", log);
    assert!(text.starts_with("thread panicked\n"), "{text}");
    assert!(text.contains("edit_match failed; the input: a/crash-12\n"), "{text}");
    assert!(describe_crash("edit_match", "").contains("without naming one"));
}
