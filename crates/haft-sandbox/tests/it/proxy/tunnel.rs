//! Tunnels of CONNECT and SOCKS5: decisions, transferred bytes, and endings.

use expect_test::expect;
use haft_sandbox::proxy::EgressDecision::{AnyAddress, ByName};
use haft_sandbox::proxy::{
    ProxyConnection, ProxyConnections, ProxyLimits, ProxyOutcome, ProxyProtocol,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::world::{Grants, LOOPBACK, Names, World, closed, echo, read_all, read_head, serve};

const SOCKS_GREETING: &[u8] = b"\x05\x01\x00";

fn socks_name(name: &str, port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [b"\x05\x01\x00\x03", &[length][..], name.as_bytes(), &port.to_be_bytes()].concat()
}

/// Requests a connection by SOCKS5 and returns the code of the reply.
async fn socks_reply(world: &World, request: &[u8]) -> u8 {
    let mut stream = world.connect().await;
    stream.write_all(&[SOCKS_GREETING, request].concat()).await.unwrap();
    let reply = read_all(&mut stream).await;
    assert_eq!(reply.len(), 12, "{reply:?}");
    reply[3]
}

#[tokio::test]
async fn a_tunnel_carries_bytes_and_is_recorded() {
    let server = echo().await;
    let world = World::new(&[("echo.test", AnyAddress)]);
    let mut tunnel = world.tunnel(&format!("Echo.Test.:{}", server.port())).await;
    tunnel.write_all(b"ping").await.unwrap();
    tunnel.shutdown().await.unwrap();
    assert_eq!(read_all(&mut tunnel).await, b"ping");
    let connection = ProxyConnection {
        host: "echo.test".to_owned(),
        port: server.port(),
        protocol: ProxyProtocol::Connect,
        outcome: ProxyOutcome::Admitted { address: server },
        sent_bytes: 4,
        received_bytes: 4,
    };
    let expected =
        ProxyConnections { recorded: vec![connection], admitted: 1, ..ProxyConnections::default() };
    assert_eq!(world.finish().await, expected);
}

#[tokio::test]
async fn socks_takes_names_and_addresses() {
    let server = echo().await;
    let world = World::new(&[("echo.test", AnyAddress), ("127.0.0.1", AnyAddress)]);
    let port = server.port();
    let address = [&b"\x05\x01\x00\x01\x7f\x00\x00\x01"[..], &port.to_be_bytes()].concat();
    for request in [socks_name("echo.test", port), socks_name("127.0.0.1", port), address] {
        let mut stream = world.connect().await;
        stream.write_all(SOCKS_GREETING).await.unwrap();
        let mut accepted = [0; 2];
        stream.read_exact(&mut accepted).await.unwrap();
        assert_eq!(accepted, *b"\x05\x00");
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).await.unwrap();
        assert_eq!(reply, *b"\x05\x00\x00\x01\0\0\0\0\0\0");
        stream.write_all(b"ping").await.unwrap();
        stream.shutdown().await.unwrap();
        assert_eq!(read_all(&mut stream).await, b"ping");
    }
    let connections = world.finish().await;
    let hosts: Vec<_> = connections.recorded.iter().map(|entry| entry.host.as_str()).collect();
    assert_eq!(hosts, ["echo.test", "127.0.0.1", "127.0.0.1"]);
    assert!(connections.recorded.iter().all(|entry| entry.protocol == ProxyProtocol::Socks5));
}

#[tokio::test]
async fn what_comes_with_the_request_is_carried() {
    let server = echo().await;
    let world = World::new(&[("echo.test", AnyAddress)]);
    let port = server.port();
    let connect = format!("CONNECT echo.test:{port} HTTP/1.1\r\n\r\nearly").into_bytes();
    let socks = [SOCKS_GREETING, &socks_name("echo.test", port), b"early"].concat();
    for request in [connect, socks] {
        let mut stream = world.connect().await;
        stream.write_all(&request).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = read_all(&mut stream).await;
        assert!(answer.ends_with(b"early"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_granted_is_refused() {
    let server = echo().await;
    let world = World::new(&[("other.test", AnyAddress)]);
    let port = server.port();
    let refusal = world.ask(format!("CONNECT echo.test:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
    expect![[r#"
        HTTP/1.1 403 host echo.test is not granted to this call; the user can grant it, or the tool can declare it in requires.net.hosts
        Content-Type: text/plain; charset=utf-8
        Content-Length: 116
        Connection: close

        host echo.test is not granted to this call; the user can grant it, or the tool can declare it in requires.net.hosts
    "#]].assert_eq(&refusal.replace('\r', ""));
    assert_eq!(socks_reply(&world, &socks_name("echo.test", port)).await, 2);
    let connections = world.finish().await;
    assert_eq!((connections.admitted, connections.refused), (0, 2));
    let reason = "host echo.test is not granted to this call; the user can grant it, or the tool can \
                  declare it in requires.net.hosts";
    let refused = ProxyOutcome::Refused { reason: reason.to_owned() };
    assert!(connections.recorded.iter().all(|entry| entry.outcome == refused));
}

#[tokio::test]
async fn a_name_does_not_lead_to_addresses_of_ones_own() {
    let server = echo().await;
    let port = server.port();
    for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.1.1"] {
        let names = Names::new(&[&[address.parse().unwrap()]]);
        let grants = Grants::new(&[("named.test", ByName)]);
        let world = World::with(grants, names, ProxyLimits::default());
        let request = format!("CONNECT named.test:{port} HTTP/1.1\r\n\r\n");
        let refusal = world.ask(request.as_bytes()).await;
        assert!(
            refusal.starts_with("HTTP/1.1 403 host named.test is granted by name"),
            "{refusal}"
        );
        assert_eq!(socks_reply(&world, &socks_name("named.test", port)).await, 2);
        assert_eq!(world.finish().await.refused, 2);
    }
}

#[tokio::test]
async fn an_address_has_to_be_granted_itself_and_in_one_spelling() {
    let server = echo().await;
    let port = server.port();
    let world = World::new(&[("echo.test", AnyAddress), ("127.0.0.1", AnyAddress)]);
    for host in [
        "[::1]",
        "127.1",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "2130706433",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[fe80::1%25lo]",
        "127.0.0.1%00.echo.test",
        "échо.test",
    ] {
        let refusal = world.ask(format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(refusal.starts_with("HTTP/1.1 403 "), "{host}: {refusal}");
        let name = host.trim_matches(['[', ']']);
        assert_eq!(socks_reply(&world, &socks_name(name, port)).await, 2, "{host}");
    }
    let connections = world.finish().await;
    assert_eq!((connections.admitted, connections.refused), (0, 22));
}

#[tokio::test]
async fn a_name_is_resolved_once_and_what_was_checked_is_dialled() {
    let server = echo().await;
    let port = server.port();
    // A second lookup would return another address, where no server listens.
    let names = Names::new(&[&[LOOPBACK], &["127.255.255.254".parse().unwrap()]]);
    let grants = Grants::new(&[("rebound.test", AnyAddress)]);
    let world = World::with(grants, names.clone(), ProxyLimits::default());
    let mut tunnel = world.tunnel(&format!("rebound.test:{port}")).await;
    tunnel.write_all(b"ping").await.unwrap();
    tunnel.shutdown().await.unwrap();
    assert_eq!(read_all(&mut tunnel).await, b"ping");
    assert_eq!(names.asked(), 1);
}

#[tokio::test]
async fn a_few_addresses_are_tried_in_their_order() {
    let server = echo().await;
    let port = server.port();
    let closed: Vec<_> = (2..=4).map(|last| format!("127.0.0.{last}").parse().unwrap()).collect();
    let enough = Names::new(&[&[&closed[..], &[LOOPBACK]].concat()]);
    let grants = Grants::new(&[("echo.test", AnyAddress)]);
    let world = World::with(grants.clone(), enough, ProxyLimits::default());
    world.tunnel(&format!("echo.test:{port}")).await;

    let too_many = Names::new(&[&[&closed[..], &closed[..1], &[LOOPBACK]].concat()]);
    let world = World::with(grants, too_many, ProxyLimits::default());
    let answer = world.ask(format!("CONNECT echo.test:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_told_apart() {
    let closed = closed();
    let port = closed.local_addr().unwrap().port();
    let world = World::new(&[("closed.test", AnyAddress)]);
    let request = format!("CONNECT closed.test:{port} HTTP/1.1\r\n\r\n");
    let answer = world.ask(request.as_bytes()).await;
    let expected = format!("HTTP/1.1 502 cannot connect to closed.test port {port}: ");
    assert!(answer.starts_with(&expected), "{answer}");
    assert_eq!(socks_reply(&world, &socks_name("closed.test", port)).await, 5);
    assert_eq!(world.finish().await.failed, 2);

    let grants = Grants::new(&[("unknown.test", AnyAddress)]);
    let world = World::with(grants, Names::new(&[]), ProxyLimits::default());
    let answer = world.ask(b"CONNECT unknown.test:1 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 host unknown.test has no address: no such name"));
    assert_eq!(socks_reply(&world, &socks_name("unknown.test", 1)).await, 4);
    let connections = world.finish().await;
    assert_eq!((connections.admitted, connections.refused, connections.failed), (0, 0, 2));
}

#[tokio::test]
async fn two_proxies_share_no_grants() {
    let server = echo().await;
    let port = server.port();
    let first = World::new(&[("first.test", AnyAddress)]);
    let second = World::new(&[("second.test", AnyAddress)]);
    let (_one, _two) = (
        first.tunnel(&format!("first.test:{port}")).await,
        second.tunnel(&format!("second.test:{port}")).await,
    );
    for (world, host) in [(&first, "second.test"), (&second, "first.test")] {
        let refusal = world.ask(format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(refusal.starts_with("HTTP/1.1 403 "), "{refusal}");
    }
    assert_eq!(first.finish().await.admitted, 1);
    assert_eq!(second.finish().await.admitted, 1);
}

#[tokio::test]
async fn one_direction_can_end_before_the_other() {
    // The server ends its direction first, and continues reading.
    let (report, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let server = serve(move |mut stream| {
        let report = report.clone();
        async move {
            stream.write_all(b"hello").await.unwrap();
            stream.shutdown().await.unwrap();
            report.send(read_all(&mut stream).await).unwrap();
        }
    })
    .await;
    let world = World::new(&[("early.test", AnyAddress)]);
    let mut tunnel = world.tunnel(&format!("early.test:{}", server.port())).await;
    assert_eq!(read_all(&mut tunnel).await, b"hello");
    tunnel.write_all(b"still here").await.unwrap();
    tunnel.shutdown().await.unwrap();
    assert_eq!(reports.recv().await.unwrap(), b"still here");
}

#[tokio::test]
async fn a_tunnel_that_breaks_on_one_side_breaks_on_the_other() {
    let server = serve(|mut stream| async move {
        stream.read_u8().await.unwrap();
        stream.set_zero_linger().unwrap();
    })
    .await;
    let world = World::new(&[("broken.test", AnyAddress)]);
    let mut tunnel = world.tunnel(&format!("broken.test:{}", server.port())).await;
    tunnel.write_all(b"x").await.unwrap();
    let err = tunnel.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(err.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_large_transfer_arrives_whole() {
    const BYTES: usize = 32 * 1024 * 1024;
    let server = echo().await;
    let world = World::new(&[("echo.test", AnyAddress)]);
    let tunnel = world.tunnel(&format!("echo.test:{}", server.port())).await;
    let (mut reader, mut writer) = tunnel.into_split();
    let bytes: Vec<u8> = (0..BYTES).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let sent = bytes.clone();
    let sending = tokio::spawn(async move {
        writer.write_all(&sent).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let mut received = Vec::new();
    reader.read_to_end(&mut received).await.unwrap();
    sending.await.unwrap();
    assert!(received == bytes);
    let connections = world.finish().await;
    let [entry] = connections.recorded.as_slice() else { panic!("{connections:?}") };
    assert_eq!((entry.sent_bytes, entry.received_bytes), (BYTES as u64, BYTES as u64));
}

#[tokio::test]
async fn a_hundred_connections_at_one_time() {
    const COUNT: u32 = 100;
    let server = echo().await;
    let world = World::new(&[("echo.test", AnyAddress)]);
    let mut tunnels = Vec::new();
    for _ in 0..COUNT {
        tunnels.push(world.tunnel(&format!("echo.test:{}", server.port())).await);
    }
    for (number, tunnel) in (0..COUNT).zip(&mut tunnels) {
        tunnel.write_u32(number).await.unwrap();
    }
    for (number, tunnel) in (0..COUNT).zip(&mut tunnels).rev() {
        assert_eq!(tunnel.read_u32().await.unwrap(), number);
    }
    assert_eq!(world.finish().await.admitted, u64::from(COUNT));
}

#[tokio::test]
async fn the_end_of_the_proxy_ends_everything() {
    for is_dropped in [false, true] {
        let (report, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let server = serve(move |mut stream| {
            let report = report.clone();
            async move {
                stream.write_all(b"hello").await.unwrap();
                report.send(read_all(&mut stream).await).unwrap();
            }
        })
        .await;
        let world = World::new(&[("open.test", AnyAddress)]);
        let address = world.address;
        let mut tunnel = world.tunnel(&format!("open.test:{}", server.port())).await;
        let mut hello = [0; 5];
        tunnel.read_exact(&mut hello).await.unwrap();
        // It has sent nothing yet.
        let mut idle = world.connect().await;
        if is_dropped {
            drop(world);
        } else {
            let connections = world.finish().await;
            let [entry] = connections.recorded.as_slice() else { panic!("{connections:?}") };
            assert_eq!(entry.outcome, ProxyOutcome::Admitted { address: server });
            assert_eq!(entry.received_bytes, 5);
        }
        assert_eq!(read_all(&mut tunnel).await, b"");
        assert_eq!(read_all(&mut idle).await, b"");
        assert_eq!(reports.recv().await.unwrap(), b"");
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn what_is_no_request_is_answered_and_counted() {
    let world = World::new(&[]);
    for (request, answer) in [
        (&b"\x05\x01\x02"[..], &b"\x05\xff"[..]),
        (b"\x05\x01\x00\x05\x02", b"\x05\x00\x05\x07\x00\x01\0\0\0\0\0\0"),
        (b"\x05\x01\x00\x05\x01\x00\x02", b"\x05\x00\x05\x08\x00\x01\0\0\0\0\0\0"),
    ] {
        let mut stream = world.connect().await;
        stream.write_all(request).await.unwrap();
        assert_eq!(read_all(&mut stream).await, answer);
    }
    for request in
        ["\x04\x01", "\x16\x03\x01", "GET / HTTP/1.1\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n"]
    {
        let mut stream = world.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 400 "), "{request:?}");
    }
    // A client that leaves without sending anything is not counted.
    drop(world.connect().await);
    let connections = world.finish().await;
    assert_eq!(connections, ProxyConnections { malformed: 7, ..ProxyConnections::default() });
}
