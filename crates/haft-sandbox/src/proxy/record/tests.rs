use super::*;

fn refused() -> Outcome {
    Outcome::Refused { reason: "no".to_owned() }
}

#[test]
fn what_is_beyond_the_bound_is_counted() {
    let record = Arc::new(Record::new(2));
    for host in ["a", "b", "c"] {
        record.start(host, 1, Protocol::Http).settle(refused());
    }
    record.start("d", 1, Protocol::Http);
    record.count_malformed();
    let connections = record.close();
    let hosts: Vec<&str> = connections.recorded.iter().map(|entry| entry.host.as_str()).collect();
    assert_eq!(hosts, ["a", "b"]);
    let Connections { admitted, refused, failed, malformed, .. } = connections;
    assert_eq!((admitted, refused, failed, malformed), (0, 3, 1, 1));
}

#[test]
fn an_entry_without_an_outcome_has_failed() {
    let record = Arc::new(Record::new(2));
    let _attempt = record.start("a", 1, Protocol::Socks5);
    let connections = record.close();
    assert_eq!(connections.failed, 1);
    let [entry] = connections.recorded.as_slice() else { panic!("one was started") };
    assert!(matches!(entry.outcome, Outcome::Failed { .. }));
}

#[test]
fn text_from_outside_is_shown_on_one_line() {
    assert_eq!(shown("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
    assert_eq!(shown(&"a".repeat(1_000)).len(), TEXT_CHARS_MAX);
}
