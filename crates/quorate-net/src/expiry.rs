//! End of the validity of certificates, for monitoring.
//!
//! Only the field `notAfter` is read, of certificates that rustls has accepted.

use rustls::pki_types::CertificateDer;

/// Times at which certificates of a node expire, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateExpiry {
    /// When the certificate of the node expires.
    pub node: i64,
    /// When the first of the trusted authorities expires.
    pub authority: i64,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns when a certificate expires; `None` if the encoding is not understood.
pub(crate) fn not_after(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // Serial number, signature algorithm and issuer come before the validity.
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (SEQUENCE, validity, _) = element(fields)? else { return None };
    let (_, _, end) = element(validity)?;
    match element(end)? {
        // Years from 50 on are in the last century.
        (UTC_TIME, text, _) if text.len() == 13 => {
            let year = number(&text[..2])?;
            seconds(year + if year < 50 { 2_000 } else { 1_900 }, &text[2..])
        }
        (GENERALIZED_TIME, text, _) if text.len() == 15 => seconds(number(&text[..4])?, &text[4..]),
        _ => None,
    }
}

/// Tag and content of the first element of an encoding in DER, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Seconds since 1970 of `MMDDhhmmssZ` in a year of the Gregorian calendar.
fn seconds(year: i64, text: &[u8]) -> Option<i64> {
    let two = |at: usize| number(text.get(at..at + 2)?);
    let (month, day) = (two(0)?, two(2)?);
    if !(1..=12).contains(&month) || text.last() != Some(&b'Z') {
        return None;
    }
    // Years that begin in March end with the leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    const DAYS_TO_1970: i64 = 719_468;
    Some((days - DAYS_TO_1970) * 86_400 + two(4)? * 3_600 + two(6)? * 60 + two(8)?)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    #[test]
    fn the_end_of_a_certificate_is_read() {
        for (year, month, day, expected) in [
            (1999, 12, 31, 946_598_400),
            (2024, 2, 29, 1_709_164_800),
            (2049, 12, 31, 2_524_521_600),
            // From 2050 on the other kind of time is used.
            (2050, 3, 1, 2_529_705_600),
            (2100, 3, 1, 4_107_542_400),
        ] {
            let mut params = CertificateParams::new(vec!["a".to_owned()]).expect("a name");
            params.not_before = rcgen::date_time_ymd(1990, 1, 1);
            params.not_after = rcgen::date_time_ymd(year, month, day);
            let key = KeyPair::generate().expect("a key");
            let certificate = params.self_signed(&key).expect("a certificate");
            assert_eq!(not_after(certificate.der()), Some(expected), "{year}-{month}-{day}");
        }
    }

    #[test]
    fn damaged_encodings_are_refused() {
        let params = CertificateParams::new(vec!["a".to_owned()]).expect("a name");
        let certificate = params.self_signed(&KeyPair::generate().expect("a key"));
        let bytes = certificate.expect("a certificate").der().to_vec();
        for length in 0..bytes.len() {
            assert_eq!(not_after(&CertificateDer::from(bytes[..length].to_vec())), None);
        }
    }
}
