//! The enforcement of each set of mechanisms, as a table.

use expect_test::{Expect, expect};

use super::*;

fn check(network: Network, expect: &Expect) {
    let all = MechanismFlags {
        namespaces: true,
        landlock: true,
        seccomp: true,
        limits: true,
        process_bound: true,
    };
    let cases = [
        ("all", all),
        ("no landlock", MechanismFlags { landlock: false, ..all }),
        ("no namespaces", MechanismFlags { namespaces: false, ..all }),
        ("no bound on processes", MechanismFlags { process_bound: false, ..all }),
        ("no seccomp", MechanismFlags { seccomp: false, ..all }),
        ("landlock alone", MechanismFlags { landlock: true, ..MechanismFlags::default() }),
        ("seccomp alone", MechanismFlags { seccomp: true, ..MechanismFlags::default() }),
        ("nothing", MechanismFlags::default()),
    ];
    let lines = cases.map(|(name, applied)| {
        let Enforcement { filesystem, network, processes, system_calls, resources } =
            Enforcement::from_mechanisms(applied, network);
        let levels = [filesystem, network, processes, system_calls, resources];
        let levels = levels.map(|level| format!("{level:?}")).join(" ");
        format!("{name}: {levels}\n")
    });
    expect.assert_eq(&lines.concat());
}

#[test]
fn with_a_network_of_its_own() {
    let levels = expect![[r#"
        all: Kernel Kernel Kernel Kernel Kernel
        no landlock: Kernel Kernel Kernel Kernel Kernel
        no namespaces: Cooperative Kernel Cooperative Kernel Cooperative
        no bound on processes: Kernel Kernel Kernel Kernel Cooperative
        no seccomp: Kernel Kernel Kernel None Kernel
        landlock alone: Cooperative None Cooperative None None
        seccomp alone: None Kernel Cooperative Kernel None
        nothing: None None Cooperative None None
    "#]];
    for network in [Network::Loopback, Network::Proxied] {
        check(network, &levels);
    }
}

#[test]
fn with_the_network_of_the_host() {
    check(
        Network::Host,
        &expect![[r#"
            all: Kernel None Kernel Kernel Kernel
            no landlock: Kernel None Kernel Kernel Kernel
            no namespaces: Cooperative None Cooperative Kernel Cooperative
            no bound on processes: Kernel None Kernel Kernel Cooperative
            no seccomp: Kernel None Kernel None Kernel
            landlock alone: Cooperative None Cooperative None None
            seccomp alone: None None Cooperative Kernel None
            nothing: None None Cooperative None None
        "#]],
    );
}
