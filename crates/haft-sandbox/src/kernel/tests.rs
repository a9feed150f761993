//! What is probed here is compared with what can be seen otherwise; the encoding is tested with any text.

use expect_test::expect;
use proptest::prelude::*;

use super::{Availability, Kernel, Mechanism, Offer};
use crate::confine::landlock;

#[test]
fn every_mechanism_is_probed() {
    let kernel = Kernel::probe_here();
    let mechanisms: Vec<_> = kernel.offers.iter().map(|offer| offer.mechanism).collect();
    assert_eq!(mechanisms, Mechanism::ALL);
    assert_eq!(Kernel::decode(&kernel.encode()), Some(kernel.clone()));
    assert_eq!(kernel.has(Mechanism::Landlock), landlock::version().is_ok());
    // Whatever runs this test has no older kernel than the crate's own minimum.
    assert!(kernel.has(Mechanism::NoNewPrivileges) && kernel.has(Mechanism::Pidfd));
    // Probing leaves this process as it was.
    assert!(!rustix::thread::no_new_privs().unwrap());
}

#[test]
fn what_is_missing_says_how_to_get_it() {
    for offer in Kernel::probe_here().offers {
        match offer.state {
            Availability::Available(_) => {}
            Availability::Missing { why, remedy } => {
                assert!(!why.is_empty() && !remedy.is_empty(), "{}", offer.mechanism.name());
            }
        }
    }
}

fn any_state() -> impl Strategy<Value = Availability> {
    prop_oneof![
        any::<String>().prop_map(Availability::Available),
        any::<(String, String)>().prop_map(|(why, remedy)| Availability::Missing { why, remedy }),
    ]
}

/// What is left of a text: what separates is replaced.
fn carried(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && "\t\n\r".contains(c) { ' ' } else { c }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_carried(states in proptest::collection::vec(any_state(), Mechanism::ALL.len())) {
        let offers = Mechanism::ALL.into_iter().zip(states);
        let offers = offers.map(|(mechanism, state)| Offer { mechanism, state }).collect();
        let kernel = Kernel { offers };
        let decoded = Kernel::decode(&kernel.encode()).unwrap();
        for (sent, received) in kernel.offers.iter().zip(&decoded.offers) {
            let expected = match &sent.state {
                Availability::Available(detail) => Availability::Available(carried(detail)),
                Availability::Missing { why, remedy } => {
                    Availability::Missing { why: carried(why), remedy: carried(remedy) }
                }
            };
            prop_assert_eq!(&received.state, &expected);
        }
    }

    #[test]
    fn nothing_else_is_taken_for_an_answer(text in any::<String>()) {
        prop_assert_eq!(Kernel::decode(&text), None);
    }
}

#[test]
fn answers_are_complete_or_none() {
    let offers = Mechanism::ALL.map(|mechanism| Offer {
        mechanism,
        state: Availability::Missing { why: "why".to_owned(), remedy: "remedy".to_owned() },
    });
    let text = Kernel { offers: offers.into() }.encode();
    expect![[r#"
        user namespaces	missing	why	remedy
        mount namespaces	missing	why	remedy
        process namespaces	missing	why	remedy
        network namespaces	missing	why	remedy
        mounts by descriptor	missing	why	remedy
        landlock	missing	why	remedy
        seccomp	missing	why	remedy
        no_new_privs	missing	why	remedy
        control groups	missing	why	remedy
        openat2	missing	why	remedy
        pidfd	missing	why	remedy
    "#]]
    .assert_eq(&text);
    let mut lines: Vec<_> = text.lines().collect();
    let swapped =
        [lines[1], lines[0]].into_iter().chain(lines[2..].iter().copied()).collect::<Vec<_>>();
    assert_eq!(Kernel::decode(&swapped.join("\n")), None);
    assert_eq!(Kernel::decode(&text.replacen("\tremedy", "\tremedy\tmore", 1)), None);
    assert_eq!(Kernel::decode(&text.replacen("\tremedy", "", 1)), None);
    lines.pop();
    assert_eq!(Kernel::decode(&lines.join("\n")), None);
}
