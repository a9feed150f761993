//! One attempt to get out, as data: what is prepared, what is called, and what is known beforehand of who stops it. How
//! it is run and how its success is seen from outside stands elsewhere.

use serde_json::{Value, json};

use super::world::World;

/// How long a call of a case may take that is not about time, in milliseconds.
const TIMEOUT_MS: u64 = 20_000;

/// An attempt to get out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) attack: Attack,
    /// A shell script that a person outside ran before, in the case's own directory.
    pub(super) prepared: &'static str,
    /// Names in the case's directory that must be afterwards what they were before, absent ones too.
    pub(super) guarded: &'static [&'static str],
    pub(super) control: Control,
    /// The configurations in which the attempt is known to succeed.
    pub(super) open: &'static [Configuration],
    pub(super) timeout_ms: u64,
    /// Whether hosts are granted to the call.
    pub(super) hosts: Hosts,
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attack {
    /// A line for `bash`, in the case's directory.
    Line(&'static str),
    /// A Python script, kept as a file that `bash` runs: no word of the line says what it does.
    Python(&'static str),
    /// Another tool, with its input as JSON.
    Tool(&'static str, &'static str),
    /// Another tool, many times, while a process outside exchanges two entries of the case's directory, `swap` and `link`.
    Race(&'static str, &'static str),
}

/// The run that shows that the attempt succeeds where nothing stops it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    /// The same call, by a haft with every layer off.
    Same,
    /// The same, if root runs the test.
    SameAsRoot,
    /// The same; whether it succeeds depends on what this machine offers.
    SameIfOffered,
    /// This line by a bare `bash`, because haft itself has no switch for what stops the call.
    Bare(&'static str),
    /// None: success would harm the machine.
    Unsafe,
}

/// The expectation for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It must be stopped.
    Stopped,
    /// It must succeed; else it is no attempt.
    Out,
    /// It may succeed, on some machines.
    OutIfOffered,
}

/// Which hosts a call is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    None,
    /// All public ones.
    Public,
}

/// Which layers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Configuration {
    /// Words and the kernel with all its mechanisms.
    Everything,
    /// The kernel alone: no rule, no network guard, no watchdog refuses anything.
    NoWords,
    /// Words alone.
    NoKernel,
    /// The kernel alone, without namespaces.
    NoNamespaces,
    /// The kernel alone, without Landlock.
    NoLandlock,
    /// The kernel alone, without system call filters.
    NoSeccomp,
    /// Nothing but what no switch turns off.
    Control,
}

pub(super) const fn bash(name: &'static str, line: &'static str) -> Case {
    Case::new(name, Attack::Line(line))
}

pub(super) const fn python(name: &'static str, script: &'static str) -> Case {
    Case::new(name, Attack::Python(script))
}

/// A tool beside `bash`; `bare` does without haft what it is asked to do.
pub(super) const fn tool(
    name: &'static str,
    tool: &'static str,
    input: &'static str,
    bare: &'static str,
) -> Case {
    Case::new(name, Attack::Tool(tool, input)).control(Control::Bare(bare))
}

/// A tool that works in a directory that is exchanged for a link to outside all the time.
pub(super) const fn race(
    name: &'static str,
    tool: &'static str,
    input: &'static str,
    bare: &'static str,
) -> Case {
    let case = Case::new(name, Attack::Race(tool, input)).control(Control::Bare(bare));
    case.prepared("mkdir swap; ln -s {outside} link; echo inside | tee swap/secret > swap/victim")
}

impl Case {
    const fn new(name: &'static str, attack: Attack) -> Self {
        Self {
            name,
            attack,
            prepared: "",
            guarded: &[],
            control: Control::Same,
            open: &[],
            timeout_ms: TIMEOUT_MS,
            hosts: Hosts::None,
        }
    }

    pub(super) const fn prepared(self, prepared: &'static str) -> Self {
        Self { prepared, ..self }
    }

    pub(super) const fn guarding(self, guarded: &'static [&'static str]) -> Self {
        Self { guarded, ..self }
    }

    pub(super) const fn control(self, control: Control) -> Self {
        Self { control, ..self }
    }

    /// Says where the attempt is known to succeed.
    pub(super) const fn open(self, open: &'static [Configuration]) -> Self {
        Self { open, ..self }
    }

    pub(super) const fn within_ms(self, timeout_ms: u64) -> Self {
        Self { timeout_ms, ..self }
    }

    pub(super) const fn with_public_hosts(self) -> Self {
        Self { hosts: Hosts::Public, ..self }
    }

    /// Returns whether the attempt may be made where these layers hold.
    pub(super) fn runs_in(&self, configuration: Configuration) -> bool {
        use Configuration::{Control as Nothing, NoKernel, NoNamespaces};
        let is_root = rustix::process::geteuid().is_root();
        match self.control {
            Control::Unsafe => !matches!(configuration, NoKernel | NoNamespaces | Nothing),
            Control::SameAsRoot => is_root || self.known_in(configuration) == Known::Stopped,
            Control::Same | Control::SameIfOffered | Control::Bare(_) => true,
        }
    }

    /// Returns what is known beforehand of the attempt where these layers hold.
    pub(super) fn known_in(&self, configuration: Configuration) -> Known {
        let is_control = configuration == Configuration::Control;
        // Rules do not see the system calls of a script, and haft's own supervision needs no kernel.
        let is_wordless = configuration == Configuration::NoKernel
            && matches!(self.attack, Attack::Python(_))
            && !matches!(self.control, Control::Bare(_));
        if !is_control && !is_wordless && !self.open.contains(&configuration) {
            return Known::Stopped;
        }
        match self.control {
            Control::Same | Control::SameAsRoot | Control::Bare(_) => Known::Out,
            Control::SameIfOffered | Control::Unsafe => Known::OutIfOffered,
        }
    }

    /// Returns whether the attempt is after the journal.
    pub(super) fn is_after_the_journal(&self) -> bool {
        match self.attack {
            Attack::Line(text) | Attack::Python(text) => text.contains("journal"),
            Attack::Tool(_, text) | Attack::Race(_, text) => text.contains("journal"),
        }
    }

    /// Returns the tool and the input of the call, for a directory of the case's own.
    pub(super) fn call(&self, world: &World, directory: &str) -> (&'static str, Value) {
        let line = match self.attack {
            Attack::Tool(tool, input) | Attack::Race(tool, input) => {
                let input = world.filled(input, directory);
                let parsed = serde_json::from_str(&input);
                return (
                    tool,
                    parsed.unwrap_or_else(|err| panic!("{}: {err}: {input}", self.name)),
                );
            }
            Attack::Line(line) => world.filled(line, directory),
            Attack::Python(_) => "python3 -ISB attack.py".to_owned(),
        };
        let opts = json!({"cwd": directory, "timeout_ms": self.timeout_ms});
        ("bash", json!({"cmd": line, "opts": opts}))
    }
}

impl Configuration {
    /// Those that are in the table, in the order of its columns.
    pub(super) const TABLE: [Self; 6] = [
        Self::Everything,
        Self::NoWords,
        Self::NoKernel,
        Self::NoNamespaces,
        Self::NoLandlock,
        Self::NoSeccomp,
    ];

    /// Returns the heading of the column.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Everything => "all on",
            Self::NoWords => "no words",
            Self::NoKernel => "no kernel",
            Self::NoNamespaces => "no namespaces",
            Self::NoLandlock => "no Landlock",
            Self::NoSeccomp => "no seccomp",
            Self::Control => "nothing",
        }
    }

    /// Returns whether rules, network guard and watchdog have a say.
    pub(super) fn has_words(self) -> bool {
        matches!(self, Self::Everything | Self::NoKernel)
    }

    /// Returns the mechanisms of the kernel that are used, or nothing if commands are not confined.
    pub(super) fn mechanisms(self) -> Option<&'static str> {
        match self {
            Self::Everything | Self::NoWords => Some("namespaces,landlock,seccomp"),
            Self::NoNamespaces => Some("landlock,seccomp"),
            Self::NoLandlock => Some("namespaces,seccomp"),
            Self::NoSeccomp => Some("namespaces,landlock"),
            Self::NoKernel | Self::Control => None,
        }
    }
}
