//! The limits of a proxy, each set so low that a test reaches it.

use haft_sandbox::proxy::EgressDecision::AnyAddress;
use haft_sandbox::proxy::ProxyLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::world::{Grants, Names, Silence, World, answering, echo, read_all, serve};

fn world(limits: ProxyLimits) -> World {
    World::with(Grants::new(&[("a.test", AnyAddress)]), Names::loopback(), limits)
}

#[tokio::test]
async fn further_connections_wait_for_their_turn() {
    let server = echo().await;
    let world = world(ProxyLimits { connections_max: 1, ..ProxyLimits::default() });
    let first = world.tunnel(&format!("a.test:{}", server.port())).await;
    let mut second = world.connect().await;
    second.write_all(b"CONNECT other.test:1 HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    {
        let reading = second.read_exact(&mut answer);
        tokio::pin!(reading);
        // The tunnel works meanwhile, and the second client has no answer.
        let mut first = first;
        let echoing = async {
            for _ in 0..100 {
                first.write_all(b"x").await.unwrap();
                assert_eq!(first.read_u8().await.unwrap(), b'x');
            }
        };
        tokio::select! {
            biased;
            _ = &mut reading => panic!("two are served at one time"),
            () = echoing => {}
        }
        drop(first);
        reading.await.unwrap();
    }
    assert_eq!(answer, *b"HTTP/1.1 403");
}

#[tokio::test]
async fn a_client_that_says_nothing_is_left() {
    let world = world(ProxyLimits { handshake_ms: 20, ..ProxyLimits::default() });
    for start in ["", "GET http://a.test/ HT", "\x05\x01"] {
        let mut stream = world.connect().await;
        stream.write_all(start.as_bytes()).await.unwrap();
        assert_eq!(read_all(&mut stream).await, b"", "{start:?}");
    }
    assert_eq!(world.finish().await.malformed, 0);
}

#[tokio::test]
async fn a_connection_without_traffic_is_ended() {
    let server = echo().await;
    let world = world(ProxyLimits { idle_ms: 20, ..ProxyLimits::default() });
    let mut tunnel = world.tunnel(&format!("a.test:{}", server.port())).await;
    assert_eq!(read_all(&mut tunnel).await, b"");

    let silent = serve(|mut stream| async move {
        read_all(&mut stream).await;
    })
    .await;
    let request = format!("GET http://a.test:{}/ HTTP/1.1\r\n\r\n", silent.port());
    let answer = world.ask(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 504 nothing was sent or received for 20 ms"), "{answer}");
}

#[tokio::test]
async fn a_name_that_takes_too_long_is_given_up() {
    let limits = ProxyLimits { dial_ms: 20, ..ProxyLimits::default() };
    let world =
        World::with(Grants::new(&[("a.test", AnyAddress)]), std::sync::Arc::new(Silence), limits);
    let answer = world.ask(b"CONNECT a.test:1 HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 504 host a.test port 1 did not answer in 20 ms"),
        "{answer}"
    );
    assert_eq!(world.finish().await.failed, 1);
}

#[tokio::test]
async fn heads_of_both_sides_are_bounded() {
    let limits = ProxyLimits { head_bytes_max: 200, ..ProxyLimits::default() };
    let world = world(limits);
    let long = format!("GET http://a.test/{} HTTP/1.1\r\n\r\n", "a".repeat(200));
    let answer = world.ask(long.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 the head is longer than 200 bytes"), "{answer}");

    const LONG: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
                        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
                        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let server = answering(LONG).await;
    let request = format!("GET http://a.test:{}/ HTTP/1.1\r\n\r\n", server.port());
    let answer = world.ask(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn announcements_are_bounded() {
    let server = serve(|mut stream| async move {
        while stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_ok() {}
    })
    .await;
    let world = world(ProxyLimits::default());
    let request = format!("GET http://a.test:{}/ HTTP/1.1\r\n\r\n", server.port());
    let answer = world.ask(request.as_bytes()).await;
    assert_eq!(answer.matches("100 Continue").count(), 32);
    assert!(answer.contains("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn what_is_not_recorded_is_counted() {
    let world = world(ProxyLimits { recorded_max: 3, ..ProxyLimits::default() });
    for number in 0..5 {
        world.ask(format!("CONNECT n{number}.test:1 HTTP/1.1\r\n\r\n").as_bytes()).await;
    }
    let connections = world.finish().await;
    let hosts: Vec<_> = connections.recorded.iter().map(|entry| entry.host.as_str()).collect();
    assert_eq!((hosts, connections.refused), (vec!["n0.test", "n1.test", "n2.test"], 5));
}
