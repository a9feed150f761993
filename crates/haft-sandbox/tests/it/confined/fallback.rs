//! Confinement without namespaces: the whole machine is visible, and Landlock and the filters
//! refuse access.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};

use haft_sandbox::{Confinement, Mechanisms, Network, ProcessExit};

use crate::spawn::{Fixture, Token, eventually};

fn confinement(fixture: &Fixture) -> Confinement {
    let mechanisms = Mechanisms { namespaces: false, ..Mechanisms::ALL };
    Confinement { mechanisms, ..fixture.confinement() }
}

#[tokio::test]
async fn what_was_not_granted_cannot_be_used() {
    let fixture = Fixture::new();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("secret"), "secret").unwrap();
    let other = other.path().display();
    let script = format!(
        "cat {other}/secret; echo x > {other}/secret; touch {other}/x; ls {other}; touch /usr/x; \
         echo own > own && cat own; echo x > /dev/null && echo null"
    );
    let (output, _) = fixture.run_confined(&confinement(&fixture), &script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 7, "{output}");
    assert!(lines[..5].iter().all(|line| line.contains("Permission denied")), "{output}");
    assert_eq!(lines[5..], ["own", "null"]);
    assert_eq!(fs::read_to_string(format!("{other}/secret")).unwrap(), "secret");
}

#[tokio::test]
async fn hidden_paths_are_left_out_and_their_neighbours_are_not() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("a/b/secrets")).unwrap();
    fs::write(fixture.path("a/b/secrets/key"), "key").unwrap();
    fs::write(fixture.path("a/b/open"), "open\n").unwrap();
    fs::write(fixture.path("a/token"), "token").unwrap();
    fs::create_dir_all(fixture.path("c")).unwrap();
    std::os::unix::fs::symlink("a/token", fixture.path("link")).unwrap();
    let mut confinement = confinement(&fixture);
    confinement.hidden = vec![fixture.path("a/b/secrets"), fixture.path("a/token")];
    let script = "cat a/b/secrets/key; cat a/token; cat link; ls a/b/secrets; cat a/b/open; echo c > c/file && cat c/file";
    let (output, _) = fixture.run_confined(&confinement, script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[..4].iter().all(|line| line.contains("Permission denied")), "{output}");
    assert_eq!(lines[4..], ["open", "c"]);
}

#[tokio::test]
async fn the_temporary_directory_is_private_and_goes() {
    let fixture = Fixture::new();
    let script =
        "echo x > $TMPDIR/x && stat -c %a $TMPDIR && echo $TMPDIR; touch /tmp/haft-escaped";
    let (output, _) = fixture.run_confined(&confinement(&fixture), script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "700");
    assert!(lines[2].contains("Permission denied"), "{output}");
    assert!(!fs::exists(lines[1]).unwrap());
    assert!(!fs::exists("/tmp/haft-escaped").unwrap());
}

#[tokio::test]
async fn no_socket_can_be_made_but_the_hosts_network_can_be_granted() {
    let fixture = Fixture::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script =
        format!("(: < /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused");
    let mut confinement = confinement(&fixture);
    let (output, _) = fixture.run_confined(&confinement, &script).await;
    assert_eq!(output, "refused\n");
    confinement.network = Network::Host;
    let (output, _) = fixture.run_confined(&confinement, &script).await;
    assert_eq!(output, "connected\n");
}

#[tokio::test]
async fn its_supervisor_and_strangers_cannot_be_harmed() {
    let fixture = Fixture::new();
    let script = format!(
        "kill -9 $PPID; kill -STOP $PPID; kill -9 {}; cat /proc/$PPID/environ; echo done",
        std::process::id()
    );
    let (output, exit) = fixture.run_confined(&confinement(&fixture), &script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(
        (lines.len(), lines.last(), exit),
        (5, Some(&"done"), ProcessExit::Code(0)),
        "{output}"
    );
}

#[tokio::test]
async fn nothing_is_left() {
    let fixture = Fixture::new();
    let token = Token::new();
    let script = format!("setsid -f sleep {token}; sleep {token} & echo ready; sleep {token}");
    let mut process = fixture.start_confined(&confinement(&fixture), &script).await;
    eventually("the command", || token.living() == 3).await;
    process.control.kill();
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
    assert_eq!(token.living(), 0);
}
