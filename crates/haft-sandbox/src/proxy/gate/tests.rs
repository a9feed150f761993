use super::*;

fn host() -> Host {
    Host::parse("named.example").expect("this is a name")
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect("the test spells an address")).collect()
}

#[test]
fn of_a_mix_the_public_addresses_stay() {
    let mix = addresses(&["10.0.0.1", "::1", "93.184.215.14", "::ffff:8.8.8.8", "169.254.169.254"]);
    let permitted = permitted(&host(), mix, Admitted::ByName).expect("two are public");
    assert_eq!(permitted, addresses(&["93.184.215.14", "8.8.8.8"]));
}

#[test]
fn a_name_without_public_addresses_is_refused() {
    for private in
        ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "fd00::1", "169.254.169.254"]
    {
        let denial = permitted(&host(), addresses(&[private]), Admitted::ByName);
        assert!(matches!(denial, Err(Denial::Reserved { .. })), "{private}");
        let any = permitted(&host(), addresses(&[private]), Admitted::AnyAddress);
        assert_eq!(any.expect("it is granted as such"), addresses(&[private]));
    }
}

#[test]
fn addresses_of_this_machine_are_told_apart() {
    assert_eq!(own_range(Ipv4Addr::LOCALHOST.into()), Some("one of this machine"));
    assert_eq!(own_range(Ipv4Addr::new(93, 184, 215, 14).into()), None);
}
