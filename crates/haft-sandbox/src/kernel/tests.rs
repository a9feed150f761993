//! Compares detected mechanisms with other observations, and encodes arbitrary text.

use expect_test::expect;
use proptest::prelude::*;

use super::{Availability, KernelMechanism, KernelSupport, MechanismSupport};
use crate::confine::landlock;

#[test]
fn every_mechanism_is_probed() {
    let kernel = KernelSupport::probe_here();
    let mechanisms: Vec<_> = kernel.mechanisms.iter().map(|offer| offer.mechanism).collect();
    assert_eq!(mechanisms, KernelMechanism::ALL);
    assert_eq!(KernelSupport::decode(&kernel.encode()), Some(kernel.clone()));
    assert_eq!(kernel.has(KernelMechanism::Landlock), landlock::version().is_ok());
    // Every machine that runs this test has at least the crate's minimum kernel.
    assert!(kernel.has(KernelMechanism::NoNewPrivileges) && kernel.has(KernelMechanism::Pidfd));
    // Probing does not change this process.
    assert!(!rustix::thread::no_new_privs().unwrap());
}

#[test]
fn what_is_missing_says_how_to_get_it() {
    for offer in KernelSupport::probe_here().mechanisms {
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

/// Returns the text as it survives encoding: separators are replaced.
fn surviving(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && "\t\n\r".contains(c) { ' ' } else { c }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_carried(states in proptest::collection::vec(any_state(), KernelMechanism::ALL.len())) {
        let offers = KernelMechanism::ALL.into_iter().zip(states);
        let offers = offers.map(|(mechanism, state)| MechanismSupport { mechanism, state }).collect();
        let kernel = KernelSupport { mechanisms: offers };
        let decoded = KernelSupport::decode(&kernel.encode()).unwrap();
        for (sent, received) in kernel.mechanisms.iter().zip(&decoded.mechanisms) {
            let expected = match &sent.state {
                Availability::Available(detail) => Availability::Available(surviving(detail)),
                Availability::Missing { why, remedy } => {
                    Availability::Missing { why: surviving(why), remedy: surviving(remedy) }
                }
            };
            prop_assert_eq!(&received.state, &expected);
        }
    }

    #[test]
    fn nothing_else_is_taken_for_an_answer(text in any::<String>()) {
        prop_assert_eq!(KernelSupport::decode(&text), None);
    }
}

#[test]
fn answers_are_complete_or_none() {
    let offers = KernelMechanism::ALL.map(|mechanism| MechanismSupport {
        mechanism,
        state: Availability::Missing { why: "why".to_owned(), remedy: "remedy".to_owned() },
    });
    let text = KernelSupport { mechanisms: offers.into() }.encode();
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
    assert_eq!(KernelSupport::decode(&swapped.join("\n")), None);
    assert_eq!(KernelSupport::decode(&text.replacen("\tremedy", "\tremedy\tmore", 1)), None);
    assert_eq!(KernelSupport::decode(&text.replacen("\tremedy", "", 1)), None);
    lines.pop();
    assert_eq!(KernelSupport::decode(&lines.join("\n")), None);
}
