//! From a URL to what is needed to connect, and to a name of the place that can be shown: host, port and database, never
//! the password. Reaching the place is not done here.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::failure::told;
use crate::JournalError;
use crate::limits::{
    CONNECT_MS_MAX, KEEPALIVE_IDLE_MS, KEEPALIVE_INTERVAL_MS, KEEPALIVE_RETRIES_MAX,
};

/// Where a journal is, and how it is reached.
#[derive(Clone)]
pub(super) struct Address {
    /// Host, port and database, for messages.
    pub(super) path: PathBuf,
    pub(super) config: Config,
    pub(super) trust: Trust,
}

/// Which server is believed to be the right one, once the connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Any: what PostgreSQL means by `prefer` and `require`.
    Anyone,
    /// One whose certificate leads to an authority in the file.
    Authority(Roots),
    /// One whose certificate also names the host.
    AuthorityAndName(Roots),
}

/// The authorities that are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those of the system.
    System,
    /// Those in a file.
    File(PathBuf),
}

/// A key and a value of a URL's query, as they are written there.
type UrlParameter<'a> = (&'a str, &'a str);

impl Address {
    /// Reads a URL such as `postgres://user:password@host:5432/database?sslmode=verify-full`.
    ///
    /// tokio-postgres does not know all parameters of PostgreSQL. haft takes those that it knows out first: `sslrootcert`, and
    /// the values of `sslmode` that verify.
    pub(super) fn parse(url: &str) -> Result<Self, JournalError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let parameters: Vec<UrlParameter<'_>> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        let (ours, theirs): (Vec<_>, Vec<_>) =
            parameters.into_iter().partition(|(key, _)| ["sslmode", "sslrootcert"].contains(key));
        let theirs: Vec<String> =
            theirs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| base.starts_with(scheme));
        if !is_url {
            return Err(unusable(
                PathBuf::from("postgres"),
                "expected a URL that begins with postgres://",
            ));
        }
        let mut config: Config = format!("{base}?{}", theirs.join("&")).parse().map_err(
            |err: tokio_postgres::Error| unusable(PathBuf::from("postgres"), &told(&err)),
        )?;
        let path = place_of(&config);
        let last = |name| ours.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let (mode, trust) = protection(last("sslmode"), last("sslrootcert"))
            .map_err(|reason| unusable(path.clone(), &reason))?;
        config.ssl_mode(mode);
        // A server that is gone must be noticed in seconds. The URL may say otherwise.
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_millis(CONNECT_MS_MAX));
        }
        if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
            config.keepalives_idle(Duration::from_millis(KEEPALIVE_IDLE_MS));
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(Duration::from_millis(KEEPALIVE_INTERVAL_MS));
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(KEEPALIVE_RETRIES_MAX);
        }
        if config.get_application_name().is_none() {
            config.application_name("haft");
        }
        Ok(Self { path, config, trust })
    }
}

fn unusable(path: PathBuf, reason: &str) -> JournalError {
    JournalError::Unreachable { path, reason: reason.to_owned() }
}

/// The defaults are those of PostgreSQL's own clients: `prefer`, and with a file of authorities
/// `require` verifies.
fn protection(mode: Option<&str>, roots: Option<&str>) -> Result<(SslMode, Trust), String> {
    let file = roots.map(|roots| match roots {
        "system" => Ok(Roots::System),
        path => decoded(path).map(|path| Roots::File(PathBuf::from(path))),
    });
    let file = file.transpose()?;
    let roots = || file.clone().unwrap_or(Roots::System);
    Ok(match mode.unwrap_or("prefer") {
        "disable" => (SslMode::Disable, Trust::Anyone),
        "prefer" => (SslMode::Prefer, Trust::Anyone),
        "require" => (SslMode::Require, file.clone().map_or(Trust::Anyone, Trust::Authority)),
        "verify-ca" => (SslMode::Require, Trust::Authority(roots())),
        "verify-full" => (SslMode::Require, Trust::AuthorityAndName(roots())),
        other => {
            return Err(format!(
                "sslmode is {other:?}; expected disable, prefer, require, verify-ca or verify-full"
            ));
        }
    })
}

/// Undoes the percent signs of a URL.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'%', None) => return Err(format!("{text:?} has a percent sign without two digits")),
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("{text:?} is not UTF-8"))
}

/// Returns the name of the place for messages: all hosts with their ports, and the database.
fn place_of(config: &Config) -> PathBuf {
    const PORT_DEFAULT: u16 = 5432;
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(number, host)| {
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(PORT_DEFAULT);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(directory) => format!("{}:{port}", directory.display()),
            }
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    PathBuf::from(format!("postgres://{}/{database}", hosts.join(",")))
}
