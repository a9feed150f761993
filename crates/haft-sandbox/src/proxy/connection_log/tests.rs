use super::*;

fn refused() -> ProxyOutcome {
    ProxyOutcome::Refused { reason: "no".to_owned() }
}

#[test]
fn what_is_beyond_the_bound_is_counted() {
    let record = Arc::new(ConnectionLog::new(2));
    for host in ["a", "b", "c"] {
        record.start_attempt(host, 1, ProxyProtocol::Http).set_outcome(refused());
    }
    record.start_attempt("d", 1, ProxyProtocol::Http);
    record.count_malformed();
    let connections = record.close();
    let hosts: Vec<&str> = connections.recorded.iter().map(|entry| entry.host.as_str()).collect();
    assert_eq!(hosts, ["a", "b"]);
    let ProxyConnections { admitted, refused, failed, malformed, .. } = connections;
    assert_eq!((admitted, refused, failed, malformed), (0, 3, 1, 1));
}

#[test]
fn an_entry_without_an_outcome_has_failed() {
    let record = Arc::new(ConnectionLog::new(2));
    let _attempt = record.start_attempt("a", 1, ProxyProtocol::Socks5);
    let connections = record.close();
    assert_eq!(connections.failed, 1);
    let [entry] = connections.recorded.as_slice() else { panic!("one was started") };
    assert!(matches!(entry.outcome, ProxyOutcome::Failed { .. }));
}

#[test]
fn what_was_taken_is_not_taken_again() {
    let record = Arc::new(ConnectionLog::new(2));
    let hosts = |connections: &ProxyConnections| -> Vec<String> {
        connections.recorded.iter().map(|entry| entry.host.clone()).collect()
    };
    let open = record.start_attempt("open", 1, ProxyProtocol::Http);
    record.start_attempt("a", 1, ProxyProtocol::Http).set_outcome(refused());
    // The log is full.
    let crowded = record.start_attempt("b", 1, ProxyProtocol::Http);
    let taken = record.take_finished();
    assert_eq!((hosts(&taken), taken.refused, taken.failed), (vec!["a".to_owned()], 1, 0));

    record.start_attempt("c", 1, ProxyProtocol::Http).set_outcome(refused());
    crowded.set_outcome(refused());
    open.set_outcome(refused());
    let taken = record.take_finished();
    assert_eq!((hosts(&taken), taken.refused), (vec!["open".to_owned(), "c".to_owned()], 3));

    let _unsettled = record.start_attempt("d", 1, ProxyProtocol::Http);
    let closed = record.close();
    assert_eq!((hosts(&closed), closed.refused, closed.failed), (vec!["d".to_owned()], 0, 1));
}

#[test]
fn text_from_outside_is_shown_on_one_line() {
    assert_eq!(printable_text("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
    assert_eq!(printable_text(&"a".repeat(1_000)).len(), TEXT_CHARS_MAX);
}
