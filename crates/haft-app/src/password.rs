//! Texts that may hold the URL of a database, as they may be shown: with the place in it and without the password.

/// Stands in the place of a password.
const HIDDEN: &str = "***";

/// Ends of names whose values are not shown. The name of a variable is not secret, but people put the key itself there.
const SECRET_NAMES: [&str; 5] = ["key", "key_variable", "password", "secret", "token"];

/// Returns the text with the passwords of all URLs in it taken out: between `://` and `@`, and as a parameter.
pub fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        // A password may hold a slash or a question mark, although it should not.
        let (url, rest) = part.split_at(part.find(is_end).unwrap_or(part.len()));
        let part = match url.rsplit_once('@') {
            Some((user, place)) => {
                let hidden = |(user, _)| format!("{user}:{HIDDEN}");
                let user = user.split_once(':').map_or(user.to_owned(), hidden);
                format!("{user}@{place}{rest}")
            }
            None => part.to_owned(),
        };
        let mut pieces = part.split("password=");
        let first = pieces.next().unwrap_or_default();
        let url = pieces.fold(first.to_owned(), |shown, piece| {
            let end = piece.find(|character| character == '&' || is_end(character));
            format!("{shown}password={HIDDEN}{}", piece.split_at(end.unwrap_or(piece.len())).1)
        });
        format!("{shown}://{url}")
    })
}

/// Returns a line of a manifest without passwords, and without the values that may be secrets, going by the names that they are
/// given to.
pub fn without_secrets(line: &str) -> String {
    let line = without_passwords(line);
    let mut shown = String::new();
    let mut rest = line.as_str();
    while let Some(start) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(start);
        let (quote, text) = quoted.split_at(1);
        let name = before.trim_end().strip_suffix('=').map(|name| name.trim_end().to_lowercase());
        let end = text.find(quote).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        // The URL of a proxy may lack the scheme by which passwords are found.
        let is_secret = name.is_some_and(|name| {
            SECRET_NAMES.iter().any(|secret| name.ends_with(secret))
                || (name.ends_with("proxy") && value.contains('@'))
        });
        shown.push_str(before);
        shown.push_str(quote);
        shown.push_str(if is_secret { HIDDEN } else { value });
        let closing = after.get(..1).unwrap_or_default();
        shown.push_str(closing);
        rest = after.get(closing.len()..).unwrap_or_default();
    }
    shown + rest
}

/// Returns whether a character ends a URL in a text.
fn is_end(character: char) -> bool {
    character.is_whitespace() || "\"'".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_names_are_taken_out() {
        let check = |line: &str, expect: &str| assert_eq!(without_secrets(line), expect);
        check("name = \"openai/m\"", "name = \"openai/m\"");
        check("api_key = \"sk-1\" # x", "api_key = \"***\" # x");
        check("API_KEY='sk-1'", "API_KEY='***'");
        check(
            "model = { name = \"a\", key = \"sk-1\" }",
            "model = { name = \"a\", key = \"***\" }",
        );
        check("key_variable = \"sk-1", "key_variable = \"***");
        check("proxy = \"you:s3cret@proxy:99999\"", "proxy = \"***\"");
        check("proxy = \"http://you:s3 cret@proxy:1\"", "proxy = \"***\"");
        check("proxy = \"socks5://proxy:1\"", "proxy = \"socks5://proxy:1\"");
        check("journal = \"postgres://ada:s@db/x\"", "journal = \"postgres://ada:***@db/x\"");
        check("keys = [\"a\"] é", "keys = [\"a\"] é");
    }

    #[test]
    fn only_passwords_are_taken_out() {
        let check = |text: &str, expect: &str| assert_eq!(without_passwords(text), expect);
        check("journal = \"log/j.sqlite\"", "journal = \"log/j.sqlite\"");
        check("postgres://ada@db/haft", "postgres://ada@db/haft");
        check("postgres://ada:s3cret@db:5432/haft?x=1", "postgres://ada:***@db:5432/haft?x=1");
        check("'postgres://ada:s@c/r?t@db' y@z", "'postgres://ada:***@db' y@z");
        check("postgres://db/haft?password=a&user=b", "postgres://db/haft?password=***&user=b");
        check("http://a:b@c postgresql://d:e@f", "http://a:***@c postgresql://d:***@f");
    }
}
