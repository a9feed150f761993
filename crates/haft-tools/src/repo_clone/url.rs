//! Reads URLs of repositories strictly. haft refuses a URL that git, its library and haft could read differently.

use std::net::IpAddr;

use haft_contract::{ErrorCode, ToolError};

use super::URL_BYTES_MAX;

/// The scheme and the host of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitRemote {
    pub(super) scheme: &'static str,
    /// Lower case, without port and brackets.
    pub(super) host: String,
}

impl GitRemote {
    pub(super) fn parse(url: &str) -> Result<Self, ToolError> {
        // The message does not repeat the URL, which may hold a password.
        let refused = |why: &str| ToolError::new(ErrorCode::InvalidInput, format!("url: {why}"));
        if url.len() > URL_BYTES_MAX {
            let found = url.len();
            return Err(refused(&format!("expected at most {URL_BYTES_MAX} bytes, found {found}")));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(refused(
                "expected https://HOST/PATH; other ways to a repository, such as ssh and files, are not taken",
            ));
        };
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => "https",
            "http" => "http",
            _ => {
                return Err(refused(
                    "expected https: other ways to a repository, such as ssh, git and file, are not taken",
                ));
            }
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(refused(
                "expected no user or password in it: only repositories that everybody may read can be cloned",
            ));
        }
        let is_plain = |it: char| it.is_ascii_graphic() && !"\\\"'`<>{}|^?#".contains(it);
        if path.is_empty() || !path.chars().all(is_plain) {
            return Err(refused(
                "expected a path of plain characters after the host, without ? and #",
            ));
        }
        let host = host_of(authority).ok_or_else(|| {
            refused(
                "expected a host of letters, digits, dots and hyphens, or an address in brackets",
            )
        })?;
        // A name without a dot means something on this network only. A host is reached only if it was granted.
        let is_local = match host.parse() {
            Ok(IpAddr::V4(it)) => it.is_loopback() || it.is_private() || it.is_link_local(),
            Ok(IpAddr::V6(it)) => {
                it.is_loopback() || it.is_unique_local() || it.is_unicast_link_local()
            }
            Err(_) => !host.contains('.'),
        };
        if scheme == "http" && !is_local {
            return Err(refused(&format!(
                "expected https: what comes over http can be changed on the way, so it is taken from this machine and its \
                 network only; try https://{authority}/{path}"
            )));
        }
        Ok(Self { scheme, host })
    }
}

/// Returns the host of an authority without user.
fn host_of(authority: &str) -> Option<String> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => {
            let (host, port) = match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            };
            let is_plain = |it: char| it.is_ascii_alphanumeric() || "-.".contains(it);
            let is_name =
                !host.is_empty() && host.chars().all(is_plain) && !host.starts_with(['-', '.']);
            (is_name.then_some(host)?, port)
        }
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    port.is_none_or(is_port).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_urls_over_https_are_taken() {
        let check =
            |url: &str, expect: Result<(&str, &str), &str>| match (GitRemote::parse(url), expect) {
                (Ok(remote), Ok(expect)) => {
                    assert_eq!((remote.scheme, remote.host.as_str()), expect)
                }
                (Err(err), Err(part)) => {
                    assert!(err.message.contains(part), "{url:?}: {}", err.message);
                    assert!(!err.message.contains("secret"), "{}", err.message);
                }
                (found, _) => panic!("{url:?}: {found:?}"),
            };
        check("https://Example.org/a/b.git", Ok(("https", "example.org")));
        check("HTTPS://example.org:8443/a", Ok(("https", "example.org")));
        check("https://[::1]:80/a", Ok(("https", "::1")));
        check("http://localhost:3000/a", Ok(("http", "localhost")));
        check("http://127.0.0.1/a", Ok(("http", "127.0.0.1")));
        check("http://192.168.0.7/a", Ok(("http", "192.168.0.7")));
        check("http://[fd00::1]/a", Ok(("http", "fd00::1")));
        check("http://example.org/a", Err("try https://example.org/a"));
        check("http://1.1.1.1/a", Err("try https://1.1.1.1/a"));
        check("http://[2606:4700::1]/a", Err("try https://[2606:4700::1]/a"));
        for other in [
            "ssh://git@example.org/a",
            "git://example.org/a",
            "file:///etc",
            "ext::sh -c id",
            "git@example.org:a/b",
        ] {
            check(other, Err("are not taken"));
        }
        check("/etc", Err("are not taken"));
        check("-u", Err("are not taken"));
        check("https://user:secret@example.org/a", Err("no user or password"));
        check("https://example.org", Err("a path"));
        check("https://example.org/", Err("a path"));
        for path in ["a b", "a?b", "a#b", "a\nb", "a\\b", "ä"] {
            check(&format!("https://example.org/{path}"), Err("plain characters"));
        }
        for host in [
            "",
            "-x",
            ".x",
            "a_b",
            "exa mple.org",
            "[::1",
            "[x]",
            "a:b",
            "a:0",
            "a:70000",
            "a:1:2",
            "[::1]x",
        ] {
            check(&format!("https://{host}/a"), Err("expected a host"));
        }
        let long = format!("https://a/{}", "x".repeat(URL_BYTES_MAX - 10));
        check(&long, Ok(("https", "a")));
        check(&format!("{long}x"), Err("at most 2000 bytes"));
    }
}
