//! Which words speak of the network: the lists of the network guard, and one simple command against them. How a line is
//! cut into commands is not known here.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use haft_contract::ErrorCode;

use super::{NetworkGuard, NetworkRefusal};
use crate::pattern::GIT_OPTIONS_WITH_VALUE;

/// Programs that exist to use the network.
const STANDARD_PROGRAMS: &[&str] = &["curl", "wget", "npm", "bun", "pip"];
/// Further programs of the long list.
#[rustfmt::skip]
const STRICT_PROGRAMS: &[&str] = &[
    "ssh", "scp", "sftp", "ftp", "telnet",
    "nc", "netcat", "ping", "traceroute", "dig", "nslookup", "nmap", "openssl",
    "pip3", "pnpm", "yarn", "apt", "apt-get", "brew", "cargo", "go", "gem",
    "hg", "svn", "powershell", "pwsh",
];

/// Those of them that people try servers of their own with.
const LOOPBACK_CLIENTS: &[&str] = &["curl", "wget"];

const STANDARD_SCHEMES: &[&str] = &["http://", "https://"];
/// How words begin that the long list takes for the name of something elsewhere.
const STRICT_BEGINNINGS: &[&str] = &["www.", "git@"];
const PROXY_OPTION: &str = "--proxy";
const PROXY_VARIABLES: &[&str] = &["http_proxy", "https_proxy"];

/// Subcommands of git that talk to a remote.
const GIT_REMOTE_SUBCOMMANDS: &[&str] = &["push", "pull", "fetch", "clone", "remote"];

/// Judges a simple command without anything in front of it.
pub(super) fn refused_argv(guard: NetworkGuard, argv: &[String]) -> Option<NetworkRefusal> {
    let (program, arguments) = argv.split_first()?;
    if guard == NetworkGuard::Standard && stays_on_loopback(program, arguments) {
        return None;
    }
    let name = base_name(program);
    let is_listed = match guard {
        NetworkGuard::Kernel => false,
        NetworkGuard::Standard => STANDARD_PROGRAMS.contains(&name),
        NetworkGuard::Strict => {
            STANDARD_PROGRAMS.contains(&name) || STRICT_PROGRAMS.contains(&name)
        }
    };
    if is_listed {
        return Some(refusal(name, "work offline"));
    }
    let refused = argv.iter().find_map(|word| refused_argument(guard, word));
    refused.or_else(|| {
        let word = git_subcommand(arguments).filter(|_| name == "git")?;
        GIT_REMOTE_SUBCOMMANDS.contains(&word).then(|| NetworkRefusal {
            code: ErrorCode::GitRemoteDisabled,
            ..refusal(&format!("git {word}"), "use local git commands")
        })
    })
}

/// Judges the assignments in front of a simple command.
pub(super) fn refused_assignment(guard: NetworkGuard, words: &[String]) -> Option<NetworkRefusal> {
    let mut assignments = words.iter().take_while(|word| is_assignment(word));
    match guard {
        NetworkGuard::Kernel | NetworkGuard::Standard => None,
        NetworkGuard::Strict => assignments.find_map(|word| refused_argument(guard, word)),
    }
}

/// Judges one word by how it begins, and for the long list by what it is.
pub(super) fn refused_word(guard: NetworkGuard, word: &str) -> Option<NetworkRefusal> {
    let is_own = guard == NetworkGuard::Standard && is_on_loopback(word);
    let scheme =
        STANDARD_SCHEMES.iter().find(|scheme| word.starts_with(**scheme)).filter(|_| !is_own);
    if let Some(scheme) = scheme {
        return Some(refusal(&format!("a word that begins with {scheme}"), "leave it out"));
    }
    match guard {
        NetworkGuard::Kernel | NetworkGuard::Standard => return None,
        NetworkGuard::Strict => {}
    }
    let is_scheme = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    let begins_with_scheme =
        word.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(is_scheme));
    let found = if begins_with_scheme
        || STRICT_BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))
    {
        "looks like the name of something elsewhere"
    } else if is_address(word) {
        "is an address"
    } else if word.starts_with(PROXY_OPTION)
        || PROXY_VARIABLES.iter().any(|variable| word.eq_ignore_ascii_case(variable))
    {
        "is a proxy setting"
    } else {
        return None;
    };
    Some(refusal(&format!("{word:?}, which {found},"), "leave it out"))
}

/// The short list judges an argument by how it begins, the long one every word in it.
fn refused_argument(guard: NetworkGuard, argument: &str) -> Option<NetworkRefusal> {
    let is_separator = |char: char| char.is_whitespace() || "\"'`;|()<>=,{}".contains(char);
    refused_word(guard, argument).or_else(|| match guard {
        NetworkGuard::Kernel | NetworkGuard::Standard => None,
        NetworkGuard::Strict => {
            argument.split(is_separator).find_map(|word| refused_word(guard, word))
        }
    })
}

/// Returns whether the command fetches from servers on the loopback interface alone, as one does that tries a server which
/// the same line started. In the sandbox that interface is the command's own.
pub fn stays_on_loopback(program: &str, arguments: &[String]) -> bool {
    let names_elsewhere = |word: &&String| word.contains("://") && !is_on_loopback(word);
    LOOPBACK_CLIENTS.contains(&base_name(program))
        && arguments.iter().any(|word| is_on_loopback(word))
        && !arguments.iter().any(|word| names_elsewhere(&word))
}

fn is_on_loopback(word: &str) -> bool {
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => authority,
    };
    let is_address = |host: &str| host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    host == "localhost" || is_address(host) || bracketed(host).is_some_and(is_address)
}

/// Returns the first of git's arguments that is no option of git itself. An empty word stands for something that is not
/// known before the line runs, and most often for nothing.
pub fn git_subcommand(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if GIT_OPTIONS_WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.is_empty() && !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// Says that the list goes by names: what is on it is refused also where it would have worked offline.
fn refusal(found: &str, next: &str) -> NetworkRefusal {
    NetworkRefusal {
        code: ErrorCode::NetworkDisabled,
        message: format!(
            "{found} is refused by name: the network is off, and in the sandbox it could reach nothing; {next}, or ask the \
             user to grant hosts, or to turn the list of names off (network_guard = \"kernel\" in haft.toml)"
        ),
        host: None,
    }
}

/// Returns the host of the first URL in a text.
pub(super) fn first_host(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '"', '\'', ' ', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let is_name = |char: char| char.is_ascii_alphanumeric() || ".-".contains(char);
    (!host.is_empty() && host.chars().all(is_name)).then(|| host.to_ascii_lowercase())
}

/// Returns whether the word begins with an IP address, a port and a path behind it or not. Of addresses with colons only
/// those in brackets and `::1` count: `a::b` is one as well, and most often a name in a program.
fn is_address(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or(word);
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_port = port.parse::<u16>().is_ok();
    (name.parse::<Ipv4Addr>().is_ok() && is_port)
        || host.parse::<SocketAddr>().is_ok()
        || bracketed(host).is_some_and(|inner| inner.parse::<IpAddr>().is_ok())
        || host == "::1"
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        !name.is_empty() && name.trim_end_matches('+').chars().all(is_name)
    })
}
