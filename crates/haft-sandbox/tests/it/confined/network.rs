//! The network of a confined command.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use haft_sandbox::{Confinement, Network, PROXY_PORT, ProcessExit};

use super::{check, check_with};
use crate::spawn::Fixture;

fn connect(port: u16) -> String {
    format!("(: < /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused")
}

#[tokio::test]
async fn the_loopback_interface_of_the_host_is_out_of_reach() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let script = connect(listener.local_addr().unwrap().port());
    check(&script, "refused\n").await;
    check_with(&script, "connected\n", |_, confinement| confinement.network = Network::Host).await;
}

#[tokio::test]
async fn there_is_one_interface() {
    let script = "tail -n +3 /proc/net/dev | while read -r name _; do echo $name; done; tail -n +2 /proc/net/route";
    check(script, "lo:\n").await;
}

#[tokio::test]
async fn servers_of_its_own_work() {
    check(
        "python3 -c '
import socket, threading
for family, address in ((socket.AF_INET, \"127.0.0.1\"), (socket.AF_INET6, \"::1\")):
    server = socket.create_server((address, 8080), family=family)
    threading.Thread(target=lambda: server.accept()[0].sendall(b\"hello\")).start()
    print(socket.create_connection((address, 8080)).recv(5))'",
        "b'hello'\nb'hello'\n",
    )
    .await;
}

#[tokio::test]
async fn unix_sockets_are_out_of_reach() {
    let fixture = Fixture::new();
    let _path = UnixListener::bind(fixture.path("socket")).unwrap();
    let name = format!("haft-test-{}", std::process::id());
    let _name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let script = format!(
        "python3 -c '
import socket
for address in \"socket\", \"\\0{name}\":
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        print(\"connected\")
    except OSError as error:
        print(error)'"
    );
    for network in [Network::Loopback, Network::Host] {
        let confinement = Confinement { network, ..fixture.confinement() };
        let (output, _) = fixture.run_confined(&confinement, &script).await;
        let refused = "[Errno 97] Address family not supported by protocol\n";
        assert_eq!(output, format!("{refused}{refused}"));
    }
}

#[tokio::test]
async fn each_command_has_a_listener_of_its_own() {
    let fixture = Fixture::new();
    let confinement = Confinement { network: Network::Proxied, ..fixture.confinement() };
    let script =
        |name: &str| format!("exec 3<>/dev/tcp/127.0.0.1/{PROXY_PORT}; echo {name} >&3; cat <&3");
    let mut first = fixture.start_confined(&confinement, &script("first")).await;
    let mut second = fixture.start_confined(&confinement, &script("second")).await;
    for (process, name) in [(&mut first, "first\n"), (&mut second, "second\n")] {
        let listener = process.listener.take().unwrap();
        assert!(process.listener.take().is_none());
        // The listener is non-blocking; this test blocks.
        listener.set_nonblocking(false).unwrap();
        let (mut connection, _) = listener.accept().unwrap();
        let mut said = vec![0; name.len()];
        connection.read_exact(&mut said).unwrap();
        assert_eq!(said, name.as_bytes());
        connection.write_all(b"answer").unwrap();
        drop(connection);
        let mut answer = [0; 100];
        let count = process.output.read(&mut answer).await.unwrap();
        assert_eq!(&answer[..count], b"answer");
        assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Code(0));
    }
}

#[tokio::test]
async fn a_listener_does_not_block() {
    let fixture = Fixture::new();
    let confinement = Confinement { network: Network::Proxied, ..fixture.confinement() };
    let mut process = fixture.start_confined(&confinement, "read -r line").await;
    let listener = process.listener.take().unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(listener.local_addr().unwrap().port(), PROXY_PORT);
    process.control.wait().await.unwrap();
}

#[tokio::test]
async fn without_a_proxy_there_is_no_listener() {
    let fixture = Fixture::new();
    for network in [Network::Loopback, Network::Host] {
        let confinement = Confinement { network, ..fixture.confinement() };
        let mut process = fixture.start_confined(&confinement, "exit 0").await;
        assert!(process.listener.take().is_none());
    }
    check(&connect(PROXY_PORT), "refused\n").await;
}
