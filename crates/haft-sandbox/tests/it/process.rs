//! Running commands: what they see of the system, what others see of them, and that none of their
//! processes is left afterwards.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use haft_sandbox::{
    Enforcement, EnforcementLevel, ProcessControl, ProcessExit, ProcessOutput, SpawnError,
    WaitError,
};

use crate::spawn::{Fixture, Token, eventually};

#[tokio::test]
async fn exit_codes_are_reported() {
    let fixture = Fixture::new();
    for code in [0, 1, 3, 127, 255] {
        let (output, exit) = fixture.run(&format!("exit {code}")).await;
        assert_eq!((output.as_str(), exit), ("", ProcessExit::Code(code)));
    }
}

#[tokio::test]
async fn signals_are_reported() {
    let fixture = Fixture::new();
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("PIPE", 13)] {
        let (_, exit) = fixture.run(&format!("kill -{name} $$")).await;
        assert_eq!(exit, ProcessExit::Signal(number));
    }
}

#[tokio::test]
async fn both_outputs_arrive_in_order() {
    let fixture = Fixture::new();
    let script = "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let (output, exit) = fixture.run(script).await;
    let expected: String = (0..300).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert_eq!((output, exit), (expected, ProcessExit::Code(0)));
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_named() {
    let fixture = Fixture::new();
    let command =
        fixture.command("env").env("B", "2 2").env("A", "1").env("B", "last").env("E", "");
    let (output, exit) = fixture.finish(command).await;
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        (lines, exit),
        (vec!["A=1", "B=last", "E=", "PATH=/usr/bin:/bin"], ProcessExit::Code(0))
    );
}

#[tokio::test]
async fn standard_input_is_empty() {
    let fixture = Fixture::new();
    let (output, exit) = fixture.run("cat; readlink /proc/self/fd/0").await;
    assert_eq!((output.as_str(), exit), ("/dev/null\n", ProcessExit::Code(0)));
}

#[tokio::test]
async fn no_descriptor_is_inherited() {
    let fixture = Fixture::new();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
    let command = fixture.command("ls").args(["/proc/self/fd"]);
    let (output, _) = fixture.finish(command).await;
    // The fourth is the directory that is being listed.
    assert_eq!(output, "0\n1\n2\n3\n");

    // The helper does not keep it either while a command runs: closing this side alone ends the
    // pipe.
    let mut process = fixture.start("echo ready; exec sleep 1000").await;
    process.output.read(&mut [0; 100]).await.unwrap();
    drop(writer);
    assert_eq!(rustix::io::read(reader.as_fd(), &mut [0; 1]).unwrap(), 0);
}

#[tokio::test]
async fn signal_handling_is_the_default() {
    use std::os::unix::fs::PermissionsExt;
    // A helper that was started with signals ignored, as under nohup.
    let fixture = Fixture::new();
    let helper = fixture.path("helper.sh");
    let script =
        format!("#!/bin/sh\ntrap '' HUP INT QUIT TERM USR1\nexec {:?} \"$@\"\n", Fixture::HELPER);
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, PermissionsExt::from_mode(0o755)).unwrap();
    let fixture = fixture.with_helper(helper);
    let (status, _) = fixture.finish(fixture.command("cat").args(["/proc/self/status"])).await;
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // The C library reserves signals 32 and 33.
    let reserved = 0b11 << 31;
    assert_eq!(mask("SigIgn:") & !reserved, 0);
    assert_eq!((mask("SigBlk:"), mask("SigCgt:")), (0, 0));
}

#[tokio::test]
async fn a_command_has_a_session_of_its_own() {
    let fixture = Fixture::new();
    let (output, _) = fixture.run("set -- $(cat /proc/$$/stat); echo $1 $5 $6 $7").await;
    let fields: Vec<&str> = output.split_whitespace().collect();
    assert_eq!(fields, [fields[0], fields[0], fields[0], "0"], "process, group, session, terminal");
}

#[tokio::test]
async fn a_command_starts_in_its_directory() {
    let fixture = Fixture::new();
    let (output, _) = fixture.run("pwd -P").await;
    assert_eq!(output.trim_end(), fixture.root.path().to_str().unwrap());
}

#[tokio::test]
async fn arguments_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let argument = std::ffi::OsStr::from_bytes(b"a\xff\n b");
    let command = fixture.command("sh").args(["-c", "printf %s \"$1\" | od -An -tx1", "sh"]);
    let (output, _) = fixture.finish(command.args([argument])).await;
    assert_eq!(output, " 61 ff 0a 20 62\n");
}

#[tokio::test]
async fn large_arguments_come_through() {
    let fixture = Fixture::new();
    let arguments = vec!["x".repeat(8_192); 128];
    let command = fixture.command("sh").args(["-c", "echo $#; echo ${#128}", "sh"]).args(arguments);
    let (output, _) = fixture.finish(command).await;
    assert_eq!(output, "128\n8192\n");
}

#[tokio::test]
async fn more_output_than_a_pipe_holds_comes_through() {
    let fixture = Fixture::new();
    let (output, exit) = fixture.run("head -c 3000000 /dev/zero | tr '\\0' x").await;
    assert_eq!((output.len(), exit), (3_000_000, ProcessExit::Code(0)));
}

#[tokio::test]
async fn a_flood_waits_for_its_reader() {
    let fixture = Fixture::new();
    let mut process = fixture.start("echo $$; exec yes").await;
    let mut buffer = [0; 256];
    let count = process.output.read(&mut buffer).await.unwrap();
    let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let pid: u32 = text.lines().next().unwrap().parse().unwrap();
    eventually("the flood to be held up", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.contains("(yes) S")
    })
    .await;
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    assert!(written.parse::<usize>().unwrap() < 1024 * 1024, "{written} bytes written");
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
}

#[tokio::test]
async fn a_background_child_delays_nothing_and_is_killed() {
    let fixture = Fixture::new();
    let token = Token::new();
    let (output, exit) = fixture.run(&format!("sleep {token} & echo done; exit 4")).await;
    assert_eq!((output.as_str(), exit), ("done\n", ProcessExit::Code(4)));
    assert_eq!(token.living(), 0);
}

#[tokio::test]
async fn what_left_the_session_is_killed_too() {
    let fixture = Fixture::new();
    let token = Token::new();
    // A new session, a daemon by double fork, a process that ignores SIGTERM, and one that closed
    // its output.
    let script = format!(
        "setsid sleep {token} & (setsid -f sleep {token}); \
         (trap '' TERM HUP INT; setsid -f sh -c 'trap \"\" TERM HUP; sleep {token}; :'); \
         setsid -f sleep {token} >/dev/null 2>&1; \
         while [ $(pgrep -f -c '^sleep {token}') -lt 4 ]; do :; done; echo ready; exit 0"
    );
    let (output, exit) = fixture.run(&script).await;
    assert_eq!((output.as_str(), exit), ("ready\n", ProcessExit::Code(0)));
    assert_eq!(token.living(), 0);
}

#[tokio::test]
async fn a_forking_crowd_is_killed() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!(
        "echo ready; f() {{ while :; do setsid -f sleep {token}; sleep 0.01; done; }}; f & f & f"
    );
    let mut process = fixture.start(&script).await;
    process.output.read(&mut [0; 10]).await.unwrap();
    eventually("a crowd", || token.living() > 20).await;
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
    assert_eq!(token.living(), 0);
}

#[tokio::test]
async fn killing_ends_command_and_output() {
    let fixture = Fixture::new();
    let token = Token::new();
    let mut process = fixture.start(&format!("echo before; setsid sleep {token} & wait")).await;
    eventually("the child", || token.living() == 1).await;
    process.control.kill();
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
    assert_eq!(token.living(), 0);
    // Output that was written before can still be read.
    let mut buffer = [0; 100];
    assert_eq!(process.output.read(&mut buffer).await.unwrap(), 7);
    assert_eq!(process.output.read(&mut buffer).await.unwrap(), 0);
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
}

#[tokio::test]
async fn waiting_can_be_cancelled_and_repeated() {
    let fixture = Fixture::new();
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("go"), mode).unwrap();
    let mut process = fixture.start("read line < go; exit 5").await;
    for _ in 0..100 {
        let wait = tokio::time::timeout(Duration::from_micros(50), process.control.wait());
        assert!(wait.await.is_err(), "ended before it was told to");
    }
    std::fs::write(fixture.path("go"), "line\n").unwrap();
    let mut cancelled = 0;
    let exit = loop {
        let wait = tokio::time::timeout(Duration::from_micros(50), process.control.wait());
        match wait.await {
            Ok(exit) => break exit.unwrap(),
            Err(_) => cancelled += 1,
        }
        assert!(cancelled < 1_000_000);
    };
    assert_eq!(exit, ProcessExit::Code(5));
    assert_eq!(process.control.wait().await.unwrap(), exit);
}

#[tokio::test]
async fn reading_and_waiting_go_together() {
    let fixture = Fixture::new();
    let process = fixture.start("seq 1 20000").await;
    let (mut output, mut control): (ProcessOutput, ProcessControl) =
        (process.output, process.control);
    let read = async {
        let mut total = 0;
        let mut buffer = [0; 4096];
        loop {
            match output.read(&mut buffer).await.unwrap() {
                0 => return total,
                count => total += count,
            }
        }
    };
    let (total, exit) = tokio::join!(read, control.wait());
    assert_eq!((total, exit.unwrap()), (108_894, ProcessExit::Code(0)));
}

#[tokio::test]
async fn output_ends_although_a_stranger_holds_the_pipe() {
    let fixture = Fixture::new();
    let mut process = fixture.start("echo $$; exec sleep 1000").await;
    let mut buffer = [0; 100];
    let count = process.output.read(&mut buffer).await.unwrap();
    let pid = String::from_utf8_lossy(&buffer[..count]).trim().to_owned();
    let path = format!("/proc/{pid}/fd/1");
    let stranger = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::io::Write::write_all(&mut &stranger, b"late").unwrap();
    process.control.kill();
    process.control.wait().await.unwrap();
    assert_eq!(process.output.read(&mut buffer).await.unwrap(), 4);
    assert_eq!(process.output.read(&mut buffer).await.unwrap(), 0);
    assert!(stranger.as_raw_fd() > 2);
}

#[tokio::test]
async fn many_at_once() {
    let fixture = std::sync::Arc::new(Fixture::new());
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..50 {
        let fixture = std::sync::Arc::clone(&fixture);
        runs.spawn(async move {
            let (output, exit) = fixture.run(&format!("echo {number}; exit {number}")).await;
            assert_eq!((output, exit), (format!("{number}\n"), ProcessExit::Code(number)));
        });
    }
    let results = runs.join_all().await;
    assert_eq!(results.len(), 50);
}

#[tokio::test]
async fn a_start_that_fails_says_why() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    std::fs::write(fixture.path("plain"), "not executable").unwrap();
    std::fs::write(fixture.path("orphan"), "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(fixture.path("orphan"), PermissionsExt::from_mode(0o755)).unwrap();
    let failure = async |program: &str| {
        let spawned = fixture.launcher.spawn_unconfined(fixture.command(program)).await;
        spawned.err().unwrap_or_else(|| panic!("{program} was started"))
    };
    for program in ["no-such-program", "./missing", "/no/such/file", "plain/x"] {
        let error = failure(program).await;
        assert!(matches!(error, SpawnError::NotFound { .. }), "{program}: {error:?}");
        assert!(error.to_string().contains(program), "{error}");
    }
    for program in ["./plain", "/", "/etc/passwd"] {
        let error = failure(program).await;
        assert!(matches!(error, SpawnError::Denied { .. }), "{program}: {error:?}");
    }
    let error = failure("./orphan").await;
    assert!(matches!(error, SpawnError::Execute { .. }), "{error:?}");
    for program in ["", "a\0b"] {
        let error = failure(program).await;
        assert!(matches!(error, SpawnError::Invalid { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn names_are_looked_up_on_the_commands_own_path() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path("bin")).unwrap();
    std::fs::write(fixture.path("bin/tool"), "#!/bin/sh\necho mine $0\n").unwrap();
    std::fs::set_permissions(fixture.path("bin/tool"), PermissionsExt::from_mode(0o755)).unwrap();
    for (path, expected) in
        [("/usr/bin:bin", "mine bin/tool\n"), ("/nowhere:./bin:/bin", "mine ./bin/tool\n")]
    {
        let (output, _) = fixture.finish(fixture.bare_command("tool").env("PATH", path)).await;
        assert_eq!(output, expected);
    }
    for command in [fixture.bare_command("sh"), fixture.bare_command("sh").env("PATH", "")] {
        let error = fixture.launcher.spawn_unconfined(command).await.err();
        assert!(matches!(error, Some(SpawnError::NotFound { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_directory_that_was_removed_cannot_be_started_in_but_harms_nothing() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path("gone")).unwrap();
    let cwd = fixture.root.open_dir("gone".as_ref()).unwrap();
    std::fs::remove_dir(fixture.path("gone")).unwrap();
    let command = haft_sandbox::SandboxCommand::new("/bin/sh", cwd).args(["-c", "echo ran"]);
    let (output, exit) = fixture.finish(command).await;
    // The kernel allows a working directory that was removed. The command runs, but cannot create
    // anything.
    assert!(output.ends_with("ran\n"), "{output}");
    assert_eq!(exit, ProcessExit::Code(0));
}

#[tokio::test]
async fn what_is_no_directory_is_no_place_to_start_in() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("file"), "").unwrap();
    let file = std::fs::File::open(fixture.path("file")).unwrap();
    let command = haft_sandbox::SandboxCommand::new("/bin/sh", file.into());
    let error = fixture.launcher.spawn_unconfined(command).await.err();
    assert!(matches!(error, Some(SpawnError::WorkingDirectory { .. })), "{error:?}");
}

#[tokio::test]
async fn bad_environments_are_refused() {
    let fixture = Fixture::new();
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "\0")] {
        let error =
            fixture.launcher.spawn_unconfined(fixture.command("true").env(name, value)).await.err();
        assert!(matches!(error, Some(SpawnError::Invalid { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn too_large_a_command_is_refused() {
    let fixture = Fixture::new();
    let command = fixture.command("true").args([String::from_utf8(vec![b'x'; 9_000_000]).unwrap()]);
    let error = fixture.launcher.spawn_unconfined(command).await.err();
    assert!(matches!(error, Some(SpawnError::TooLarge { .. })), "{error:?}");
    // Within our own limit, the kernel decides.
    let command = fixture.command("true").args(["x".repeat(200_000)]);
    let error = fixture.launcher.spawn_unconfined(command).await.err();
    assert!(matches!(error, Some(SpawnError::Execute { .. })), "{error:?}");
}

#[tokio::test]
async fn a_helper_that_is_none_is_told() {
    let fixture = Fixture::new().with_helper("/no/such/helper".into());
    let error = fixture.launcher.spawn_unconfined(fixture.command("true")).await.err();
    assert!(matches!(error, Some(SpawnError::Helper { .. })), "{error:?}");
    let fixture = fixture.with_helper("/bin/true".into());
    let error = fixture.launcher.spawn_unconfined(fixture.command("true")).await.err();
    assert!(matches!(error, Some(SpawnError::Helper { .. })), "{error:?}");
}

#[tokio::test]
async fn what_is_enforced_is_said() {
    let fixture = Fixture::new();
    let process = fixture.start("exit 0").await;
    let Enforcement { filesystem, network, processes, system_calls, resources, .. } =
        process.enforcement;
    assert_eq!(processes, EnforcementLevel::Cooperative);
    assert_eq!([filesystem, network, system_calls, resources], [EnforcementLevel::None; 4]);
}

#[tokio::test]
async fn a_helper_killed_by_its_command_is_an_error_and_nothing_is_left() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!("sleep {token} & sleep {token} & kill -9 $PPID; sleep {token}");
    let mut process = fixture.start(&script).await;
    let error = process.control.wait().await.unwrap_err();
    assert!(matches!(error, WaitError::HelperDied { signal: Some(9) }), "{error:?}");
    assert_eq!(token.living(), 0);
    assert!(process.control.wait().await.is_err(), "the answer stays the same");
}

#[tokio::test]
async fn a_helper_stopped_by_its_command_still_obeys() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script =
        format!("kill -STOP $PPID; setsid -f sleep {token}; echo stopped; exec sleep {token}");
    let mut process = fixture.start(&script).await;
    assert_eq!(process.output.read(&mut [0; 100]).await.unwrap(), 8);
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
    assert_eq!(token.living(), 0);
}

#[tokio::test]
async fn a_helper_stopped_by_its_command_still_reports() {
    let fixture = Fixture::new();
    let (output, exit) = fixture.run("kill -STOP $PPID; echo done; exit 3").await;
    assert_eq!((output.as_str(), exit), ("done\n", ProcessExit::Code(3)));
}
