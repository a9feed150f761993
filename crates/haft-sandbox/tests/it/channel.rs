//! Channels of running commands: which data crosses a channel, which processes hold it, and when it
//! ends.

use std::os::unix::net::UnixStream as StdUnixStream;

use haft_sandbox::{CommandChannel, Confinement, Mechanisms, ProcessExit, SandboxProcess};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::spawn::{Fixture, Token, eventually};

/// Answers each line of its channel, and also writes to both outputs.
const ECHO: &str = "echo printed; echo complained >&2; \
    while read -r line <&3; do echo \"printed $line\"; echo \"answer $line\" >&3; done; echo over";

/// The confinement of a command in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestConfinement {
    None,
    WithoutNamespaces,
    All,
}

const MODES: [TestConfinement; 3] =
    [TestConfinement::None, TestConfinement::WithoutNamespaces, TestConfinement::All];

impl TestConfinement {
    fn confinement(self, fixture: &Fixture) -> Option<Confinement> {
        let mechanisms = match self {
            TestConfinement::None => return None,
            TestConfinement::WithoutNamespaces => {
                Mechanisms { namespaces: false, ..Mechanisms::ALL }
            }
            TestConfinement::All => Mechanisms::ALL,
        };
        Some(Confinement { mechanisms, ..fixture.confinement() })
    }

    async fn start(
        self,
        fixture: &Fixture,
        channel: CommandChannel,
        script: &str,
    ) -> SandboxProcess {
        let command = fixture.command("sh").args(["-c", script]).channel(channel);
        match self.confinement(fixture) {
            None => fixture.launcher.spawn_unconfined(command).await.unwrap(),
            Some(confinement) => fixture.launcher.spawn(command, &confinement).await.unwrap(),
        }
    }
}

fn end(process: &mut SandboxProcess) -> UnixStream {
    UnixStream::from_std(process.channel.take().unwrap()).unwrap()
}

async fn read_to_end(mut channel: UnixStream) -> String {
    let mut text = String::new();
    channel.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn lines_go_both_ways_and_outputs_stay_apart() {
    for mode in MODES {
        let fixture = Fixture::new();
        let mut process = mode.start(&fixture, CommandChannel::Descriptor, ECHO).await;
        let mut channel = BufReader::new(end(&mut process));
        for line in ["one", "two"] {
            channel.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            let mut answer = String::new();
            channel.read_line(&mut answer).await.unwrap();
            assert_eq!(answer, format!("answer {line}\n"), "{mode:?}");
        }
        channel.shutdown().await.unwrap();
        assert_eq!(read_to_end(channel.into_inner()).await, "");
        let (output, exit) = fixture.read_all(process).await;
        let expected = "printed\ncomplained\nprinted one\nprinted two\nover\n";
        assert_eq!((output.as_str(), exit), (expected, ProcessExit::Code(0)), "{mode:?}");
    }
}

#[tokio::test]
async fn a_channel_can_be_standard_input_and_output() {
    for mode in MODES {
        let fixture = Fixture::new();
        let script =
            "echo complained >&2; read -r line; echo \"answer $line\"; echo $(ls /proc/self/fd)";
        let mut process = mode.start(&fixture, CommandChannel::Stdio, script).await;
        let mut channel = end(&mut process);
        channel.write_all(b"one\n").await.unwrap();
        assert_eq!(read_to_end(channel).await, "answer one\n0 1 2 3\n", "{mode:?}");
        let (output, exit) = fixture.read_all(process).await;
        assert_eq!((output.as_str(), exit), ("complained\n", ProcessExit::Code(0)), "{mode:?}");
    }
}

#[tokio::test]
async fn the_command_has_its_end_and_no_other_descriptor() {
    for mode in MODES {
        let fixture = Fixture::new();
        let script = "ls /proc/self/fd; readlink /proc/self/fd/0";
        let mut process = mode.start(&fixture, CommandChannel::Descriptor, script).await;
        let channel = end(&mut process);
        assert!(process.channel.take().is_none(), "there is one only");
        assert_eq!(read_to_end(channel).await, "");
        let (output, _) = fixture.read_all(process).await;
        // The last one is the directory that is being listed.
        assert_eq!(output, "0\n1\n2\n3\n4\n/dev/null\n", "{mode:?}");
    }
}

#[tokio::test]
async fn nobody_else_holds_the_commands_end() {
    for mode in MODES {
        let fixture = Fixture::new();
        // One command is started before, one after, together with all helpers.
        let before = fixture.start("exec sleep 1000").await;
        let script = "read -r line <&3; exec 3>&-; exec sleep 1000";
        let mut process = mode.start(&fixture, CommandChannel::Descriptor, script).await;
        let mut channel = end(&mut process);
        let after = mode.start(&fixture, CommandChannel::Descriptor, "exec sleep 1000").await;
        channel.write_all(b"close it\n").await.unwrap();
        assert_eq!(read_to_end(channel).await, "", "{mode:?}");
        drop((before, process, after));
    }
}

#[tokio::test]
async fn it_ends_with_the_command_and_all_that_it_started() {
    for mode in MODES {
        let fixture = Fixture::new();
        let token = Token::new();
        let family = format!("sleep {token} & setsid -f sleep {token}; echo ready >&3");
        for (last, exit) in
            [("exec sleep 1000", ProcessExit::Signal(9)), ("exit 5", ProcessExit::Code(5))]
        {
            let script = format!("{family}; {last}");
            let mut process = mode.start(&fixture, CommandChannel::Descriptor, &script).await;
            let mut channel = end(&mut process);
            let mut ready = [0; 6];
            channel.read_exact(&mut ready).await.unwrap();
            if exit == ProcessExit::Signal(9) {
                process.control.kill();
            }
            assert_eq!(read_to_end(channel).await, "");
            assert_eq!(process.control.wait().await.unwrap(), exit, "{mode:?}");
            assert_eq!(token.living(), 0, "{mode:?}");
        }
    }
}

#[tokio::test]
async fn dropping_the_process_ends_it() {
    for mode in MODES {
        let fixture = Fixture::new();
        let token = Token::new();
        let script = format!("exec sleep {token}");
        let mut process = mode.start(&fixture, CommandChannel::Descriptor, &script).await;
        let channel = end(&mut process);
        eventually("the command", || token.living() == 1).await;
        drop(process);
        assert_eq!(read_to_end(channel).await, "");
        eventually("the command's end", || token.living() == 0).await;
    }
}

#[tokio::test]
async fn its_two_ends_block_as_programs_and_the_runtime_expect() {
    let fixture = Fixture::new();
    let mut process = TestConfinement::All.start(&fixture, CommandChannel::Descriptor, ECHO).await;
    let channel: StdUnixStream = process.channel.take().unwrap();
    let nothing = std::io::Read::read(&mut &channel, &mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    // The command is already reading, and must wait.
    let mut buffer = [0; 100];
    let count = process.output.read(&mut buffer).await.unwrap();
    assert!(buffer[..count].starts_with(b"printed\n"));
    let mut channel = UnixStream::from_std(channel).unwrap();
    channel.write_all(b"late\n").await.unwrap();
    channel.shutdown().await.unwrap();
    assert_eq!(read_to_end(channel).await, "answer late\n");
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Code(0));
}

#[tokio::test]
async fn without_one_there_is_none() {
    let fixture = Fixture::new();
    let mut process = fixture.start("exit 0").await;
    assert!(process.channel.take().is_none());
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Code(0));
}
