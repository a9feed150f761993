//! Secrets in the alphabet that addresses can carry, and their fingerprints.

use sha2::{Digest as _, Sha256};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns bytes in base64 for addresses, without padding.
pub(super) fn base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            let letter = bits >> (18 - 6 * place) & 63;
            let letter = usize::try_from(letter).ok().and_then(|letter| ALPHABET.get(letter));
            text.extend(letter.map(|letter| char::from(*letter)));
        }
    }
    text
}

/// Returns what is shown of a secret before the secret itself is.
pub(super) fn fingerprint(secret: &str) -> String {
    base64url(&Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters() {
        for (bytes, expect) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg"),
            (&[0xfb, 0xff], "-_8"),
        ] {
            assert_eq!(base64url(bytes), expect);
        }
        // The example of RFC 7636.
        assert_eq!(
            fingerprint("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }
}
