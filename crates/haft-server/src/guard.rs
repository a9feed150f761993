//! Decides which requests the server accepts. A web page that a person visits must not reach
//! services on that person's machine, under any name. The Host header must name this server, which
//! excludes foreign names that resolve to it. The Origin header must be the server's own. An
//! accepted request still needs the token.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName};

use crate::refusal::HttpRefusal;
use crate::token::BearerToken;

/// The rules for accepted requests.
#[derive(Clone, Debug, Default)]
pub struct RequestGuard {
    /// The token that clients must send; `None` accepts every client that can reach the server.
    pub token: Option<BearerToken>,
    /// Additional names of the server. The address of the connection is always accepted, and
    /// `localhost` if that is a loopback address.
    pub hosts: Vec<String>,
    /// Origins of other sites whose pages may use the server, in the form of browsers:
    /// `https://example.org`.
    pub origins: Vec<String>,
}

impl RequestGuard {
    /// Checks that the request is for this server and not from a foreign page. `local` is the
    /// server's address of the connection.
    pub(crate) fn check_site(&self, request: &Parts, local: IpAddr) -> Result<(), HttpRefusal> {
        let host = only(&request.headers, &HOST).ok_or(HttpRefusal::HostMissing)?;
        let named = request.uri.authority().map(Authority::as_str);
        let local = local.to_canonical();
        for named in named.into_iter().chain([host]) {
            let foreign = || HttpRefusal::HostForeign(named.to_owned());
            let name = Authority::from_str(named).ok().and_then(|_| host_name(named));
            let name = name.ok_or_else(foreign)?;
            // DNS cannot redirect a literal address, so the address of the connection is always
            // correct.
            let is_local = match name.parse() {
                Ok(address) => {
                    let address = IpAddr::to_canonical(&address);
                    address == local || (address.is_loopback() && local.is_loopback())
                }
                Err(_) => name.eq_ignore_ascii_case("localhost") && local.is_loopback(),
            };
            let is_own = is_local || self.hosts.iter().any(|one| one.eq_ignore_ascii_case(name));
            if !is_own {
                return Err(foreign());
            }
        }
        if !request.headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = only(&request.headers, &ORIGIN).unwrap_or_default();
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if site.is_some_and(|site| site.eq_ignore_ascii_case(host))
            || self.origins.iter().any(|one| one.eq_ignore_ascii_case(origin))
        {
            return Ok(());
        }
        Err(HttpRefusal::OriginForeign(origin.to_owned()))
    }

    /// Checks that the request has the token.
    pub(crate) fn check_token(&self, request: &Parts) -> Result<(), HttpRefusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let Some(given) = request.headers.get(AUTHORIZATION) else {
            return Err(HttpRefusal::TokenMissing);
        };
        let guess = given.as_bytes().split_at_checked(BEARER.len());
        let guess = guess.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(BEARER));
        match guess {
            None => Err(HttpRefusal::TokenMissing),
            Some((_, guess)) if token.matches_guess(guess.trim_ascii()) => Ok(()),
            Some(_) => Err(HttpRefusal::TokenWrong),
        }
    }
}

const BEARER: &[u8] = b"Bearer ";

/// Returns the name or the address in a host with an optional port; `None` if there is anything else in it.
fn host_name(named: &str) -> Option<&str> {
    let (name, rest) = match named.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, rest)
        }
        None => named.split_at(named.find(':').unwrap_or(named.len())),
    };
    let is_port = rest.is_empty()
        || rest.strip_prefix(':').is_some_and(|port| {
            port.is_empty()
                || (port.bytes().all(|it| it.is_ascii_digit()) && port.parse::<u16>().is_ok())
        });
    (is_port && !name.is_empty() && !name.contains('@')).then_some(name)
}

/// Returns the value of a header that occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    all.next().is_none().then(|| first.to_str().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let request = Request::builder().uri(uri);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn guard() -> RequestGuard {
        RequestGuard {
            token: Some(BearerToken::parse("0123456789abcdef").unwrap()),
            hosts: vec!["Haft.example".to_owned()],
            origins: vec!["https://app.example:8443".to_owned()],
        }
    }

    #[test]
    fn a_request_names_this_server() {
        let check = |local: &str, host: &str, expect: bool| {
            let checked =
                guard().check_site(&parts("/mcp", &[("host", host)]), local.parse().unwrap());
            assert_eq!(checked.is_ok(), expect, "{host} at {local}: {checked:?}");
        };
        for host in [
            "127.0.0.1:4238",
            "127.0.0.1",
            "127.0.0.1:",
            "localhost:1",
            "LOCALHOST",
            "[::1]:4238",
            "[::1]",
            "[::ffff:127.0.0.1]:4238",
        ] {
            check("127.0.0.1", host, true);
        }
        check("::1", "localhost:4238", true);
        check("::ffff:127.0.0.1", "127.0.0.1:4238", true);
        check("127.0.0.1", "haft.example", true);
        check("192.0.2.7", "192.0.2.7:80", true);
        for host in [
            "evil.example",
            "evil.example:4238",
            "localhost.evil.example",
            "localhost.",
            "127.0.0.1.nip.io",
            "192.0.2.7",
            "me@localhost",
            "evil.example@localhost",
            "",
            "a b",
            "0.0.0.0",
            "[::ffff:127.0.0.1].evil",
            "[::1]evil.example:80",
            "[127.0.0.1]",
            "::1",
            "127.0.0.1:evil",
            "127.0.0.1:80:evil",
            "localhost:65536",
            "localhost:+80",
        ] {
            check("127.0.0.1", host, false);
        }
        check("192.0.2.7", "localhost", false);
        check("192.0.2.7", "127.0.0.1", false);
    }

    #[test]
    fn a_request_names_one_server() {
        let local = IpAddr::from([127, 0, 0, 1]);
        let check = |uri: &str, headers: &[(&str, &str)], expect: Result<(), HttpRefusal>| {
            assert_eq!(
                guard().check_site(&parts(uri, headers), local),
                expect,
                "{uri} {headers:?}"
            );
        };
        check("/mcp", &[], Err(HttpRefusal::HostMissing));
        check(
            "/mcp",
            &[("host", "localhost"), ("host", "localhost")],
            Err(HttpRefusal::HostMissing),
        );
        check("http://localhost/mcp", &[("host", "localhost")], Ok(()));
        let foreign = Err(HttpRefusal::HostForeign("evil.example".to_owned()));
        check("http://evil.example/mcp", &[("host", "localhost")], foreign);
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let check = |host: &str, origin: &[&str], expect: bool| {
            let mut headers = vec![("host", host)];
            headers.extend(origin.iter().map(|origin| ("origin", *origin)));
            let checked =
                guard().check_site(&parts("/mcp", &headers), IpAddr::from([127, 0, 0, 1]));
            assert_eq!(checked.is_ok(), expect, "{origin:?} at {host}: {checked:?}");
        };
        check("localhost:4238", &[], true);
        check("localhost:4238", &["http://localhost:4238"], true);
        check("localhost:4238", &["HTTP://localhost:4238"], false);
        check("haft.example", &["https://haft.example"], true);
        check("localhost:4238", &["https://app.example:8443"], true);
        for origin in [
            "http://evil.example",
            "http://localhost:3000",
            "http://localhost",
            "null",
            "",
            "file://localhost:4238",
            "https://app.example",
            "http://127.0.0.1:4238",
        ] {
            check("localhost:4238", &[origin], false);
        }
        check("localhost:4238", &["http://localhost:4238", "http://localhost:4238"], false);
    }

    #[test]
    fn a_client_knows_the_token() {
        let check = |headers: &[(&str, &str)], expect: Result<(), HttpRefusal>| {
            assert_eq!(guard().check_token(&parts("/", headers)), expect, "{headers:?}");
        };
        check(&[("authorization", "Bearer 0123456789abcdef")], Ok(()));
        check(&[("authorization", "bearer  0123456789abcdef")], Ok(()));
        check(&[], Err(HttpRefusal::TokenMissing));
        check(&[("authorization", "Basic 0123456789abcdef")], Err(HttpRefusal::TokenMissing));
        check(&[("authorization", "Bearer")], Err(HttpRefusal::TokenMissing));
        check(&[("authorization", "Bearer 0123456789abcdeF")], Err(HttpRefusal::TokenWrong));
        check(&[("authorization", "Bearer ")], Err(HttpRefusal::TokenWrong));
        let open = RequestGuard { token: None, ..guard() };
        assert_eq!(open.check_token(&parts("/", &[])), Ok(()));
    }
}
