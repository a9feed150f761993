//! Sockets as a client hands them over.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test]
async fn a_socket_is_used_without_waiting_and_left_as_it_was() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let ours = ours.into_std().unwrap();
    ours.set_nonblocking(false).unwrap();
    assert!(is_unix_socket(&ours));
    let saved = SavedFlags::of(&ours).unwrap();
    let mut used = socket(&ours).unwrap();
    assert!(fcntl_getfl(&ours).unwrap().contains(OFlags::NONBLOCK));

    used.write_all(b"there").await.unwrap();
    let mut bytes = [0; 5];
    theirs.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"there");
    drop(theirs);
    assert_eq!(used.read(&mut bytes).await.unwrap(), 0, "the end of the other side is the end");

    drop((used, saved));
    assert!(!fcntl_getfl(&ours).unwrap().contains(OFlags::NONBLOCK));
}

#[test]
fn other_streams_are_no_unix_sockets() {
    assert!(!is_unix_socket(std::fs::File::open("/dev/null").unwrap()));
    assert!(!is_unix_socket(std::io::pipe().unwrap().0));
    assert!(!is_unix_socket(std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap()));
}
