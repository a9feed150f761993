//! The kernel mechanisms that this machine offers for confining commands, and how to get the
//! missing ones. Each mechanism is tried in a process that is then discarded. The report is for
//! people and for explaining refusals. The confinement that really surrounds a command is reported
//! with that command.

mod mechanisms;
mod remedy;
pub(crate) mod trial;

use std::io;
use std::path::Path;

/// The first argument that makes a program print the kernel's mechanisms.
const PROBE_ARGUMENT: &str = "__haft-sandbox-probe";

/// The mechanisms that a kernel offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSupport {
    /// One entry for each mechanism, in the order of [`KernelMechanism::ALL`].
    pub mechanisms: Vec<MechanismSupport>,
}

/// Whether one mechanism can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MechanismSupport {
    /// The mechanism.
    pub mechanism: KernelMechanism,
    /// Whether it can be used here.
    pub state: Availability,
}

/// Whether a mechanism can be used, with details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can be used. The text gives details, for example the version.
    Available(String),
    /// It cannot be used.
    Missing {
        /// The reason.
        why: String,
        /// The steps with which an operator can make it usable.
        remedy: String,
    },
}

/// A kernel mechanism that confinement uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KernelMechanism {
    /// User namespaces, which all other namespaces need.
    UserNamespaces,
    /// Mount namespaces: a private view of the file system.
    MountNamespaces,
    /// Process namespaces, with a private `/proc`.
    ProcessNamespaces,
    /// Network namespaces.
    NetworkNamespaces,
    /// Mounts created through descriptors.
    MountDescriptors,
    /// Landlock.
    Landlock,
    /// System call filters.
    Seccomp,
    /// `no_new_privs`: giving up new privileges permanently.
    NoNewPrivileges,
    /// Control groups that this user may create.
    ControlGroups,
    /// `openat2`: opening a file below a directory in one call.
    Openat2,
    /// Process handles (pidfds).
    Pidfd,
}

impl KernelMechanism {
    /// All mechanisms.
    pub const ALL: [KernelMechanism; 11] = [
        KernelMechanism::UserNamespaces,
        KernelMechanism::MountNamespaces,
        KernelMechanism::ProcessNamespaces,
        KernelMechanism::NetworkNamespaces,
        KernelMechanism::MountDescriptors,
        KernelMechanism::Landlock,
        KernelMechanism::Seccomp,
        KernelMechanism::NoNewPrivileges,
        KernelMechanism::ControlGroups,
        KernelMechanism::Openat2,
        KernelMechanism::Pidfd,
    ];

    /// Returns the name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KernelMechanism::UserNamespaces => "user namespaces",
            KernelMechanism::MountNamespaces => "mount namespaces",
            KernelMechanism::ProcessNamespaces => "process namespaces",
            KernelMechanism::NetworkNamespaces => "network namespaces",
            KernelMechanism::MountDescriptors => "mounts by descriptor",
            KernelMechanism::Landlock => "landlock",
            KernelMechanism::Seccomp => "seccomp",
            KernelMechanism::NoNewPrivileges => "no_new_privs",
            KernelMechanism::ControlGroups => "control groups",
            KernelMechanism::Openat2 => "openat2",
            KernelMechanism::Pidfd => "pidfd",
        }
    }
}

impl KernelSupport {
    /// Detects the kernel's mechanisms by running a helper program.
    ///
    /// The helper is the same as for [`Launcher::new`]: its main function first calls
    /// [`helper::run_if_requested`]. Blocks for a few milliseconds.
    ///
    /// [`Launcher::new`]: crate::Launcher::new
    /// [`helper::run_if_requested`]: crate::helper::run_if_requested
    ///
    /// # Errors
    ///
    /// If the helper cannot be executed or gives an unexpected answer.
    pub fn probe(helper: &Path) -> io::Result<KernelSupport> {
        let output = std::process::Command::new(helper)
            .arg(PROBE_ARGUMENT)
            .env_clear()
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .output()?;
        KernelSupport::decode(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            let reason = "the helper did not say what the kernel offers; its main function must \
                first call run_if_requested";
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })
    }

    /// Returns whether a mechanism can be used.
    #[must_use]
    pub fn has(&self, mechanism: KernelMechanism) -> bool {
        self.mechanisms.iter().any(|offer| {
            offer.mechanism == mechanism && matches!(offer.state, Availability::Available(_))
        })
    }

    /// Returns whether namespaces are missing and AppArmor allows them only to programs with a profile.
    ///
    /// A profile for this program then makes them usable. No setting of the kernel has to change.
    #[must_use]
    pub fn needs_apparmor_profile(&self) -> bool {
        let namespaces = [
            KernelMechanism::UserNamespaces,
            KernelMechanism::MountNamespaces,
            KernelMechanism::ProcessNamespaces,
            KernelMechanism::NetworkNamespaces,
        ];
        !namespaces.into_iter().all(|mechanism| self.has(mechanism))
            && remedy::apparmor_restricts(remedy::setting)
    }

    /// Detects the kernel's mechanisms, in a process that has one thread.
    pub(crate) fn probe_here() -> KernelSupport {
        let offers = KernelMechanism::ALL
            .map(|mechanism| MechanismSupport { mechanism, state: mechanisms::state(mechanism) });
        KernelSupport { mechanisms: offers.into() }
    }

    /// Encodes one line per mechanism, with tabs between the fields.
    pub(crate) fn encode(&self) -> String {
        let lines = self.mechanisms.iter().map(|offer| {
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

    /// Parses the output of [`KernelSupport::encode`]; returns `None` for anything else.
    pub(crate) fn decode(text: &str) -> Option<KernelSupport> {
        let lines = text.lines().map(|line| {
            let mut fields = line.split('\t');
            let name = fields.next()?;
            let mut all = KernelMechanism::ALL.into_iter();
            let mechanism = all.find(|mechanism| mechanism.name() == name)?;
            let state = match (fields.next()?, fields.next()?, fields.next(), fields.next()) {
                ("available", detail, None, None) => Availability::Available(detail.to_owned()),
                ("missing", why, Some(remedy), None) => Availability::missing(why, remedy),
                _ => return None,
            };
            Some(MechanismSupport { mechanism, state })
        });
        let offers: Vec<MechanismSupport> = lines.collect::<Option<_>>()?;
        let is_complete = offers.iter().map(|offer| offer.mechanism).eq(KernelMechanism::ALL);
        is_complete.then_some(KernelSupport { mechanisms: offers })
    }
}

/// Prints the kernel's mechanisms if the argument asks for it, and returns whether it did.
///
/// Call it first in a program's main function: the process must have one thread.
pub(crate) fn print_if_requested(argument: &std::ffi::OsStr) -> bool {
    let is_requested = argument == PROBE_ARGUMENT;
    if is_requested {
        // The reader may have exited. Then there is nothing left to report.
        let _ = io::Write::write_all(
            &mut io::stdout(),
            KernelSupport::probe_here().encode().as_bytes(),
        );
    }
    is_requested
}

/// Returns the text without line and field separators.
fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
