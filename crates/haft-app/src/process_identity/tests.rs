//! Which processes are gone, which are not, and which cannot be seen.

use std::process::{Child, Command, Stdio};

use super::*;

fn owner(id: String) -> LeaseOwner {
    LeaseOwner { id, location: String::new() }
}

fn owner_of(identity: &ProcessIdentity) -> LeaseOwner {
    owner(identity.named("x"))
}

fn began(pid: u32) -> Option<u64> {
    match observe_process(Path::new(PROC), pid) {
        ProcessLiveness::Running { began } => Some(began),
        ProcessLiveness::Ended | ProcessLiveness::Unknown => None,
    }
}

fn waiting() -> Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_process_is_gone_when_it_has_ended_or_its_number_is_somebody_elses() {
    let this = this_process(7).unwrap();
    assert_eq!(check_gone(&this), Some(false), "{this:?}");
    let ours = parse(&this.id).unwrap();

    let mut child = waiting();
    let theirs = ProcessIdentity {
        pid: child.id(),
        started_ticks: began(child.id()).unwrap(),
        ..ours.clone()
    };
    assert_eq!(check_gone(&owner_of(&theirs)), Some(false));
    child.kill().unwrap();
    // It has ended before anybody asks how.
    while began(child.id()).is_some() {
        std::thread::yield_now();
    }
    assert!(is_gone(&owner_of(&theirs)));
    child.wait().unwrap();
    assert!(is_gone(&owner_of(&theirs)));
    assert!(is_gone(&owner_of(&ProcessIdentity { started_ticks: ours.started_ticks + 1, ..ours })));
}

#[test]
fn of_what_cannot_be_seen_nothing_is_said() {
    let ours = parse(&this_process(1).unwrap().id).unwrap();
    // Of a process that is certainly not there.
    let check = |change: &dyn Fn(&mut MachineIdentity)| {
        let mut theirs = ProcessIdentity { pid: i32::MAX.unsigned_abs(), ..ours.clone() };
        assert_eq!(check_gone(&owner_of(&theirs)), Some(true));
        change(&mut theirs.system);
        assert_eq!(check_gone(&owner_of(&theirs)), None, "{theirs:?}");
    };
    check(&|system| system.machine = "another".to_owned());
    check(&|system| system.host = "elsewhere".to_owned());
    // Two machines of one name look like one machine that was started again.
    check(&|system| system.boot = "another".to_owned());
    check(&|system| system.namespace = "pid:[1]".to_owned());
    for id in ["", "x", "a b c d e f g"] {
        assert_eq!(check_gone(&owner(id.to_owned())), None);
    }
}

#[test]
fn nothing_is_said_of_owners_that_were_named_before_machines_were() {
    let ProcessIdentity {
        system: MachineIdentity { host, boot, namespace, .. },
        pid,
        started_ticks: began,
    } = parse(&this_process(1).unwrap().id).unwrap();
    for began in [began, began + 1] {
        let former = format!("{host} {boot} {namespace} {pid} {began} process_x");
        assert_eq!(check_gone(&owner(former)), None);
    }
}

#[test]
fn a_process_that_is_not_shown_may_live() {
    let mut child = waiting();
    let nowhere = tempfile::tempdir().unwrap();
    // As where processes of others are hidden, or nothing can be opened any more.
    assert_eq!(observe_process(nowhere.path(), child.id()), ProcessLiveness::Unknown);
    std::fs::create_dir_all(nowhere.path().join(child.id().to_string()).join("stat")).unwrap();
    assert_eq!(observe_process(nowhere.path(), child.id()), ProcessLiveness::Unknown);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(observe_process(nowhere.path(), child.id()), ProcessLiveness::Ended);
    for pid in [0, u32::MAX] {
        assert_eq!(observe_process(nowhere.path(), pid), ProcessLiveness::Unknown);
    }
}

#[test]
fn what_is_shown_of_a_process_is_read_past_its_name() {
    let check = |stat: &str, expect: ProcessLiveness| assert_eq!(read_stat(stat), expect, "{stat}");
    let rest = "1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
    check(&format!("7 (a) Z) S {rest}"), ProcessLiveness::Running { began: 4711 });
    check(&format!("7 (a) Z {rest}"), ProcessLiveness::Ended);
    check(&format!("7 (a) X {rest}"), ProcessLiveness::Ended);
    check(&format!("7 (a) T {rest}"), ProcessLiveness::Unknown);
    check("7 (a) S 1 1", ProcessLiveness::Unknown);
    check("7 (a", ProcessLiveness::Unknown);
    check("", ProcessLiveness::Unknown);
}

#[test]
fn a_machine_is_known_by_a_hash_of_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("machine-id");
    assert_eq!(machine(&path), NO_MACHINE);
    let of = |text: &str| {
        fs::write(&path, text).unwrap();
        machine(&path)
    };
    assert_eq!(of("uninitialized\n"), NO_MACHINE);
    let (number, other) = ("0123456789abcdef0123456789abcdef", "f123456789abcdef0123456789abcdef");
    let hash = of(number);
    assert_eq!(hash.len(), MACHINE_CHARS);
    assert_eq!(of(&format!("{number}\n")), hash);
    assert_ne!(of(other), hash);
    assert!(!hash.contains(number));
}

#[test]
fn a_process_is_asked_to_end_only_if_it_is_the_one_that_is_meant() {
    let this = this_process(7).unwrap();
    assert!(is_this_process(&this));
    let ours = parse(&this.id).unwrap();
    let mut child = waiting();
    let theirs = ProcessIdentity {
        pid: child.id(),
        started_ticks: began(child.id()).unwrap(),
        ..ours.clone()
    };
    assert!(!is_this_process(&owner_of(&theirs)));
    // Another process got the number, or the process is on another machine.
    let earlier = ProcessIdentity { started_ticks: theirs.started_ticks - 1, ..theirs.clone() };
    assert!(!ask_to_end(&owner_of(&earlier)));
    let mut elsewhere = theirs.clone();
    elsewhere.system.boot = "another".to_owned();
    assert!(!ask_to_end(&owner_of(&elsewhere)));
    assert!(!ask_to_end(&owner("process 7".to_owned())));
    assert_eq!(child.try_wait().unwrap(), None);
    assert!(ask_to_end(&owner_of(&theirs)));
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    assert!(!ask_to_end(&owner_of(&theirs)));
}
