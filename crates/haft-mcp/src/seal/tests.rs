use haft::Place;
use proptest::prelude::*;

use super::*;

const TICKET: Ticket = Ticket { number: 7, expires_at_ms: 600_000 };

fn binding(tool: &str, input: &Value, run: &str, place: Place) -> Binding {
    let meta = CallMeta { run: None, place, ..CallMeta::default() };
    Binding::new(tool, input, run, &meta)
}

fn usual() -> Binding {
    binding("write", &json!({"path": "a", "content": "b"}), "run", Place::default())
}

#[test]
fn a_state_opens_for_its_own_call() {
    let seal = Seal::new([1; STATE_KEY_BYTES]);
    let state = seal.close(TICKET, &usual());
    assert_eq!(seal.open(&state, &usual()), Some(TICKET));
    let reordered = serde_json::from_str(r#"{"content":"b","path":"a"}"#).unwrap();
    let same = binding("write", &reordered, "run", Place::default());
    assert_eq!(seal.open(&state, &same), Some(TICKET));
}

#[test]
fn a_state_opens_for_no_other_call() {
    let seal = Seal::new([1; STATE_KEY_BYTES]);
    let state = seal.close(TICKET, &usual());
    let input = json!({"path": "a", "content": "b"});
    let elsewhere = |change: fn(&mut Place)| {
        let mut place = Place::default();
        change(&mut place);
        binding("write", &input, "run", place)
    };
    let named = Binding::new(
        "write",
        &input,
        "run",
        &CallMeta { driver_call_id: Some("x".to_owned()), ..CallMeta::default() },
    );
    let others = [
        binding("edit", &input, "run", Place::default()),
        binding("write", &json!({"path": "a", "content": "c"}), "run", Place::default()),
        binding("write", &input, "other", Place::default()),
        elsewhere(|place| place.node = "other".to_owned()),
        elsewhere(|place| place.iteration = 1),
        elsewhere(|place| place.attempt = 2),
        named,
    ];
    for other in &others {
        assert_eq!(seal.open(&state, other), None, "{other:?}");
    }
}

#[test]
fn a_state_of_another_key_opens_nothing() {
    let state = Seal::new([2; STATE_KEY_BYTES]).close(TICKET, &usual());
    assert_eq!(Seal::new([1; STATE_KEY_BYTES]).open(&state, &usual()), None);
}

proptest! {
    #[test]
    fn a_state_that_was_altered_opens_nothing(index in 0_usize..60, letter in "[A-Za-z0-9._-]") {
        let seal = Seal::new([1; STATE_KEY_BYTES]);
        let state = seal.close(TICKET, &usual());
        let mut altered = state.clone();
        altered.replace_range(index..=index, &letter);
        prop_assume!(altered != state);
        prop_assert_eq!(seal.open(&altered, &usual()), None);
    }

    #[test]
    fn anything_may_be_sent_as_a_state(text in ".{0,80}") {
        prop_assert_eq!(Seal::new([1; STATE_KEY_BYTES]).open(&text, &usual()), None);
    }
}
