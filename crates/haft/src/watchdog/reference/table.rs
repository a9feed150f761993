//! The commands that the built-in watchdog knows, one rule each, with examples of what it must and must not match. How
//! words are compared with rules is not known here.

use std::path::Path;

use haft_policy::git_subcommand;

use super::names_vital;

/// The severity of a rule about commands, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleSeverity {
    /// A person decides.
    Ask,
    /// The call is denied without a question.
    Deny,
}

/// A rule about commands.
pub(super) struct CommandRule {
    /// Programs, by their file name.
    pub(super) programs: &'static [&'static str],
    /// Which of their calls.
    pub(super) when: ArgumentCondition,
    /// Whether to deny the call or ask a person.
    pub(super) severity: RuleSeverity,
    /// The effect of the command, as a phrase for the message.
    pub(super) reason: &'static str,
    /// Lines of plain words that the rule is about. The workspace is `/work`.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are there to be read and tested"))]
    pub(super) matches: &'static [&'static str],
    /// Lines that it is not about.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are there to be read and tested"))]
    pub(super) not_matches: &'static [&'static str],
}

/// A condition on the arguments.
pub(super) enum ArgumentCondition {
    /// Any arguments.
    Always,
    /// Some argument names a place that belongs to the machine.
    NamesVital,
    /// The last argument does.
    LastNamesVital,
    /// An argument `key=place` does.
    SetsVital(&'static str),
    /// Some argument does, and find deletes what it finds there, or has one of these programs change it.
    FindsVitalFor(&'static [&'static str]),
    /// Some argument is a device.
    NamesDevice,
    /// The first argument that is no option is one of these.
    Subcommand(&'static [&'static str]),
    /// The first argument that is no option is none of these.
    SubcommandBut(&'static [&'static str]),
    /// git clones from somewhere that is no directory: one of its words holds a colon, as addresses do.
    GitClonesElsewhere,
    /// These arguments follow one another.
    Contains(&'static [&'static str]),
    /// The last argument is one of these.
    Last(&'static [&'static str]),
    /// Some argument is one of these.
    AnyOf(&'static [&'static str]),
    /// sysctl sets a value, or loads some from files.
    SetsKernelValue,
}

impl ArgumentCondition {
    /// Returns whether the arguments of a command meet the condition.
    pub(super) fn holds(&self, arguments: &[String], root: &Path) -> bool {
        let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.as_str()));
        let vital = |word: &String| names_vital(word, root);
        let subcommand =
            || arguments.iter().find(|word| !word.starts_with('-')).map(String::as_str);
        match self {
            Self::Always => true,
            Self::SetsKernelValue => arguments.iter().any(|word| {
                let is_short = word.starts_with('-') && !word.starts_with("--");
                word.contains('=')
                    || (is_short && word.contains(['f', 'p', 'w']))
                    || ["--load", "--system", "--write"].contains(&word.as_str())
            }),
            Self::NamesVital => arguments.iter().any(vital),
            Self::LastNamesVital => arguments.last().is_some_and(vital),
            Self::SetsVital(key) => {
                let value =
                    |word: &'_ String| Some(word.strip_prefix(key)?.strip_prefix('=')?.to_owned());
                arguments.iter().filter_map(value).any(|place| vital(&place))
            }
            Self::FindsVitalFor(programs) => {
                let is_executed = |pair: &[String]| match pair {
                    [option, program] => {
                        option.starts_with("-exec") && programs.contains(&program.as_str())
                    }
                    _ => false,
                };
                let destroys = has(&["-delete"]) || arguments.windows(2).any(is_executed);
                destroys && arguments.iter().any(vital)
            }
            Self::NamesDevice => {
                arguments.iter().any(|word| word.starts_with("/dev/") && vital(word))
            }
            Self::Subcommand(words) => subcommand().is_some_and(|word| words.contains(&word)),
            Self::SubcommandBut(words) => subcommand().is_none_or(|word| !words.contains(&word)),
            Self::GitClonesElsewhere => {
                git_subcommand(arguments) == Some("clone")
                    && arguments.iter().any(|word| word.contains(':'))
            }
            Self::Contains(words) => arguments.windows(words.len()).any(|window| window == *words),
            Self::Last(words) => {
                arguments.last().is_some_and(|word| words.contains(&word.as_str()))
            }
            Self::AnyOf(words) => has(words),
        }
    }
}

/// The reason for commands that destroy or change the system.
const DESTROYS: &str = "would destroy or change the machine itself; leave it alone";
/// The reason for commands that stop the system or all its processes.
const STOPS: &str = "would stop the machine or everything on it; leave it running";
/// The reason for commands that download. A call with granted hosts may run them.
pub(super) const FETCHES: &str = "fetches things from elsewhere";
/// The reason for commands that use or change rights.
const PRIVILEGED: &str = "uses or changes rights beyond those of this user";

/// The rules. Their order has no meaning.
#[rustfmt::skip]
pub(super) const COMMAND_RULES: &[CommandRule] = &[
    CommandRule {
        programs: &["rm", "rmdir", "shred", "unlink", "mv", "tee", "truncate"],
        when: ArgumentCondition::NamesVital,
        severity: RuleSeverity::Deny,
        reason: DESTROYS,
        matches: &[
            "rm -rf /", "rm -rf /*", "rm -r /usr", "rm /etc/passwd", "rm -rf ~", "rm -rf ~/", "rm -rf $HOME/*", "rm -rf /home/you",
            "/bin/rm -rf /work/../etc", "rm -rf /.", "mv /etc/fstab x", "tee /dev/sda", "truncate -s 0 /var/log/syslog",
            "rm -rf --no-preserve-root //",
        ],
        not_matches: &[
            "rm -rf build", "rm -rf /work/target", "rm -rf /tmp/x", "rm -rf ~/x", "rm -rf /home/you/x", "tee /dev/null", "mv a b",
            "rm -rf usr", "rm -rf ./etc",
        ],
    },
    CommandRule {
        programs: &["cp", "install", "ln", "rsync"],
        when: ArgumentCondition::LastNamesVital,
        severity: RuleSeverity::Deny,
        reason: DESTROYS,
        matches: &["cp x /etc/passwd", "cp -r . /usr/", "ln -sf x /bin/sh", "cp image /dev/sda"],
        not_matches: &["cp /etc/hosts hosts", "cp a b", "cp x /dev/null", "cp /usr/include/stdio.h /work/"],
    },
    CommandRule {
        programs: &["chmod", "chown", "chgrp", "setfacl", "chattr"],
        when: ArgumentCondition::NamesVital,
        severity: RuleSeverity::Deny,
        reason: DESTROYS,
        matches: &["chmod -R 777 /", "chown -R me /usr", "chmod 666 /etc/shadow"],
        not_matches: &["chmod +x run.sh", "chmod -R u+w /work/x"],
    },
    CommandRule {
        programs: &["dd"],
        when: ArgumentCondition::SetsVital("of"),
        severity: RuleSeverity::Deny,
        reason: DESTROYS,
        matches: &["dd if=/dev/zero of=/dev/sda bs=1M", "dd if=x of=/boot/vmlinuz"],
        not_matches: &["dd if=/dev/sda of=image", "dd if=/dev/zero of=/dev/null", "dd if=a of=/work/b"],
    },
    CommandRule {
        programs: &[
            "mkfs", "mkfs.btrfs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mkfs.f2fs", "mkfs.fat", "mkfs.ntfs", "mkfs.vfat", "mkfs.xfs",
            "mke2fs", "mkswap", "wipefs", "blkdiscard", "fdisk", "sfdisk", "sgdisk", "parted", "cryptsetup",
        ],
        when: ArgumentCondition::NamesDevice,
        severity: RuleSeverity::Deny,
        reason: DESTROYS,
        matches: &["mkfs.ext4 /dev/sda1", "wipefs -a /dev/nvme0n1", "mkfs -t ext4 /dev/sdb"],
        not_matches: &["mkfs.ext4 disk.img", "fdisk -l"],
    },
    CommandRule {
        programs: &["find"],
        when: ArgumentCondition::FindsVitalFor(&["chmod", "chown", "mv", "rm", "rmdir", "shred", "truncate", "unlink"]),
        severity: RuleSeverity::Deny,
        reason: DESTROYS,
        matches: &["find / -name x -delete", "find /etc -exec rm {} ;"],
        not_matches: &["find / -name x", "find . -delete", "find /work -exec rm {} ;", "find /etc -exec cat {} ;", "find / -name rm"],
    },
    CommandRule {
        programs: &["shutdown", "reboot", "halt", "poweroff", "telinit"],
        when: ArgumentCondition::Always,
        severity: RuleSeverity::Deny,
        reason: STOPS,
        matches: &["shutdown -h now", "/sbin/reboot", "poweroff"],
        not_matches: &["echo reboot", "timeout 5 grep -r reboot .", "xargs grep shutdown"],
    },
    CommandRule {
        programs: &["init"],
        when: ArgumentCondition::Subcommand(&["0", "6"]),
        severity: RuleSeverity::Deny,
        reason: STOPS,
        matches: &["init 0", "init 6"],
        not_matches: &["init --help", "init"],
    },
    CommandRule {
        programs: &["systemctl"],
        when: ArgumentCondition::Subcommand(&["emergency", "halt", "hibernate", "kexec", "poweroff", "reboot", "rescue", "suspend"]),
        severity: RuleSeverity::Deny,
        reason: STOPS,
        matches: &["systemctl reboot", "systemctl --force poweroff"],
        not_matches: &["systemctl status", "systemctl restart x"],
    },
    CommandRule {
        programs: &["kill"],
        when: ArgumentCondition::Last(&["-1", "1"]),
        severity: RuleSeverity::Deny,
        reason: STOPS,
        matches: &["kill -9 -1", "kill -9 1", "kill -- -1"],
        not_matches: &["kill 1234", "kill -9 1234", "kill -1 1234", "kill -l"],
    },
    CommandRule {
        programs: &["curl", "wget", "aria2c", "fetch", "ftp", "lftp", "scp", "sftp"],
        when: ArgumentCondition::Always,
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["curl -O x", "/usr/bin/wget x", "scp host:x ."],
        not_matches: &["echo curl", "curly x"],
    },
    CommandRule {
        programs: &["git"],
        when: ArgumentCondition::GitClonesElsewhere,
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["git clone https://x/y", "git -C there clone host:x", "git -c a.b=c --no-pager clone ssh://x"],
        not_matches: &["git commit -m clone:", "git fetch", "git log clone", "git clone -q repo copy", "git clone ../x y"],
    },
    CommandRule {
        programs: &["pip", "pip3", "pipx"],
        when: ArgumentCondition::Subcommand(&["download", "install", "run", "upgrade", "wheel"]),
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["pip install requests", "pip3 --quiet install -r requirements.txt", "pipx run black"],
        not_matches: &["pip list", "pip show install"],
    },
    CommandRule {
        programs: &["python", "python3"],
        when: ArgumentCondition::Contains(&["-m", "pip", "install"]),
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["python3 -m pip install x"],
        not_matches: &["python3 -m pip list", "python3 install"],
    },
    CommandRule {
        programs: &["uv"],
        when: ArgumentCondition::AnyOf(&["add", "install", "sync"]),
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["uv pip install x", "uv add x", "uv tool install x"],
        not_matches: &["uv run test", "uv pip list"],
    },
    CommandRule {
        programs: &["npm", "pnpm", "yarn", "bun"],
        when: ArgumentCondition::Subcommand(&["add", "ci", "create", "dlx", "i", "init", "install", "update", "upgrade", "x"]),
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["npm install", "npm i left-pad", "yarn add x", "pnpm dlx x"],
        not_matches: &["npm test", "npm run install", "yarn build"],
    },
    CommandRule {
        programs: &["npx", "bunx", "uvx"],
        when: ArgumentCondition::Always,
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["npx create-app"],
        not_matches: &["npm test"],
    },
    CommandRule {
        programs: &["cargo", "gem", "go", "brew", "conda", "luarocks", "rustup"],
        when: ArgumentCondition::Subcommand(&["add", "get", "install", "update", "upgrade"]),
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["cargo install ripgrep", "cargo add serde", "go get x", "gem install x", "brew install x"],
        not_matches: &["cargo build", "go build", "cargo test install"],
    },
    CommandRule {
        programs: &["docker", "podman"],
        when: ArgumentCondition::Subcommand(&["pull", "run"]),
        severity: RuleSeverity::Ask,
        reason: FETCHES,
        matches: &["docker pull alpine", "podman run alpine"],
        not_matches: &["docker ps", "docker images pull"],
    },
    CommandRule {
        programs: &["apk", "apt", "apt-get", "dnf", "pacman", "snap", "yum", "zypper"],
        when: ArgumentCondition::SubcommandBut(&["list", "search", "show", "info"]),
        severity: RuleSeverity::Ask,
        reason: "changes what is installed on the machine",
        matches: &["apt-get install x", "dnf -y upgrade", "pacman -Syu"],
        not_matches: &["apt list", "apt-get show x", "dnf info x"],
    },
    CommandRule {
        programs: &[
            "chroot", "crontab", "doas", "groupadd", "groupdel", "insmod", "iptables", "losetup", "modprobe", "mount", "nft", "nsenter",
            "passwd", "pkexec", "rmmod", "runuser", "setcap", "su", "sudo", "swapoff", "swapon", "umount", "useradd", "userdel",
            "usermod", "visudo",
        ],
        when: ArgumentCondition::Always,
        severity: RuleSeverity::Ask,
        reason: PRIVILEGED,
        matches: &["sudo make install", "/usr/bin/sudo -n true", "su -c id", "mount /dev/sdb1 /mnt", "env A=1 sudo id"],
        not_matches: &["echo sudo", "git commit -m sudo", "timeout 5 grep sudo x", "xargs -n 1 grep mount"],
    },
    CommandRule {
        programs: &["sysctl"],
        when: ArgumentCondition::SetsKernelValue,
        severity: RuleSeverity::Ask,
        reason: PRIVILEGED,
        matches: &["sysctl -w a=b", "sysctl a=b", "sysctl -p", "sysctl --system", "sysctl -qw a=b"],
        not_matches: &["sysctl -n hw.ncpu", "sysctl -a", "sysctl kernel.hostname"],
    },
    CommandRule {
        programs: &["chown", "chgrp"],
        when: ArgumentCondition::Always,
        severity: RuleSeverity::Ask,
        reason: PRIVILEGED,
        matches: &["chown me file"],
        not_matches: &["chmod +x file"],
    },
    CommandRule {
        programs: &["systemctl", "service"],
        when: ArgumentCondition::SubcommandBut(&[
            "cat", "is-active", "is-enabled", "is-failed", "list-sockets", "list-timers", "list-unit-files", "list-units", "show", "status",
        ]),
        severity: RuleSeverity::Ask,
        reason: PRIVILEGED,
        matches: &["systemctl restart nginx", "service nginx stop", "systemctl"],
        not_matches: &["systemctl status nginx", "systemctl --user list-units"],
    },
];
