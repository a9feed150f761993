use expect_test::{Expect, expect};

use super::*;

fn url(model: &str, base_url: Option<&str>) -> Result<String, ModelError> {
    let settings = ModelSettings {
        model: model.to_owned(),
        base_url: base_url.map(str::to_owned),
        ..ModelSettings::default()
    };
    let lookup = |_: &str| Some("sk-secret-secret".to_owned());
    prepare(&settings, &lookup).map(|target| target.url)
}

#[test]
fn each_wire_has_its_place() {
    let check = |model, base, expect: &str| assert_eq!(url(model, base).unwrap(), expect);
    check("openai/gpt-5", None, "https://api.openai.com/v1/chat/completions");
    check("openai/m", Some("http://10.0.0.1:8/v1"), "http://10.0.0.1:8/v1/chat/completions");
    check("anthropic/claude-x", None, "https://api.anthropic.com/v1/messages");
    let gemini =
        "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse";
    check("gemini/g", None, gemini);
    check("ollama/qwen3:8b", None, "http://127.0.0.1:11434/api/chat");
}

fn refused(settings: ModelSettings, key: Option<&str>, expect: Expect) {
    let message = prepare(&settings, &|_| key.map(str::to_owned)).unwrap_err().to_string();
    assert!(!message.contains("s3cret"), "{message}");
    expect.assert_eq(&message);
}

#[test]
fn settings_that_cannot_work_are_refused_without_a_word_of_the_key() {
    let openai = || ModelSettings { model: "openai/m".to_owned(), ..ModelSettings::default() };
    let with_base = |base: &str| ModelSettings { base_url: Some(base.to_owned()), ..openai() };
    refused(openai(), None, expect!["there is no key for openai: set OPENAI_API_KEY"]);
    refused(
        openai(),
        Some("s3cret s3cret"),
        expect![
            "what OPENAI_API_KEY contains is not a key: expected at most 4096 letters, digits and marks without spaces"
        ],
    );
    refused(
        with_base("https://user:s3cret@host/v1"),
        None,
        expect![
            "base_url must hold no user, password, query or fragment: a key belongs in the environment variable that key_variable names"
        ],
    );
    refused(with_base("ftp://host"), None, expect!["base_url must begin with https:// or http://"]);
    let pasted = ModelSettings { key_variable: Some("s3cret_s3cret".to_owned()), ..openai() };
    refused(
        pasted,
        None,
        expect![
            "key_variable must be the name of an environment variable, in capitals, and not a key"
        ],
    );
    let plain =
        ModelSettings { key_variable: Some("MINE".to_owned()), ..with_base("http://host/v1") };
    refused(
        plain,
        Some("s3cret-s3cret"),
        expect!["a key would go to http://host/v1/ unencrypted: use https"],
    );
}

#[test]
fn a_key_goes_only_to_its_provider_or_where_it_is_sent_by_name() {
    let looked_up = std::cell::RefCell::new(Vec::new());
    let lookup = |name: &str| {
        looked_up.borrow_mut().push(name.to_owned());
        Some("sk-secret-secret".to_owned())
    };
    let mut settings = ModelSettings { model: "openai/m".to_owned(), ..ModelSettings::default() };
    settings.base_url = Some("https://elsewhere.example/v1".to_owned());
    assert!(prepare(&settings, &lookup).unwrap().secret.is_none());
    settings.key_variable = Some("ELSEWHERE_KEY".to_owned());
    assert!(prepare(&settings, &lookup).unwrap().secret.is_some());
    assert_eq!(looked_up.into_inner(), ["ELSEWHERE_KEY"]);
}

#[test]
fn settings_are_checked_without_a_key() {
    let settings =
        |model: &str| ModelSettings { model: model.to_owned(), ..ModelSettings::default() };
    assert_eq!(settings("anthropic/claude-x").check(), Ok("anthropic"));
    let err = settings("gpt-5").check().unwrap_err();
    expect!["\"gpt-5\" does not name a provider: expected provider/name, as in openai/gpt-5 or ollama/qwen3:8b"].assert_eq(&err.to_string());
}
