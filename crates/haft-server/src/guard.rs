//! Who may speak to the server. A page that a person visits must reach nothing on that person's machine, by whatever name
//! it calls it: the Host header has to name this server, which a name that somebody else points here does not, and the
//! Origin header has to be this server's own. Whoever passes still needs the token.

use std::net::IpAddr;
use std::str::FromStr;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName};

use crate::refusal::Refusal;
use crate::token::Token;

/// Who may speak to the server.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The token that clients have to know; `None` lets everybody in who reaches the server.
    pub token: Option<Token>,
    /// Names that the server goes by, beside the address that a client has connected to and, where that is a loopback one,
    /// `localhost`.
    pub hosts: Vec<String>,
    /// Origins of other sites whose pages may use the server, as browsers name them: `https://example.org`.
    pub origins: Vec<String>,
}

impl Guard {
    /// Checks that the request is for this server and from no foreign page. `local` is the address that its client has
    /// connected to.
    pub(crate) fn check_site(&self, request: &Parts, local: IpAddr) -> Result<(), Refusal> {
        let host = only(&request.headers, &HOST).ok_or(Refusal::HostMissing)?;
        let named = request.uri.authority().map(Authority::as_str);
        for host in named.into_iter().chain([host]) {
            if !self.goes_by(host, local) {
                return Err(Refusal::HostForeign(host.to_owned()));
            }
        }
        if !request.headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = only(&request.headers, &ORIGIN).unwrap_or_default();
        if is_of(origin, host) || self.origins.iter().any(|one| one.eq_ignore_ascii_case(origin)) {
            return Ok(());
        }
        Err(Refusal::OriginForeign(origin.to_owned()))
    }

    /// Checks that the client knows the token.
    pub(crate) fn check_token(&self, request: &Parts) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let Some(given) = request.headers.get(AUTHORIZATION) else {
            return Err(Refusal::TokenMissing);
        };
        let guess = given.as_bytes().split_at_checked(BEARER.len());
        let guess = guess.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(BEARER));
        match guess {
            None => Err(Refusal::TokenMissing),
            Some((_, guess)) if token.is(guess.trim_ascii()) => Ok(()),
            Some(_) => Err(Refusal::TokenWrong),
        }
    }

    fn goes_by(&self, host: &str, local: IpAddr) -> bool {
        let Ok(authority) = Authority::from_str(host) else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        let host = authority.host();
        let local = local.to_canonical();
        // No name can be made to point at an address that is written out, so that of the connection is always right.
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_local = match address {
            Ok(address) => {
                let address = address.to_canonical();
                address == local || (address.is_loopback() && local.is_loopback())
            }
            Err(_) => host.eq_ignore_ascii_case("localhost") && local.is_loopback(),
        };
        is_local || self.hosts.iter().any(|one| one.eq_ignore_ascii_case(host))
    }
}

const BEARER: &[u8] = b"Bearer ";

/// Returns the value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    all.next().is_none().then(|| first.to_str().ok()).flatten()
}

/// Returns whether an origin is the site of a host.
fn is_of(origin: &str, host: &str) -> bool {
    let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    site.is_some_and(|site| site.eq_ignore_ascii_case(host))
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

    fn guard() -> Guard {
        Guard {
            token: Some(Token::parse("0123456789abcdef").unwrap()),
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
        for host in ["127.0.0.1:4238", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:4238"] {
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
        ] {
            check("127.0.0.1", host, false);
        }
        check("192.0.2.7", "localhost", false);
        check("192.0.2.7", "127.0.0.1", false);
    }

    #[test]
    fn a_request_names_one_server() {
        let local = IpAddr::from([127, 0, 0, 1]);
        let check = |uri: &str, headers: &[(&str, &str)], expect: Result<(), Refusal>| {
            assert_eq!(
                guard().check_site(&parts(uri, headers), local),
                expect,
                "{uri} {headers:?}"
            );
        };
        check("/mcp", &[], Err(Refusal::HostMissing));
        check("/mcp", &[("host", "localhost"), ("host", "localhost")], Err(Refusal::HostMissing));
        check("http://localhost/mcp", &[("host", "localhost")], Ok(()));
        let foreign = Err(Refusal::HostForeign("evil.example".to_owned()));
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
        let check = |headers: &[(&str, &str)], expect: Result<(), Refusal>| {
            assert_eq!(guard().check_token(&parts("/", headers)), expect, "{headers:?}");
        };
        check(&[("authorization", "Bearer 0123456789abcdef")], Ok(()));
        check(&[("authorization", "bearer  0123456789abcdef")], Ok(()));
        check(&[], Err(Refusal::TokenMissing));
        check(&[("authorization", "Basic 0123456789abcdef")], Err(Refusal::TokenMissing));
        check(&[("authorization", "Bearer")], Err(Refusal::TokenMissing));
        check(&[("authorization", "Bearer 0123456789abcdeF")], Err(Refusal::TokenWrong));
        check(&[("authorization", "Bearer ")], Err(Refusal::TokenWrong));
        let open = Guard { token: None, ..guard() };
        assert_eq!(open.check_token(&parts("/", &[])), Ok(()));
    }
}
