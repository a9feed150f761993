//! What other processes know this one by, and how they find out whether it still lives. A process is known by its
//! machine, the start of that machine, its process namespace, its number and when it began: a number alone is soon
//! somebody else's. Whoever cannot see a process says nothing of it; then its time has to run out.

use std::fs;

use haft_journal::Owner;

use crate::error::CommandError;
use crate::id;

/// Where the kernel tells things about itself and about processes.
const PROC: &str = "/proc";

/// What identifies a process among all that ever were.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    host: String,
    boot: String,
    namespace: String,
    pid: u32,
    /// In ticks since the machine started.
    began: u64,
}

/// Returns this process.
pub(crate) fn this_process(now_ms: u64) -> Result<Owner, CommandError> {
    let pid = std::process::id();
    let unique = id::new("process", now_ms)?;
    let Some(identity) = identity(pid) else {
        // Nobody will know when it is gone, so its time has to run out.
        return Ok(Owner { id: unique, place: format!("process {pid}") });
    };
    let Identity { host, boot, namespace, pid, began } = &identity;
    let id = format!("{host} {boot} {namespace} {pid} {began} {unique}");
    Ok(Owner { id, place: format!("process {pid} on {host}") })
}

/// Returns whether a process is gone for certain.
pub(crate) fn is_gone(owner: &Owner) -> bool {
    find_out(owner) == Some(true)
}

/// Returns whether a process is gone, `None` where that cannot be known from here.
pub(crate) fn find_out(owner: &Owner) -> Option<bool> {
    let theirs = parse(&owner.id)?;
    let ours = identity(std::process::id())?;
    if theirs.host != ours.host {
        return None;
    }
    if theirs.boot != ours.boot {
        return Some(true);
    }
    // A process of another namespace cannot be seen from here.
    (theirs.namespace == ours.namespace).then(|| began(theirs.pid) != Some(theirs.began))
}

fn identity(pid: u32) -> Option<Identity> {
    let word = |path: &str| {
        let text = fs::read_to_string(format!("{PROC}/{path}")).ok()?;
        // A name with a space in it would be two words of the id.
        Some(text.trim().replace(char::is_whitespace, "-"))
    };
    let namespace = fs::read_link(format!("{PROC}/self/ns/pid")).ok()?;
    Some(Identity {
        host: word("sys/kernel/hostname")?,
        boot: word("sys/kernel/random/boot_id")?,
        namespace: namespace.to_string_lossy().into_owned(),
        pid,
        began: began(pid)?,
    })
}

/// Returns when a process began, `None` if there is none of that number, or only what is left of one.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("{PROC}/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    if ["Z", "X"].contains(&state) {
        return None;
    }
    // The 22nd field of all.
    fields.nth(18)?.parse().ok()
}

fn parse(id: &str) -> Option<Identity> {
    let words: Vec<&str> = id.split(' ').collect();
    let [host, boot, namespace, pid, began, _] = words.as_slice() else { return None };
    Some(Identity {
        host: (*host).to_owned(),
        boot: (*boot).to_owned(),
        namespace: (*namespace).to_owned(),
        pid: pid.parse().ok()?,
        began: began.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn owner_of(identity: &Identity) -> Owner {
        let Identity { host, boot, namespace, pid, began } = identity;
        Owner { id: format!("{host} {boot} {namespace} {pid} {began} x"), place: String::new() }
    }

    #[test]
    fn a_process_is_gone_when_it_has_ended_or_its_number_is_somebody_elses() {
        let this = this_process(7).unwrap();
        assert_eq!(find_out(&this), Some(false), "{this:?}");
        let ours = parse(&this.id).unwrap();

        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let theirs =
            Identity { pid: child.id(), began: began(child.id()).unwrap(), ..ours.clone() };
        assert!(!is_gone(&owner_of(&theirs)));
        child.kill().unwrap();
        // It has ended before anybody asks how.
        while began(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(is_gone(&owner_of(&theirs)));
        child.wait().unwrap();
        assert!(is_gone(&owner_of(&theirs)));

        assert!(is_gone(&owner_of(&Identity { began: ours.began + 1, ..ours.clone() })));
        assert!(is_gone(&owner_of(&Identity { boot: "another".to_owned(), ..ours })));
    }

    #[test]
    fn of_what_cannot_be_seen_nothing_is_said() {
        let ours = identity(std::process::id()).unwrap();
        let elsewhere = Identity { host: "elsewhere".to_owned(), pid: u32::MAX, ..ours.clone() };
        let walled_off = Identity { namespace: "pid:[1]".to_owned(), pid: u32::MAX, ..ours };
        for identity in [elsewhere, walled_off] {
            assert_eq!(find_out(&owner_of(&identity)), None, "{identity:?}");
        }
        for id in ["", "x", "a b c d e f"] {
            assert_eq!(find_out(&Owner { id: id.to_owned(), place: String::new() }), None);
        }
    }
}
