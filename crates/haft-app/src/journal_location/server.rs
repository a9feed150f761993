//! Identifies a PostgreSQL database by its URL. Two spellings of one database are equal: parts can be left out, written
//! with percent signs or given as parameters, and there are two schemes. The journal connects, and refuses URLs that it
//! cannot use. Here such a URL stands for itself, without the text that may be a password.

use haft_contract::canonical_json;
use serde_json::json;

/// The port of a URL that names none.
const PORT_DEFAULT: &str = "5432";

/// Returns one text for all URLs that lead one user to one database.
pub(super) fn identity(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
    let parameters: Vec<(&str, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key, decoded(value)))
        .collect();
    let all = |key: &str| -> Vec<&str> {
        let of_key = parameters.iter().filter(|(known, _)| *known == key);
        of_key.flat_map(|(_, value)| value.split(',')).collect()
    };
    let last = |key: &str| all(key).last().map(ToString::to_string);
    let (credentials, place) = base.rsplit_once('@').unwrap_or(("", base));
    let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
    let user = credentials.split(':').next().map(decoded).filter(|user| !user.is_empty());
    let user = last("user").or(user).unwrap_or_default();
    let database = Some(decoded(database)).filter(|database| !database.is_empty());
    let database = last("dbname").or(database).unwrap_or_else(|| user.clone());
    let mut servers = servers(hosts, &all("host"), &all("port"));
    // Whichever of them answers, it is the same database.
    servers.sort();
    canonical_json(&json!({
        "user": user,
        "servers": servers,
        "addresses": all("hostaddr"),
        "database": database,
    }))
}

/// Returns hosts with their ports: those before the path of a URL, then those of its parameters.
fn servers(hosts: &str, more: &[&str], ports: &[&str]) -> Vec<String> {
    let (mut names, mut numbers) = (Vec::new(), Vec::new());
    for host in hosts.split(',').filter(|host| !host.is_empty()) {
        // An address of IPv6 has colons, between brackets.
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port),
            Some(_) | None => (host, ""),
        };
        names.push(normal(&decoded(name)));
        numbers.push(port);
    }
    names.extend(more.iter().map(|host| normal(host)));
    numbers.extend(ports);
    let numbered = names.iter().enumerate().map(|(index, name)| {
        let number = numbers.get(index).or(numbers.first()).copied().unwrap_or_default();
        let number = if number.is_empty() { PORT_DEFAULT } else { number };
        format!("{name}:{number}")
    });
    numbered.collect()
}

/// Returns a host as it is written first of all; a directory is one by its slash, and keeps its letters.
fn normal(host: &str) -> String {
    if host.starts_with('/') {
        return host.trim_end_matches('/').to_owned();
    }
    host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

/// Undoes the percent signs of a URL; one that stands for nothing stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that all of these lead to the same place, and that it has this name.
    fn check(urls: &[&str], expect: &str) {
        for url in urls {
            assert_eq!(identity(url), expect, "{url}");
        }
    }

    #[test]
    fn one_database_has_one_name() {
        check(
            &[
                "postgres://ada@db/haft",
                "postgresql://ada:secret@DB:5432/haft?sslmode=require",
                "postgres://a%64a:other@db/haf%74",
                "postgres:///haft?host=db&user=ada",
                "postgres://db/?user=ada&dbname=haft&password=secret",
            ],
            r#"{"addresses":[],"database":"haft","servers":["db:5432"],"user":"ada"}"#,
        );
        check(
            &["postgres://ada@db", "postgres://ada@db/ada", "postgres://ada@db:/"],
            r#"{"addresses":[],"database":"ada","servers":["db:5432"],"user":"ada"}"#,
        );
        check(
            &["postgres:///haft?host=/run/pg&port=5433", "postgres://%2Frun%2Fpg:5433/haft"],
            r#"{"addresses":[],"database":"haft","servers":["/run/pg:5433"],"user":""}"#,
        );
        check(
            &[
                "postgres://b:1,a/haft",
                "postgres://A,b:1/haft",
                "postgres:///haft?host=a,b&port=5432,1",
            ],
            r#"{"addresses":[],"database":"haft","servers":["a:5432","b:1"],"user":""}"#,
        );
        check(
            &["postgres://[::1]:7/haft", "postgres:///haft?host=::1&port=7"],
            r#"{"addresses":[],"database":"haft","servers":["::1:7"],"user":""}"#,
        );
    }

    #[test]
    fn other_databases_have_other_names() {
        let urls = [
            "postgres://ada@db",
            "postgres://bob@db",
            "postgres://ada@db/haft",
            "postgres://ada@db:5433",
            "postgres://ada@db?dbname=other",
            "postgres://ada@db?hostaddr=10.0.0.1",
            "postgres:///ada?host=/run/pg&user=ada",
            "postgres:///ada?host=/run/PG&user=ada",
        ];
        let names: std::collections::BTreeSet<String> =
            urls.iter().map(|url| identity(url)).collect();
        assert_eq!(names.len(), urls.len());
    }

    #[test]
    fn no_password_is_part_of_a_name() {
        for url in [
            "postgres://ada:secret@db/haft",
            "postgres://ada:se@cret:secret@db/haft",
            "postgres://ada@db/haft?password=secret",
        ] {
            assert!(!identity(url).contains("secret"), "{url}");
        }
    }
}
