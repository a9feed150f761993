use haft::TaskAttempt;
use proptest::prelude::*;

use super::*;

const TICKET: RequestState = RequestState { number: 7, expires_at_ms: 600_000 };

fn binding(tool: &str, input: &Value, run: &str, place: TaskAttempt) -> CallBinding {
    let meta = CallMeta { run: None, address: place, ..CallMeta::default() };
    CallBinding::new(tool, input, run, &meta)
}

fn usual() -> CallBinding {
    binding("write", &json!({"path": "a", "content": "b"}), "run", TaskAttempt::default())
}

#[test]
fn a_state_opens_for_its_own_call() {
    let seal = RequestStateSigner::new([1; STATE_KEY_BYTES]);
    let state = seal.sign(TICKET, &usual());
    assert_eq!(seal.verify(&state, &usual()), Some(TICKET));
    let reordered = serde_json::from_str(r#"{"content":"b","path":"a"}"#).unwrap();
    let same = binding("write", &reordered, "run", TaskAttempt::default());
    assert_eq!(seal.verify(&state, &same), Some(TICKET));
}

#[test]
fn a_state_opens_for_no_other_call() {
    let seal = RequestStateSigner::new([1; STATE_KEY_BYTES]);
    let state = seal.sign(TICKET, &usual());
    let input = json!({"path": "a", "content": "b"});
    let elsewhere = |change: fn(&mut TaskAttempt)| {
        let mut place = TaskAttempt::default();
        change(&mut place);
        binding("write", &input, "run", place)
    };
    let named = CallBinding::new(
        "write",
        &input,
        "run",
        &CallMeta { driver_call_id: Some("x".to_owned()), ..CallMeta::default() },
    );
    let others = [
        binding("edit", &input, "run", TaskAttempt::default()),
        binding("write", &json!({"path": "a", "content": "c"}), "run", TaskAttempt::default()),
        binding("write", &input, "other", TaskAttempt::default()),
        elsewhere(|place| place.node = "other".to_owned()),
        elsewhere(|place| place.iteration = 1),
        elsewhere(|place| place.attempt = 2),
        named,
    ];
    for other in &others {
        assert_eq!(seal.verify(&state, other), None, "{other:?}");
    }
}

#[test]
fn a_state_of_another_key_opens_nothing() {
    let state = RequestStateSigner::new([2; STATE_KEY_BYTES]).sign(TICKET, &usual());
    assert_eq!(RequestStateSigner::new([1; STATE_KEY_BYTES]).verify(&state, &usual()), None);
}

proptest! {
    #[test]
    fn a_state_that_was_altered_opens_nothing(index in 0_usize..60, letter in "[A-Za-z0-9._-]") {
        let seal = RequestStateSigner::new([1; STATE_KEY_BYTES]);
        let state = seal.sign(TICKET, &usual());
        let mut altered = state.clone();
        altered.replace_range(index..=index, &letter);
        prop_assume!(altered != state);
        prop_assert_eq!(seal.verify(&altered, &usual()), None);
    }

    #[test]
    fn anything_may_be_sent_as_a_state(text in ".{0,80}") {
        prop_assert_eq!(RequestStateSigner::new([1; STATE_KEY_BYTES]).verify(&text, &usual()), None);
    }
}
