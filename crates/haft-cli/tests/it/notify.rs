//! Notifications from outside: a real program and a real HTTP server learn of asks, of calls in doubt and of the ends of runs.
//! A notification has no contents unless a setting says so, and a receiver that hangs or fails changes no call.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::durability::Ordering;
use crate::mcp_wire::driver::{Server, initialize};
use crate::world::World;

/// Longest wait for something to happen, in milliseconds.
const WAIT_MS: u64 = 30_000;
/// The file to which the program of the tests appends what it is told.
const TOLD: &str = "told.txt";

/// A request to the server of a test.
#[derive(Debug)]
struct Post {
    path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: String,
}

impl Post {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|err| panic!("{err}: {}", self.body))
    }
}

/// An HTTP server that hands over each request, and answers with the status in its turn. The last status is that of all later
/// requests; 0 is no answer at all.
struct HookServer {
    url: String,
    posts: Receiver<Post>,
}

impl HookServer {
    fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, posts) = channel();
        std::thread::spawn(move || {
            let mut unanswered = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let Some(post) = read_request(&stream) else { continue };
                if sender.send(post).is_err() {
                    return;
                }
                match statuses.get(number).or(statuses.last()) {
                    Some(0) | None => unanswered.push(stream),
                    Some(status) => {
                        let answer = format!(
                            "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                        );
                        let _ = stream.write_all(answer.as_bytes());
                    }
                }
            }
        });
        Self { url, posts }
    }

    fn next(&self) -> Post {
        self.posts.recv_timeout(Duration::from_millis(WAIT_MS)).expect("no post came")
    }
}

fn read_request(stream: &TcpStream) -> Option<Post> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length?.1.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Post { path, headers, body: String::from_utf8(body).ok()? })
}

/// Writes a program outside the workspace that appends what it is told to a file, and returns its path.
fn program(world: &World) -> String {
    let path = world.path("").join("bin/tell");
    let told = world.path("").join(TOLD);
    // One line is one write, whatever else is told at the same time.
    let script =
        format!("#!/bin/sh\nline=$(cat)\nprintf '%s\\n' \"$line\" >> {}\n", told.display());
    world.write("bin/tell", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

fn user_configuration(world: &World, text: &str) {
    world.write("home/.config/haft/haft.toml", text);
    let directory = world.path("home/.config/haft");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(directory.join("haft.toml"), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Returns what the program was told, once it was told so many things.
fn told(world: &World, count: usize) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(world.path("").join(TOLD)).unwrap_or_default();
        let lines: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if lines.len() >= count {
            return lines;
        }
        assert!(begun.elapsed() < Duration::from_millis(WAIT_MS), "told {count}: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server whose client cannot ask a person, and its standard error.
fn server(world: &World) -> Server {
    // A server that begins a journal says so.
    world.run(&["call", "read", r#"{"path":"notes.txt"}"#]);
    let mut command = world.haft(&["mcp", "--preset", "ask"]);
    command.stderr(fs::File::create(world.path("").join("stderr.txt")).unwrap());
    let mut server = Server::of(command);
    server.request("initialize", initialize());
    server
}

fn stderr(world: &World) -> String {
    fs::read_to_string(world.path("").join("stderr.txt")).unwrap()
}

/// Begins a call that waits for an answer, and returns its number with the id of the ask.
fn begin_write(world: &World, server: &mut Server, path: &str) -> (u64, String) {
    let arguments = json!({"path": path, "content": "secret words"});
    let call = server.begin("tools/call", json!({"name": "write", "arguments": arguments}));
    let begun = Instant::now();
    loop {
        let asks = world.json(&["asks", "list", "--json"]);
        if let Some(ask) = asks[0]["id"].as_str() {
            return (call, ask.to_owned());
        }
        assert!(begun.elapsed() < Duration::from_millis(WAIT_MS), "no ask appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Allows an ask, and returns the text of the call's answer.
fn allow(world: &World, server: &mut Server, (call, ask): (u64, &str)) -> String {
    world.json(&["asks", "allow", ask, "--json"]);
    loop {
        let message = server.receive();
        if message["id"] == json!(call) {
            return message["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        }
    }
}

/// A running inspector.
pub(crate) struct Inspector {
    child: Child,
    /// Scheme, host and port.
    pub(crate) address: String,
}

impl Inspector {
    pub(crate) fn start(world: &World) -> Self {
        let mut command = world.haft(&["inspect", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["url"].as_str().unwrap().split_once("/#").unwrap().0.to_owned();
        Self { child, address }
    }

    /// Logs in with the secret of a link, and returns the status.
    fn log_in(&self, link: &str) -> String {
        let host = self.address.trim_start_matches("http://");
        let secret = link.split_once("#token=").unwrap().1;
        let mut stream = TcpStream::connect(host).unwrap();
        let request = format!(
            "POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{secret}",
            self.address,
            secret.len(),
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_ask_and_an_end_reach_a_program_and_webhooks_with_links_that_work_once() {
    let world = World::with_files();
    let hook = HookServer::start(&[200]);
    let (url, program) = (&hook.url, program(&world));
    user_configuration(
        &world,
        &format!(
            "asks = \"wait\"\n[[notify]]\nprogram = [{program:?}]\n\
             [[notify]]\nurl = \"{url}/json\"\ntoken_variable = \"HOOK_TOKEN\"\n\
             [[notify]]\non = [\"ask\"]\nurl = \"{url}/ntfy\"\nformat = \"ntfy\"\n\
             [[notify]]\non = [\"ask\"]\nurl = \"{url}/slack\"\nformat = \"slack\"\n"
        ),
    );
    let inspector = Inspector::start(&world);
    let mut command = world.haft(&["mcp", "--preset", "ask"]);
    let mut server = Server::of({
        command.env("HOOK_TOKEN", "hush");
        command
    });
    server.request("initialize", initialize());
    let (call, ask) = begin_write(&world, &mut server, "new.txt");
    let of_program = told(&world, 1).remove(0);
    let mut posts = [hook.next(), hook.next(), hook.next()];
    posts.sort_by(|one, other| one.path.cmp(&other.path));
    let [of_json, of_ntfy, of_slack] = &posts;
    assert_eq!(of_json.header("authorization"), Some("Bearer hush"));
    let of_json = of_json.json();
    let page = format!("{}/asks/{ask}#token=", inspector.address);
    let slack = of_slack.json()["text"].as_str().unwrap().to_owned();
    let links = [
        of_program["link"].as_str().unwrap().to_owned(),
        of_json["link"].as_str().unwrap().to_owned(),
        of_ntfy.header("click").unwrap().to_owned(),
        slack.lines().last().unwrap().to_owned(),
    ];
    for link in &links {
        assert!(link.starts_with(&page), "{link}");
        assert_eq!([inspector.log_in(link), inspector.log_in(link)], ["200", "401"], "{link}");
    }
    for (place, link) in links.iter().enumerate() {
        assert!(!links[..place].contains(link), "each receiver has its own link");
    }
    assert_eq!(of_ntfy.header("title"), Some("haft asks: may write run?"));
    assert_eq!(of_ntfy.header("authorization"), None);
    for one in [&of_program, &of_json] {
        let facts = ["event", "tool", "ask", "front_end", "version"].map(|name| &one[name]);
        let expect = [json!("ask"), json!("write"), json!(ask), json!("mcp"), json!(1)];
        assert_eq!(facts, expect.each_ref(), "{one}");
        assert!(one["deadline_ms"].is_u64() && one["run"].is_string(), "{one}");
        assert_eq!(one["command"], format!("haft asks show {ask}"));
    }
    // No input, no path, no root.
    let all = format!("{of_program}{of_json}{}{slack}", of_ntfy.body);
    for content in ["new.txt", "secret words", world.path("").to_str().unwrap()] {
        assert!(!all.contains(content), "{content}: {all}");
    }
    assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    let (_, status) = server.end();
    assert!(status.success(), "{status}");
    let end = told(&world, 2).remove(1);
    assert_eq!(hook.next().json()["event"], "end");
    assert_eq!(
        (&end["event"], &end["calls"], &end["run"]),
        (&json!("end"), &json!(1), &of_json["run"])
    );
    let link = end["link"].as_str().unwrap();
    let of_run = format!("{}/runs/{}#token=", inspector.address, end["run"].as_str().unwrap());
    assert!(link.starts_with(&of_run), "{link}");
}

#[test]
fn without_an_inspector_the_message_says_what_to_type_and_contents_only_if_a_setting_says_so() {
    let world = World::with_files();
    let program = program(&world);
    // The entry of a trusted workspace adds to that of the user.
    user_configuration(&world, &format!("[[notify]]\non = [\"ask\"]\nprogram = [{program:?}]\n"));
    world.write(
        "work/haft.toml",
        &format!("asks = \"wait\"\n[[notify]]\non = [\"ask\"]\nprogram = [{program:?}]\ncontents = true\n"),
    );
    world.run(&["trust"]);
    let mut server = server(&world);
    let (call, ask) = begin_write(&world, &mut server, "new.txt");
    let told = told(&world, 2);
    let with: Vec<&Value> = told.iter().filter(|one| one.get("contents").is_some()).collect();
    let [with] = with.as_slice() else { panic!("{told:?}") };
    let contents = &with["contents"];
    assert_eq!(contents["input"]["path"], "new.txt", "{contents}");
    assert_eq!(contents["root"], json!(world.path("work")), "{contents}");
    // Bodies are in no notification at all.
    assert!(!json!(told).to_string().contains("secret words"), "{told:?}");
    for one in &told {
        assert_eq!(one["link"], Value::Null, "{one}");
        let text = one["text"].as_str().unwrap();
        assert!(text.ends_with(&format!("\nhaft asks show {ask}")), "{text}");
    }
    assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    server.end();
}

#[test]
fn a_webhook_that_fails_for_a_while_is_tried_again() {
    let world = World::with_files();
    let hook = HookServer::start(&[503, 429, 200]);
    user_configuration(
        &world,
        &format!("asks = \"wait\"\n[[notify]]\non = [\"ask\"]\nurl = \"{}/a\"\n", hook.url),
    );
    let mut server = server(&world);
    let (call, ask) = begin_write(&world, &mut server, "new.txt");
    let bodies = [hook.next().body, hook.next().body, hook.next().body];
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    server.end();
    assert!(!stderr(&world).contains("notified"), "{}", stderr(&world));
}

#[test]
fn a_webhook_that_is_refused_is_reported_once_without_its_secret() {
    let world = World::with_files();
    let hook = HookServer::start(&[404]);
    user_configuration(
        &world,
        &format!(
            "asks = \"wait\"\n[[notify]]\non = [\"ask\"]\nurl = \"{}/services/S3CRET\"\n",
            hook.url
        ),
    );
    let doctor = world.haft(&["doctor", "--json"]).output().unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert_eq!(doctor["notify"], json!([hook.url]));
    let mut server = server(&world);
    for path in ["one.txt", "two.txt"] {
        let (call, ask) = begin_write(&world, &mut server, path);
        hook.next();
        assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    }
    server.end();
    assert_eq!(hook.posts.try_iter().count(), 0, "a lasting refusal is not tried again");
    let expect = format!("warning: {} was not notified: it answered with status 404", hook.url);
    let said = stderr(&world);
    assert_eq!(said.matches("notified").count(), 1, "{said}");
    assert!(said.contains(&expect) && !said.contains("S3CRET"), "{said}");
}

#[test]
fn a_webhook_that_hangs_holds_up_neither_the_call_nor_the_end() {
    let world = World::with_files();
    let hook = HookServer::start(&[0]);
    user_configuration(
        &world,
        &format!("asks = \"wait\"\n[[notify]]\nurl = \"{}/a\"\ntimeout_ms = 60000\n", hook.url),
    );
    let mut server = server(&world);
    let (call, ask) = begin_write(&world, &mut server, "new.txt");
    hook.next();
    let begun = Instant::now();
    assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    server.end();
    // The end of the run is a further post, for which the end of haft waits 3 seconds.
    assert_eq!(hook.next().json()["event"], "end");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn an_untrusted_manifest_names_no_receiver() {
    let world = World::with_files();
    let (hook, program) = (HookServer::start(&[200]), program(&world));
    world.write(
        "work/haft.toml",
        &format!(
            "asks = \"wait\"\n[[notify]]\nprogram = [{program:?}]\n[[notify]]\nurl = \"{}/S3CRET\"\n",
            hook.url
        ),
    );
    let mut server = server(&world);
    let (call, ask) = begin_write(&world, &mut server, "new.txt");
    assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    server.end();
    let warning = stderr(&world);
    for ignored in
        [format!("notify = [program [{program:?}]]"), format!("notify = [url {:?}]", hook.url)]
    {
        assert!(warning.contains(&ignored), "{ignored}: {warning}");
    }
    assert!(!warning.contains("S3CRET"), "{warning}");
    assert!(!world.path("").join(TOLD).exists());
    assert_eq!(hook.posts.try_iter().count(), 0);
}

#[test]
fn a_program_that_a_command_could_change_is_not_started() {
    let world = World::with_files();
    world.write("work/tell", "#!/bin/sh\ntouch started\n");
    let path = world.path("work/tell");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    user_configuration(&world, &format!("asks = \"wait\"\n[[notify]]\nprogram = [{path:?}]\n"));
    let mut server = server(&world);
    let (call, ask) = begin_write(&world, &mut server, "new.txt");
    assert_eq!(allow(&world, &mut server, (call, &ask)), "ok");
    server.end();
    let warning = stderr(&world);
    assert!(warning.contains("lies in a root") && warning.contains("notify program"), "{warning}");
    assert!(!world.path("work/started").exists() && !world.path("state/started").exists());
}

#[test]
fn a_call_in_doubt_is_told_once() {
    let world = World::with_files();
    let program = program(&world);
    user_configuration(&world, &format!("[[notify]]\nprogram = [{program:?}]\n"));
    Ordering::begin(&world, "r1").kill();
    // A single call is no run whose end a person waits for elsewhere.
    for _ in 0..2 {
        world.run(&["call", "read", r#"{"path":"notes.txt"}"#]);
    }
    let told = told(&world, 1);
    let [doubt] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&doubt["event"], &doubt["run"]), (&json!("in_doubt"), &json!("r1")));
    assert_eq!(doubt["calls"], json!([{"call": "r1/main/0/1/1", "tool": "bash"}]));
    assert_eq!(doubt["command"], "haft runs show r1");
    assert!(!doubt.to_string().contains("orders"), "{doubt}");
}

#[test]
fn a_plan_tells_of_its_end_before_haft_ends() {
    let world = World::with_files();
    let program = program(&world);
    user_configuration(&world, &format!("[[notify]]\non = [\"end\"]\nprogram = [{program:?}]\n"));
    let plan = json!({
        "nodes": [{"id": 0, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": []}],
        "final_output_node": 0,
    });
    world.write("work/plan.json", &plan.to_string());
    world.run(&["run", "plan.json"]);
    // haft has ended, so the file is complete.
    let told = told(&world, 1);
    let [end] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&end["event"], &end["front_end"]), (&json!("end"), &json!("plan")), "{end}");
    assert_eq!(end["failed"], 0, "{end}");
}

#[test]
fn what_is_wrong_with_an_entry_is_named() {
    let check = |text: &str, expect: &str| {
        let world = World::new();
        world.write("work/haft.toml", &format!("[[notify]]\n{text}\n"));
        let refused = world.haft(&["tools", "list"]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains(expect), "{text}: {said}");
    };
    check("", "expected program or url, found neither");
    check("program = [\"a\"]\nurl = \"http://a\"", "expected program or url, found both");
    check("url = \"ntfy.sh/topic\"", "url: expected a URL");
    check("url = \"file:///etc/passwd\"", "url: expected http or https, found file");
    check("program = [\"a\"]\nformat = \"slack\"", "format: a program always gets JSON");
    check("url = \"http://a\"\non = []", "on: expected at least one of ask, end, in_doubt");
    check("url = \"http://a\"\non = [\"asks\"]", "asks");
    check("url = \"http://a\"\ntimeout_ms = 60001", "timeout_ms: expected 1 to 60000 milliseconds");
    check("url = \"http://a\"\ntoken = \"x\"", "unknown key \"token\"");
}
