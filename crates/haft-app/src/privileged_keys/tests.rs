use std::fs;

use crate::manifest::ManifestFile;

use super::*;

struct Case {
    directory: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project/sub")).unwrap();
        fs::create_dir(directory.path().join("other")).unwrap();
        std::os::unix::fs::symlink("../other", directory.path().join("project/link")).unwrap();
        Self { directory }
    }

    fn part(&self, text: &str) -> SplitManifest {
        let path = self.directory.path().join("project/haft.toml");
        fs::write(&path, text).unwrap();
        let file = ManifestFile::read(&path).unwrap();
        split_privileged(&file, &file.parse().unwrap()).unwrap()
    }
}

#[test]
fn what_widens_is_named_and_taken_out() {
    let case = Case::new();
    let check = |text: &str, expect: &[&str]| {
        let parted = case.part(text);
        assert_eq!(parted.privileged_keys, expect, "{text}");
        assert_eq!(parted.unprivileged, Manifest::default(), "{text}");
    };
    check("preset = \"full\"", &["preset = \"full\""]);
    check("allow_network = true", &["allow_network = true"]);
    check("limits.output_bytes = 200001", &["limits.output_bytes = 200001"]);
    check("limits.timeout_ms = 60001", &["limits.timeout_ms = 60001"]);
    check("limits.shown_chars = 40001", &["limits.shown_chars = 40001"]);
    check("limits.answer_ms = 600001", &["limits.answer_ms = 600001"]);
    check("requires.net.hosts = [\"a.b\"]", &["requires = {\"net\":{\"hosts\":[\"a.b\"]}}"]);
    check("permissions = [{ permission = \"*\", action = \"allow\" }]", &["allow * \"*\""]);
    check("network_guard = \"kernel\"", &["network_guard = \"kernel\""]);
    check("sandbox.readable = [\"/opt\"]", &["sandbox.readable = [\"/opt\"]"]);
    check("sandbox.unprotect = [\".envrc\"]", &["sandbox.unprotect = [\".envrc\"]"]);
    check("sandbox.memory_bytes = 4294967297", &["sandbox.memory_bytes = 4294967297"]);
    check("sandbox.processes = 1025", &["sandbox.processes = 1025"]);
    check("sandbox.temp_bytes = 2147483649", &["sandbox.temp_bytes = 2147483649"]);
    check("sandbox.file_bytes = 4294967297", &["sandbox.file_bytes = 4294967297"]);
    check("sandbox.open_files = 4097", &["sandbox.open_files = 4097"]);
    check("notify = [{ program = [\"./run\"] }]", &["notify = [program [\"./run\"]]"]);
    check(
        "notify = [{ url = \"https://hooks.slack.com/services/S3CRET\", contents = true }]",
        &["notify = [url \"https://hooks.slack.com\", with contents]"],
    );
    check("watchdogs = [{ program = [\"./run\"] }]", &["watchdogs = [[\"./run\"]]"]);
    for python in [
        "python = [{ dir = \"tools\" }]",
        "python = [{ dir = \"a\", interpreter = \"/b\", package_root = \".\", readable = [\"/c\"] }]",
    ] {
        check(python, &[python]);
    }
    check(
        "[mcp.git]\ncommand = \"x\"\nenv = { TOKEN = \"hush\" }\nrequires.net.hosts = [\"a.b\"]",
        &[
            "mcp.git = { command = [\"x\"], env = [\"TOKEN\"], requires = {\"net\":{\"hosts\":[\"a.b\"]}} }",
        ],
    );
    check("durability.journal = \"j.sqlite\"", &["durability.journal = \"j.sqlite\""]);
    check(
        "durability.journal = \"postgres://a:secret@b/c\"",
        &["durability.journal = \"postgres://a:***@b/c\""],
    );
    check("scope.run = \"nightly\"", &["scope.run = \"nightly\""]);
    check("scope.attempt = 2", &["scope.attempt = 2"]);
    check("plan.parallel = 17", &["plan.parallel = 17"]);
    check("durability.keep_days = 1", &["durability.keep_days = 1"]);
    check("durability.keep_bytes = 1", &["durability.keep_bytes = 1"]);
    check("reference_watchdog = false", &["reference_watchdog = false"]);
    check("model.name = \"ollama/q\"", &["model.name = \"ollama/q\""]);
    check("model.idle_ms = 5", &["model.idle_ms = 5"]);
    check("model.images = true", &["model.images = true"]);
    check("model.input_cents = 300", &["model.input_cents = 300"]);
    check(
        "model = { name = \"openai/m\", base_url = \"https://a.b/v1\", key_variable = \"K\" }",
        &[
            "model.name = \"openai/m\"",
            "model.base_url = \"https://a.b/v1\"",
            "model.key_variable = \"K\"",
        ],
    );
    check("web_search.calls_max = 1", &["web_search.calls_max = 1"]);
    check(
        "[[web_search.providers]]\nkind = \"brave\"\nkey_variable = \"K\"\n[[web_search.providers]]\nkind = \"searxng\"\nurl = \"http://a.b\"",
        &[
            "web_search.providers = [{ kind = \"brave\", key_variable = \"K\" }]",
            "web_search.providers = [{ kind = \"searxng\", url = \"http://a.b\" }]",
        ],
    );
    for root in ["/", "..", "../other", "link", "sub/../..", "missing"] {
        check(&format!("root = {root:?}"), &[&format!("root = {root:?}")]);
        check(&format!("roots = [{root:?}]"), &[&format!("roots = [{root:?}]")]);
    }
}

#[test]
fn what_costs_more_or_records_less_widens() {
    let case = Case::new();
    let check = |text: &str, expect: &[&str]| {
        let parted = case.part(text);
        assert_eq!(parted.privileged_keys, expect, "{text}");
        assert_eq!(parted.unprivileged, Manifest::default(), "{text}");
    };
    check("agent.context_tokens = 128001", &["agent.context_tokens = 128001"]);
    check("agent.max_steps = 201", &["agent.max_steps = 201"]);
    check("snapshots.enabled = false", &["snapshots.enabled = false"]);
    check(
        "snapshots.exclude = [\"a\", \"b\"]",
        &["snapshots.exclude = [\"a\"]", "snapshots.exclude = [\"b\"]"],
    );
}

#[test]
fn what_narrows_holds_anyway() {
    let case = Case::new();
    let check = |text: &str| {
        let parted = case.part(text);
        assert_eq!(parted.privileged_keys, Vec::<String>::new(), "{text}");
        assert_ne!(parted.unprivileged, Manifest::default(), "{text}");
    };
    check("preset = \"read-only\"");
    check("preset = \"ask\"");
    check("preset = \"workspace\"");
    check("allow_network = false");
    check("limits.output_bytes = 200000");
    check("limits.timeout_ms = 60000");
    check("limits.shown_chars = 40000");
    check("limits.answer_ms = 600000");
    check("asks = \"wait\"");
    for on_repeat in ["warn", "refuse", "recall"] {
        check(&format!("durability.on_repeat = {on_repeat:?}"));
    }
    check("network_guard = \"standard\"");
    check("network_guard = \"strict\"");
    check("sandbox.memory_bytes = 4294967296");
    check("sandbox = { processes = 16, temp_bytes = 1048576, file_bytes = 1048576 }");
    check("sandbox.protect = [\"deploy.key\"]");
    check("reference_watchdog = true");
    check("root = \"sub\"");
    check("roots = [\"sub\", \".\"]");
    check("profile = \"smithers\"");
    check("tools = [\"read\"]");
    check(
        "permissions = [{ permission = \"fs.read\", pattern = \"secrets/**\", action = \"deny\" }]",
    );
    check("permissions = [{ permission = \"fs.write\" }]");
    check("agent = { default = \"plan\", context_tokens = 128000, output_tokens = 5 }");
    check("plan.tools.bash.concurrency = 1");
    check("lsp.python.enabled = false");
    check("tools = []");
    check("sandbox.control_groups = true");
}

#[test]
fn a_key_without_a_declaration_is_withheld() {
    let text =
        "profile = \"smithers\"\ntools = [\"read\"]\nforgotten = true\n\n[limits]\nforgotten = 1\n";
    let table: Table = toml::from_str(text).unwrap();
    let split = |settings: &[Setting]| {
        let split = split_table(&table, &Manifest::default(), Path::new("/"), settings);
        toml::to_string(&split.kept).unwrap()
    };
    assert_eq!(split(SETTINGS), "profile = \"smithers\"\ntools = [\"read\"]\n");
    // Also one that the reader knows.
    let forgetful: Vec<Setting> =
        SETTINGS.iter().copied().filter(|setting| setting.key != Some("profile")).collect();
    assert_eq!(split(&forgetful), "tools = [\"read\"]\n");
}
