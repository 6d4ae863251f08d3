//! Pictures and sounds as models take them: Base64 that can be read, with the type it really has.
//!
//! One picture that a provider cannot read makes it refuse the whole conversation. So what cannot be read is named and
//! not handed on; it stays in the result as it came.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
/// The first bytes of the pictures that models take.
const SIGNS: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its type.
    pub mime_type: String,
    /// Its bytes in Base64, with padding and without spaces.
    pub data: String,
}

impl Media {
    /// Reads it, with the number of its bytes; nothing if there are none or they cannot be read. Servers also send whole
    /// `data:` addresses, lines of Base64, and the alphabet of addresses.
    pub(super) fn read(mime_type: Option<&str>, data: &str) -> Option<(Self, usize)> {
        let (declared, data) = match data.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            Some((kind, data)) => (mime_type.or(Some(kind)), data),
            None => (mime_type, data),
        };
        let plain: Vec<u8> = data
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            })
            .collect();
        let bytes = LENIENT.decode(plain).ok().filter(|bytes| !bytes.is_empty())?;
        let mime_type = true_type(declared, &bytes);
        Some((Self { mime_type, data: BASE64_STANDARD.encode(&bytes) }, bytes.len()))
    }
}

/// What the bytes say counts more than what the server says.
fn true_type(declared: Option<&str>, bytes: &[u8]) -> String {
    let declared = declared.unwrap_or("application/octet-stream");
    let is_webp = || bytes.get(8..12) == Some(b"WEBP");
    let sign = SIGNS.iter().find(|(sign, _)| bytes.starts_with(sign)).map(|(_, kind)| *kind);
    match sign.filter(|kind| *kind != "image/webp" || is_webp()) {
        Some(seen) if !declared.starts_with("audio/") => seen.to_owned(),
        _ => declared.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_it_is_read_and_written_in_one() {
        let png = BASE64_STANDARD.encode(b"\x89PNG\r\n\x1a\n\xfb\xff");
        let read = |kind: Option<&str>, data: &str| {
            Media::read(kind, data).map(|(media, n)| (media.mime_type, media.data, n))
        };
        let expected = Some(("image/png".to_owned(), png.clone(), 10));
        let broken: Vec<_> = png.as_bytes().chunks(4).map(|part| String::from_utf8_lossy(part)).collect();
        for data in [
            png.clone(),
            png.trim_end_matches('=').to_owned(),
            png.replace('+', "-").replace('/', "_"),
            broken.join("\r\n"),
            format!("data:image/png;base64,{png}"),
        ] {
            assert_eq!(read(Some("image/png"), &data), expected, "{data}");
            assert_eq!(read(None, &data), expected);
            assert_eq!(read(Some("image/jpeg"), &data), expected, "the bytes know better");
        }
        assert_eq!(
            read(Some("image/svg+xml"), "PHN2Zz4="),
            Some(("image/svg+xml".into(), "PHN2Zz4=".into(), 5))
        );
        assert_eq!(read(Some("audio/wav"), "UklGRgAAAABXQVZF").unwrap().0, "audio/wav");
        assert_eq!(read(Some("image/x"), "UklGRgAAAABXRUJQ").unwrap().0, "image/webp");
        assert_eq!(read(None, "AAAA").unwrap().0, "application/octet-stream");
        for bad in ["", "  ", "not base64!", "data:image/png;base64,", "A", "é"] {
            assert_eq!(read(Some("image/png"), bad), None, "{bad}");
        }
    }
}
