use std::net::Ipv4Addr;

use expect_test::expect;

use super::super::destination::{local_range, permitted};
use super::super::egress::{EgressDecision, HostResolveFuture};
use super::*;

fn host() -> Host {
    Host::parse("named.example").expect("this is a name")
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("the test spells an address")).collect()
}

/// Grants one port of every host.
struct OnePort;

impl EgressPolicy for OnePort {
    fn admits(&self, _host: &str, port: u16) -> EgressDecision {
        if port == 443 { EgressDecision::ByName } else { EgressDecision::OtherPorts(&[80, 443]) }
    }
}

/// Resolves no name.
struct Nameless;

impl HostResolver for Nameless {
    fn resolve<'a>(&'a self, _name: &'a str) -> HostResolveFuture<'a> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

#[tokio::test]
async fn a_port_that_is_not_granted_is_told_from_a_host_that_is_not() {
    let limits = ProxyLimits::default();
    let record = Arc::new(ConnectionLog::new(limits.recorded_max));
    let gate = ConnectionGate {
        admission: Arc::new(OnePort),
        resolver: Arc::new(Nameless),
        record,
        limits,
        upstream: None,
    };
    let answer = async |port: u16| {
        let text = "named.example".to_owned();
        let request = ConnectionRequest {
            requested_host: text,
            host: Ok(host()),
            port,
            protocol: ProxyProtocol::Connect,
        };
        let denial = gate.open_connection(request).await.err().expect("no name has an address");
        format!("{}: {denial}", if denial.is_refusal() { "refused" } else { "failed" })
    };
    expect!["refused: port 8080 of host named.example is not granted to this call: a host granted by name is reachable at 80 and 443; use one of these"].assert_eq(&answer(8080).await);
    expect!["failed: host named.example has no address: the resolver found none; check the name"]
        .assert_eq(&answer(443).await);
}

#[tokio::test]
async fn so_many_addresses_of_a_name_are_tried() {
    let limits = ProxyLimits::default();
    let record = Arc::new(ConnectionLog::new(limits.recorded_max));
    let gate = ConnectionGate {
        admission: Arc::new(OnePort),
        resolver: Arc::new(Nameless),
        record,
        limits,
        upstream: None,
    };
    let open = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = open.local_addr().expect("it listens").port();
    let closed = (2..).map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)));
    let connected = async |closed_count: usize| {
        let ours = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let addresses = closed.clone().take(closed_count).chain([ours]).collect();
        gate.connect(&host(), port, addresses).await.map(|(_, address)| address.ip())
    };
    assert_eq!(connected(ADDRESSES_MAX - 1).await.ok(), Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let denial = connected(ADDRESSES_MAX).await.expect_err("the one that is open is one too many");
    assert!(matches!(denial, ConnectionDenial::Unreachable { .. }), "{denial}");
}

#[test]
fn of_a_mix_the_public_addresses_stay() {
    let mix = addresses(&["10.0.0.1", "::1", "93.184.215.14", "::ffff:8.8.8.8", "169.254.169.254"]);
    let permitted =
        permitted(&host(), mix, EgressDecision::ByName, &OnePort).expect("two are public");
    assert_eq!(permitted, addresses(&["93.184.215.14", "8.8.8.8"]));
}

#[test]
fn a_name_without_public_addresses_is_refused() {
    for private in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "fd00::1", "169.254.1.1"] {
        let denial = permitted(&host(), addresses(&[private]), EgressDecision::ByName, &OnePort);
        assert!(matches!(denial, Err(ConnectionDenial::Reserved { .. })), "{private}");
        let any = permitted(&host(), addresses(&[private]), EgressDecision::AnyAddress, &OnePort);
        assert_eq!(any.expect("it is granted as such"), addresses(&[private]));
        let named =
            permitted(&host(), addresses(&[private]), EgressDecision::ByName, &AnyAddresses);
        assert_eq!(named.expect("its address is granted, too").len(), 1, "{private}");
    }
}

#[test]
fn a_metadata_service_is_never_reached() {
    for address in
        ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"]
    {
        for granted in [EgressDecision::ByName, EgressDecision::AnyAddress] {
            let denial = permitted(&host(), addresses(&[address]), granted, &AnyAddresses);
            let denial = denial.expect_err("it is never granted");
            assert!(matches!(denial, ConnectionDenial::Metadata { .. }), "{address}: {denial}");
            assert!(!denial.to_string().contains("grant"), "{denial}");
        }
    }
}

/// Admits each address of a host.
struct AnyAddresses;

impl EgressPolicy for AnyAddresses {
    fn admits(&self, _: &str, _: u16) -> EgressDecision {
        EgressDecision::ByName
    }

    fn admits_address(&self, _: &str, _: IpAddr) -> bool {
        true
    }
}

#[test]
fn addresses_of_this_machine_are_told_apart() {
    assert_eq!(local_range(Ipv4Addr::LOCALHOST.into()), Some("one of this machine"));
    assert_eq!(local_range(Ipv4Addr::new(93, 184, 215, 14).into()), None);
}
