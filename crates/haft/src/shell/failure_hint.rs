//! Explains which part of the confinement made a command fail, from the error texts in its output. Programs print
//! «read-only file system» and know nothing of haft. The hint says which setting applies and who can change it. If no
//! text points to the sandbox, there is no hint, because a wrong guess misleads the reader.

use std::path::{Path, PathBuf};

use haft_contract::{
    ConfinementLevel, ConfinementReport, DecidingRule, EnforcedConfinement, Excerpt, ProcessEnding,
    WithheldAccess, WithheldPath,
};
use haft_sandbox::ResourceLimits;

use crate::roots::lexical_path;
use crate::sandbox::{DeniedPaths, Sandbox, protected_words};

/// Lines at the end of an output in which error texts are looked for.
pub(crate) const HINDRANCE_LINES_MAX: usize = 200;

/// The signal that ends a process whose file has grown too large, on all but two architectures.
const SIGXFSZ: i32 = 25;
/// The number that a shell adds to a signal to get an exit status.
const STATUS_OF_SIGNAL: i32 = 128;

/// Errors from mounts of the sandbox. Every read-only place is read-only because of the sandbox. A protected name is
/// busy for a command that moves or removes it, or a directory around it.
const MOUNT_ERRORS: &[&str] =
    &["Read-only file system", "EROFS", "Device or resource busy", "EBUSY"];
/// Errors that the kernel returns for many reasons; the sandbox is one of them.
const REFUSAL_ERRORS: &[&str] = &[
    "Permission denied",
    "Operation not permitted",
    "EACCES",
    "EPERM",
    "could not lock config file",
    "could not write config file",
];

/// Errors about a path that is not there. In a directory that rules hide nothing is there.
const ABSENCE_ERRORS: &[&str] = &["No such file or directory", "ENOENT"];
/// Errors of programs that cannot reach a host by its name, or have no network.
const NETWORK_ERRORS: &[&str] = &[
    "Temporary failure in name resolution",
    "Could not resolve",
    "could not resolve host",
    "Name or service not known",
    "nodename nor servname provided",
    "No address associated with hostname",
    "failed to lookup address",
    "dial tcp: lookup",
    "getaddrinfo",
    "ENOTFOUND",
    "EAI_AGAIN",
    "Network is unreachable",
    "ENETUNREACH",
];

/// A bound, and what programs say that run into it.
struct ResourceBound {
    /// The error messages that programs print when they meet the limit.
    texts: &'static [&'static str],
    /// The subject of the limit, as the hint names it.
    what: &'static str,
    /// The key of the setting that changes the limit.
    setting: &'static str,
    /// Returns the configured limit, in the unit of its setting.
    value: fn(&ResourceLimits) -> u64,
}

/// The limit of one file.
const FILE_BYTES: ResourceBound = ResourceBound {
    texts: &["File too large", "File size limit exceeded", "EFBIG"],
    what: "one file of a command",
    setting: "file_bytes",
    value: |resources| resources.file_bytes,
};
/// The limit of all temporary files together.
const TEMP_BYTES: ResourceBound = ResourceBound {
    texts: &["No space left on device", "ENOSPC"],
    what: "what a command puts into /tmp, /dev/shm and its home",
    setting: "temp_bytes",
    value: |resources| resources.temp_bytes,
};
/// The limits whose error messages a hint explains.
const RESOURCE_BOUNDS: &[ResourceBound] = &[
    FILE_BYTES,
    ResourceBound {
        texts: &[
            "MemoryError",
            "annot allocate memory",
            "memory allocation of",
            "std::bad_alloc",
            "virtual memory exhausted",
            "Array buffer allocation failed",
            "out of memory allocating",
            "runtime: out of memory",
            "insufficient memory for the Java",
            "ENOMEM",
        ],
        what: "the memory of a command",
        setting: "memory_bytes",
        value: |resources| resources.memory_bytes,
    },
    ResourceBound {
        texts: &[
            "Resource temporarily unavailable",
            "can't start new thread",
            "unable to create native thread",
            "EAGAIN",
        ],
        what: "the number of processes and threads of a command",
        setting: "processes",
        value: |resources| u64::from(resources.processes),
    },
    ResourceBound {
        texts: &["Too many open files", "EMFILE"],
        what: "the number of open files of a process",
        setting: "open_files",
        value: |resources| u64::from(resources.open_files),
    },
];

/// Refused hosts that a hint names.
pub(crate) const REFUSED_HOSTS_MAX: usize = 3;

/// Returns one sentence about the hosts that the proxy of a command did not connect to, and why.
pub(super) fn refused_hosts_hint(confined: &ConfinementReport) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    let refused = confined.connections.iter().filter(|connection| !connection.admitted);
    for connection in refused {
        if !reasons.contains(&connection.detail.as_str()) {
            reasons.push(&connection.detail);
        }
    }
    let hidden = reasons.len().saturating_sub(REFUSED_HOSTS_MAX);
    reasons.truncate(REFUSED_HOSTS_MAX);
    let mut hint = reasons.join("; ");
    if hidden > 0 {
        hint.push_str(&format!("; and {hidden} more hosts"));
    }
    (!hint.is_empty()).then_some(hint)
}

/// Returns the status of a command that failed by itself, as a shell would have it.
pub(super) fn failed_status(ending: ProcessEnding) -> Option<i32> {
    match ending {
        ProcessEnding::Exited(0) | ProcessEnding::TimedOut | ProcessEnding::Aborted => None,
        ProcessEnding::Exited(status) => Some(status),
        ProcessEnding::Signalled(signal) => Some(STATUS_OF_SIGNAL.saturating_add(signal)),
    }
}

/// Where a command ran, and what it could reach.
pub(crate) struct CommandContext<'a> {
    /// The paths that rules kept from the command.
    pub(crate) withheld: &'a [WithheldPath],
    /// The rules that kept them.
    pub(crate) denied: Option<&'a DeniedPaths>,
    /// The sandbox that confined the command.
    pub(crate) sandbox: &'a Sandbox,
    /// The directories that it could change.
    pub(crate) writable: &'a [PathBuf],
    /// The directory that it was started in.
    pub(crate) directory: &'a Path,
    /// The restrictions that were in force.
    pub(crate) enforced: EnforcedConfinement,
    /// The words of the command.
    pub(crate) command: &'a str,
    /// Whether it could reach some host through its proxy.
    pub(crate) has_hosts: bool,
}

impl CommandContext<'_> {
    /// Returns one sentence about what was in the way of a command that failed with this status, and what to do about it.
    pub(super) fn failure_hint(&self, status: i32, output: &Excerpt) -> Option<String> {
        if self.sandbox.is_off() {
            return None;
        }
        if status == STATUS_OF_SIGNAL + SIGXFSZ {
            return Some(self.hint_for_bound(&FILE_BYTES));
        }
        let text = output.tail.as_ref().unwrap_or(&output.head);
        text.lines().rev().take(HINDRANCE_LINES_MAX).find_map(|line| {
            let says = |texts: &[&str]| texts.iter().any(|text| line.contains(text));
            if says(NETWORK_ERRORS) {
                return self.network_hint(line);
            }
            let is_refused = says(MOUNT_ERRORS) || says(REFUSAL_ERRORS);
            if is_refused || says(ABSENCE_ERRORS) {
                let mut places = path_words(line);
                let hint = places.find_map(|place| self.hint_for_withheld(place, is_refused));
                if hint.is_some() {
                    return hint;
                }
            }
            // Files of earlier commands are gone, which a model does not expect.
            if says(ABSENCE_ERRORS) && self.is_mounted() {
                let is_own = |place: &str| self.writable.iter().any(|root| Path::new(place).starts_with(root));
                let mut places = path_words(line);
                let place = places.find(|place| place.starts_with("/tmp/") && !is_own(place))?;
                return Some(format!(
                    "{place} is not there: /tmp is empty at the start of every command, so keep files in the workspace"
                ));
            }
            if says(MOUNT_ERRORS) {
                let named = path_words(line).find_map(|place| self.hint_for_path(place, true));
                return Some(named.unwrap_or_else(|| {
                    if self.writable.is_empty() {
                        return self.hint_without_paths();
                    }
                    format!(
                        "commands can change only {}, and there neither protected names such as .git/config nor \
                         directories around those: do without, or ask the user to change roots, or unprotect of \
                         [sandbox], in haft.toml",
                        self.changeable()
                    )
                }));
            }
            if says(REFUSAL_ERRORS) {
                return path_words(line)
                    .find_map(|place| self.hint_for_path(place, !self.is_mounted()));
            }
            if says(TEMP_BYTES.texts) {
                return Some(self.hint_for_full_disk(line));
            }
            let bound = RESOURCE_BOUNDS.iter().find(|bound| says(bound.texts))?;
            Some(self.hint_for_bound(bound))
        })
    }

    /// Returns one sentence about what was in the way of a tool whose process failed with this message.
    pub(crate) fn tool_hint(&self, message: &str) -> Option<String> {
        if self.sandbox.is_off() {
            return None;
        }
        message.lines().find_map(|line| {
            let says = |texts: &[&str]| texts.iter().any(|text| line.contains(text));
            if says(NETWORK_ERRORS) {
                return self.network_hint(line);
            }
            let is_refused = says(MOUNT_ERRORS) || says(REFUSAL_ERRORS);
            let is_missing = says(ABSENCE_ERRORS);
            path_words(line).filter(|_| is_refused || is_missing).find_map(|place| {
                let withheld = self.hint_for_withheld(place, is_refused);
                withheld.or_else(|| self.hint_for_protected(place).filter(|_| is_refused))
            })
        })
    }

    /// Returns the hint for a command that found no space. Either a disk of the user is full, or the bound of temporary files
    /// is reached; the error text need not say which.
    fn hint_for_full_disk(&self, line: &str) -> String {
        let is_own = |path: &Path| self.writable.iter().any(|root| path.starts_with(root));
        let named = path_words(line).find(|place| place.starts_with('/'));
        let full = self.writable.iter().find(|root| is_full(root));
        match (named, full) {
            (Some(place), _) if is_own(Path::new(place)) => {
                format!("no space is left on the disk of {place}: free some there")
            }
            (None, Some(root)) => {
                format!("no space is left on the disk of {}: free some there", root.display())
            }
            (Some(_), _) => self.hint_for_bound(&TEMP_BYTES),
            (None, None) => format!(
                "no space is left where the command wrote: free some there; {}",
                self.hint_for_bound(&TEMP_BYTES)
            ),
        }
    }

    /// Returns the hint for a command that the sandbox kept from the network.
    fn network_hint(&self, line: &str) -> Option<String> {
        let host = host_word(line).or_else(|| host_of_url(self.command));
        (self.enforced.network == ConfinementLevel::Kernel)
            .then(|| no_network_text(host, self.has_hosts))
    }

    /// Returns the hint for a command that met a limit.
    fn hint_for_bound(&self, bound: &ResourceBound) -> String {
        let ResourceBound { what, setting, value, .. } = bound;
        let value = value(&self.sandbox.resources);
        format!("{what} is bounded by {setting} = {value} of [sandbox] in haft.toml")
    }

    /// Returns the rule that kept a path from the command. A path that was not there counts only within a directory that
    /// the rule hides.
    fn hint_for_withheld(&self, place: &str, is_refused: bool) -> Option<String> {
        let denied = self.denied?;
        let path = lexical_path(&self.directory.join(place));
        let listed = self.withheld.iter().find(|withheld| {
            let covered = denied.full_paths(&withheld.path);
            covered.iter().any(|it| path.starts_with(it) && (is_refused || path != *it))
        });
        let withheld = match listed {
            Some(listed) => listed.clone(),
            None if is_refused => denied.withheld_at(&path)?,
            None => return None,
        };
        let WithheldPath { path, access, rule } = withheld;
        let DecidingRule { scope, permission, pattern, action } = rule;
        let what = match access {
            WithheldAccess::Read => "is hidden from this command by",
            WithheldAccess::Write => "cannot be changed by this command because of",
        };
        Some(format!(
            "{path} {what} the {scope} rule `{action} {permission} {pattern:?}`: work without it, or ask the user to \
             change the rule"
        ))
    }

    /// Returns the hint for a path that is protected, because programs obey what it says.
    fn hint_for_protected(&self, place: &str) -> Option<String> {
        let path = lexical_path(&self.directory.join(place));
        let root = self.writable.iter().find(|root| path.starts_with(root))?;
        let within = path.strip_prefix(root).ok()?;
        let pattern = self.sandbox.protected.matching_beneath(root, within)?;
        let is_protected = protected_words(place, pattern);
        Some(format!(
            "{is_protected}, because others run or obey what it says: leave it, or tell the user \
             what to change, or which pattern to list under unprotect of [sandbox] in haft.toml"
        ))
    }

    /// Returns why the command could not access a path. A read-only path is a reason only if the command meant to
    /// change it, which not every error text shows.
    fn hint_for_path(&self, place: &str, is_change: bool) -> Option<String> {
        let path = lexical_path(&self.directory.join(place));
        if let Some(hint) = self.hint_for_protected(place) {
            return Some(hint);
        }
        let within = |places: &[PathBuf]| places.iter().any(|one| path.starts_with(one));
        if within(&self.sandbox.hidden) {
            return Some(format!(
                "{place} holds credentials or haft's own state, which no command reads: work without it"
            ));
        }
        let is_private = self.is_mounted() && self.sandbox.is_private(&path);
        if is_private || within(self.writable) || path.starts_with("/dev") {
            return None;
        }
        if is_change {
            if self.writable.is_empty() {
                return Some(self.hint_without_paths());
            }
            let changeable = self.changeable();
            return Some(format!(
                "{place} is outside of what commands can change, which is {changeable}: work there, or ask the user to \
                 add a directory to roots in haft.toml"
            ));
        }
        let is_shown = within(&self.sandbox.readable) || path.starts_with("/proc");
        (!is_shown).then(|| {
            format!(
                "{place} is outside of what commands see: work without it, or ask the user to add a directory to \
                 readable of [sandbox], or to roots, in haft.toml"
            )
        })
    }

    /// Returns the hint for a tool whose commands may change no files.
    fn hint_without_paths(&self) -> String {
        let private = self.private();
        format!(
            "this tool requires no fs.write, so its commands change no file but, for the call alone, in {private}: do \
             without, or ask the user to let its declaration require it"
        )
    }

    /// Returns the directories that the command could change, as the hint lists them.
    fn changeable(&self) -> String {
        let roots: Vec<String> =
            self.writable.iter().map(|root| root.display().to_string()).collect();
        format!("{} and, for the call alone, {}", roots.join(", "), self.private())
    }

    /// Returns where every command can write, in places that go with the call.
    fn private(&self) -> &'static str {
        if self.is_mounted() { "/tmp and home" } else { "$TMPDIR" }
    }

    /// Returns whether the command had private mounts. Without them, it has no private `/tmp` and home, and Landlock
    /// returns the same errors as ordinary permissions.
    fn is_mounted(&self) -> bool {
        self.enforced.processes == ConfinementLevel::Kernel
    }
}

/// Returns whether the disk of a directory has no room for another file.
fn is_full(directory: &Path) -> bool {
    rustix::fs::statvfs(directory).is_ok_and(|disk| {
        let has_inodes = disk.f_files == 0 || disk.f_favail > 0;
        disk.f_bavail == 0 || !has_inodes
    })
}

/// Returns what a process without the network can do, with the host that it wanted.
fn no_network_text(host: Option<String>, has_hosts: bool) -> String {
    let what = match has_hosts {
        true => "commands here reach only the granted hosts, through a proxy",
        false => "commands have no network here",
    };
    let wanted = host.as_deref().unwrap_or("the host");
    format!("{what}: work offline, or tell the user that you need {wanted}")
}

/// Returns the host of the first URL in the words of a command. Other words may be files.
fn host_of_url(command: &str) -> Option<String> {
    let (_, rest) = command.split_once("://")?;
    let end = rest.find(|one: char| !(one.is_ascii_alphanumeric() || "-._@".contains(one)));
    let authority = rest.get(..end.unwrap_or(rest.len()))?;
    let host = authority.rsplit('@').next().unwrap_or(authority);
    host.contains('.').then(|| host.to_ascii_lowercase())
}

/// Returns the host that an error text names.
fn host_word(line: &str) -> Option<String> {
    let is_separator = |one: char| !(one.is_ascii_alphanumeric() || "-._".contains(one));
    let mut words = line.split(is_separator).map(|word| word.trim_matches(['.', '-']));
    let host = words.find(|word| {
        let last = word.rsplit('.').next().unwrap_or_default();
        let is_name = word.contains('.') && last.len() >= 2;
        // A file, such as `client.py`, has an ending that no host has.
        is_name
            && last.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !SOURCE_ENDINGS.contains(&last)
            && !word.split('.').any(str::is_empty)
    });
    host.map(str::to_ascii_lowercase)
}

/// Endings of files that error texts name.
const SOURCE_ENDINGS: &[&str] = &[
    "py", "js", "ts", "rs", "go", "rb", "java", "sh", "json", "toml", "html", "URLError",
    "gaierror",
];

/// Returns the words of an error text that may be paths, without the program name in front.
fn path_words(line: &str) -> impl Iterator<Item = &str> {
    let line = match line.split_once(": ") {
        Some((program, rest)) if !program.contains(char::is_whitespace) => rest,
        Some(_) | None => line,
    };
    let is_separator = |char: char| char.is_whitespace() || "\"'`‘’“”:;,()[]<>=".contains(char);
    line.split(is_separator).filter(|word| word.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests;
