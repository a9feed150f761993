//! What this machine's kernel offers for confining commands, mechanism by mechanism, and how to get what is missing. It
//! is found out by trying, in processes that are thrown away. It is for people and for whoever has to explain a refusal;
//! what really is enforced around a command is reported with that command.

#[cfg(target_os = "linux")]
mod mechanisms;
#[cfg(target_os = "linux")]
mod remedy;
#[cfg(target_os = "linux")]
pub(crate) mod trial;

use std::io;
use std::path::Path;

/// The first argument that makes a program print what the kernel offers.
#[cfg(target_os = "linux")]
const PROBE_ARGUMENT: &str = "__haft-sandbox-probe";

/// What a kernel offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// One entry for each mechanism, in the order of [`Mechanism::ALL`].
    pub offers: Vec<Offer>,
}

/// Whether one mechanism can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Whether it can be used here.
    pub state: Availability,
}

/// Whether a mechanism can be used, and what there is to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can. The text says more, for example which version.
    Available(String),
    /// It cannot.
    Missing {
        /// What stands against it.
        why: String,
        /// What an operator can do.
        remedy: String,
    },
}

/// A mechanism of the kernel that confinement is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mechanism {
    /// Namespaces of users, which all of the others need.
    UserNamespaces,
    /// Namespaces of mounts: a view of the file system of its own.
    MountNamespaces,
    /// Namespaces of processes, with a `/proc` of its own.
    ProcessNamespaces,
    /// Namespaces of networks.
    NetworkNamespaces,
    /// Mounts that are made by descriptor.
    MountDescriptors,
    /// Landlock.
    Landlock,
    /// System call filters.
    Seccomp,
    /// Giving up new privileges for good.
    NoNewPrivileges,
    /// Control groups that this user may make.
    ControlGroups,
    /// Opening files beneath a directory in one call.
    Openat2,
    /// Handles of processes.
    Pidfd,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Mechanism; 11] = [
        Mechanism::UserNamespaces,
        Mechanism::MountNamespaces,
        Mechanism::ProcessNamespaces,
        Mechanism::NetworkNamespaces,
        Mechanism::MountDescriptors,
        Mechanism::Landlock,
        Mechanism::Seccomp,
        Mechanism::NoNewPrivileges,
        Mechanism::ControlGroups,
        Mechanism::Openat2,
        Mechanism::Pidfd,
    ];

    /// Returns its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::UserNamespaces => "user namespaces",
            Mechanism::MountNamespaces => "mount namespaces",
            Mechanism::ProcessNamespaces => "process namespaces",
            Mechanism::NetworkNamespaces => "network namespaces",
            Mechanism::MountDescriptors => "mounts by descriptor",
            Mechanism::Landlock => "landlock",
            Mechanism::Seccomp => "seccomp",
            Mechanism::NoNewPrivileges => "no_new_privs",
            Mechanism::ControlGroups => "control groups",
            Mechanism::Openat2 => "openat2",
            Mechanism::Pidfd => "pidfd",
        }
    }
}

impl Kernel {
    /// Finds out what the kernel offers, by means of a helper program.
    ///
    /// The helper is one as for [`Launcher::new`]: its main function first calls [`helper::run_if_requested`]. Blocks for
    /// some milliseconds.
    ///
    /// [`Launcher::new`]: crate::Launcher::new
    /// [`helper::run_if_requested`]: crate::helper::run_if_requested
    ///
    /// # Errors
    ///
    /// If the helper cannot be executed or answers something else, and on systems other than Linux.
    #[cfg(target_os = "linux")]
    pub fn probe(helper: &Path) -> io::Result<Kernel> {
        let output = std::process::Command::new(helper)
            .arg(PROBE_ARGUMENT)
            .env_clear()
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .output()?;
        Kernel::decode(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            let reason = "the helper did not say what the kernel offers; its main function must \
                first call run_if_requested";
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })
    }

    /// Refuses: this is about Linux.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::missing_errors_doc, reason = "as on Linux, where they are described")]
    pub fn probe(_helper: &Path) -> io::Result<Kernel> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "confinement needs Linux"))
    }

    /// Returns whether a mechanism can be used.
    #[must_use]
    pub fn has(&self, mechanism: Mechanism) -> bool {
        self.offers.iter().any(|offer| {
            offer.mechanism == mechanism && matches!(offer.state, Availability::Available(_))
        })
    }

    /// Finds out what the kernel offers, in a process that has one thread.
    #[cfg(target_os = "linux")]
    pub(crate) fn probe_here() -> Kernel {
        let offers = Mechanism::ALL
            .map(|mechanism| Offer { mechanism, state: mechanisms::state(mechanism) });
        Kernel { offers: offers.into() }
    }

    /// One line for each mechanism, with tabs between its parts.
    #[cfg(target_os = "linux")]
    pub(crate) fn encode(&self) -> String {
        let lines = self.offers.iter().map(|offer| {
            let name = offer.mechanism.name();
            match &offer.state {
                Availability::Available(detail) => {
                    format!("{name}\tavailable\t{}\n", plain(detail))
                }
                Availability::Missing { why, remedy } => {
                    format!("{name}\tmissing\t{}\t{}\n", plain(why), plain(remedy))
                }
            }
        });
        lines.collect()
    }

    /// Reads what [`Kernel::encode`] wrote; anything else is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn decode(text: &str) -> Option<Kernel> {
        let offers: Vec<Offer> = text.lines().map(decode_line).collect::<Option<_>>()?;
        let is_complete = offers.iter().map(|offer| offer.mechanism).eq(Mechanism::ALL);
        is_complete.then_some(Kernel { offers })
    }
}

/// Prints what the kernel offers if the argument is the one that asks for it, and tells whether it was.
///
/// For a program's first moments: it must have one thread.
#[cfg(target_os = "linux")]
pub(crate) fn answer_if_requested(argument: &std::ffi::OsStr) -> bool {
    let is_requested = argument == PROBE_ARGUMENT;
    if is_requested {
        // Whoever should read it may be gone; then there is nothing left to say.
        let _ = io::Write::write_all(&mut io::stdout(), Kernel::probe_here().encode().as_bytes());
    }
    is_requested
}

#[cfg(target_os = "linux")]
fn decode_line(line: &str) -> Option<Offer> {
    let mut fields = line.split('\t');
    let name = fields.next()?;
    let mechanism = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name)?;
    let state = match (fields.next()?, fields.next()?, fields.next(), fields.next()) {
        ("available", detail, None, None) => Availability::Available(detail.to_owned()),
        ("missing", why, Some(remedy), None) => {
            Availability::Missing { why: why.to_owned(), remedy: remedy.to_owned() }
        }
        _ => return None,
    };
    Some(Offer { mechanism, state })
}

/// Returns the text without what separates lines and their parts.
#[cfg(target_os = "linux")]
fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
