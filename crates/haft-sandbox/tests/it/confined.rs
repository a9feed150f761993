//! Confined commands: what they can see, change, reach and use, and that none of their processes is
//! left afterwards.

mod ends;
mod fallback;
mod files;
mod network;
mod processes;
mod refusals;
mod resources;
mod ruled;

use haft_sandbox::{Confinement, Enforcement, EnforcementLevel, Mechanisms, Network, ProcessExit};

use crate::spawn::Fixture;

/// Runs a script in the fixture's usual confinement and compares its whole output.
async fn check(script: &str, expected: &str) {
    check_with(script, expected, |_, _| {}).await;
}

async fn check_with(script: &str, expected: &str, change: impl FnOnce(&Fixture, &mut Confinement)) {
    let fixture = Fixture::new();
    let mut confinement = fixture.confinement();
    change(&fixture, &mut confinement);
    let (output, exit) = fixture.run_confined(&confinement, script).await;
    assert_eq!((output.as_str(), exit), (expected, ProcessExit::Code(0)), "{script}");
}

#[tokio::test]
async fn what_is_enforced_is_said() {
    use EnforcementLevel::{Cooperative, Kernel, None};
    let fixture = Fixture::new();
    let all = Mechanisms::ALL;
    let cases = [
        (all, Network::Loopback, [Kernel, Kernel, Kernel, Kernel, Kernel]),
        (all, Network::Proxied, [Kernel, Kernel, Kernel, Kernel, Kernel]),
        (all, Network::Host, [Kernel, None, Kernel, Kernel, Kernel]),
        (
            Mechanisms { landlock: false, ..all },
            Network::Loopback,
            [Kernel, Kernel, Kernel, Kernel, Kernel],
        ),
        (
            Mechanisms { seccomp: false, ..all },
            Network::Loopback,
            [Kernel, Kernel, Kernel, None, Kernel],
        ),
        (
            Mechanisms { namespaces: false, ..all },
            Network::Loopback,
            [Cooperative, Kernel, Cooperative, Kernel, Cooperative],
        ),
    ];
    for (mechanisms, network, expected) in cases {
        let confinement = Confinement { mechanisms, network, ..fixture.confinement() };
        let process = fixture.start_confined(&confinement, "exit 0").await;
        let Enforcement { filesystem, network, processes, system_calls, resources, .. } =
            process.enforcement;
        let found = [filesystem, network, processes, system_calls, resources];
        assert_eq!(found, expected, "{mechanisms:?}");
    }
}
