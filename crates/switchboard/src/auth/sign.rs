//! Random values, proofs and signatures.
//!
//! In: keys and what is to be said. Out: texts that nobody could guess or make without the key. The clock comes in as
//! seconds since 1970; keys never show themselves.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::rand::{self, SystemRandom};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::redact::STARS;

/// How long an assertion may be used, in seconds: long enough for clocks that differ.
const ASSERTION_LIFE: u64 = 300;
/// What a point on the curve starts with when both of its coordinates follow.
const UNCOMPRESSED: u8 = 4;

/// Why there is no key or no signature. Never says anything of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignError {
    /// The text holds no private key in PKCS#8.
    #[error("it is not in PKCS#8 (a text that starts with `-----BEGIN PRIVATE KEY-----`)")]
    NotPkcs8,
    /// There is a key, but not one that we sign with.
    #[error("it is neither one on P-256 (ES256) nor one of RSA (RS256)")]
    Unfit,
    /// What was kept is no key.
    #[error("the kept key cannot be used")]
    Kept,
    /// The library failed without a reason.
    #[error("the signature could not be made")]
    Failed,
}

/// A value nobody can guess: 32 random bytes, 43 characters.
pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    #[expect(clippy::expect_used, reason = "AWS-LC ends the process rather than give no random bytes")]
    rand::fill(&mut bytes).expect("random bytes");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The challenge for a verifier, by the method S256 of RFC 7636.
pub(crate) fn pkce(verifier: &str) -> String {
    hashed(verifier)
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub(crate) fn same(a: &str, b: &str) -> bool {
    verify_slices_are_equal(a.as_bytes(), b.as_bytes()).is_ok()
}

fn hashed(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))
}

/// The private key of a client that proves itself by signing.
pub(crate) struct SigningKey(Pair);

enum Pair {
    Es256(EcdsaKeyPair),
    Rs256(RsaKeyPair),
}

impl SigningKey {
    /// Reads a key in PKCS#8, the first in the text. What it is decides how it signs.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, SignError> {
        let der = pkcs8(pem).ok_or(SignError::NotPkcs8)?;
        let pair = es256(&der).map(Pair::Es256);
        let pair = pair.or_else(|| RsaKeyPair::from_pkcs8(&der).ok().map(Pair::Rs256));
        pair.map(Self).ok_or(SignError::Unfit)
    }

    /// The name of how it signs, in headers.
    const fn algorithm(&self) -> &'static str {
        match &self.0 {
            Pair::Es256(_) => "ES256",
            Pair::Rs256(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        match &self.0 {
            Pair::Es256(pair) => by_ecdsa(pair, message),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
                    .map_err(|_| SignError::Failed)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, {STARS})", self.algorithm())
    }
}

/// What a client says of itself when it signs instead of sending a secret.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claims<'a> {
    /// The client's id.
    pub(crate) client: &'a str,
    /// Who is to believe it: the issuer.
    pub(crate) audience: &'a str,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

/// A client assertion of RFC 7523, good for five minutes and for one use.
pub(crate) fn assertion(key: &SigningKey, claims: &Claims<'_>) -> Result<String, SignError> {
    let header = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let payload = json!({
        "iss": claims.client,
        "sub": claims.client,
        "aud": claims.audience,
        "iat": claims.now,
        "exp": claims.now.saturating_add(ASSERTION_LIFE),
        "jti": random(),
    });
    token(&header, &payload, |message| key.sign(message))
}

/// The key that binds a token to whoever got it (RFC 9449). Made by us, on P-256.
pub(crate) struct DpopKey(EcdsaKeyPair);

/// A request to be proved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proof<'a> {
    /// The HTTP method, in capitals.
    pub(crate) method: &'a str,
    /// Where it goes; query and fragment are left out of the proof.
    pub(crate) url: &'a Url,
    /// The token sent along, if one is.
    pub(crate) access: Option<&'a str>,
    /// What that server gave us to repeat.
    pub(crate) nonce: Option<&'a str>,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

impl DpopKey {
    /// A new key.
    pub(crate) fn generate() -> Result<Self, SignError> {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map(Self).map_err(|_| SignError::Failed)
    }

    /// The key as a text to keep. It is a secret.
    pub(crate) fn to_text(&self) -> Result<String, SignError> {
        let document = self.0.to_pkcs8v1().map_err(|_| SignError::Failed)?;
        Ok(URL_SAFE_NO_PAD.encode(document.as_ref()))
    }

    /// The key from the text it was kept as.
    pub(crate) fn from_text(text: &str) -> Result<Self, SignError> {
        let der = URL_SAFE_NO_PAD.decode(text).map_err(|_| SignError::Kept)?;
        es256(&der).map(Self).ok_or(SignError::Kept)
    }

    /// The header `DPoP` for one request. Each one is different.
    pub(crate) fn proof(&self, proof: &Proof<'_>) -> Result<String, SignError> {
        let mut target = proof.url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.public()? });
        let mut payload = json!({
            "jti": random(),
            "htm": proof.method,
            "htu": target.as_str(),
            "iat": proof.now,
        });
        if let Some(access) = proof.access {
            payload["ath"] = hashed(access).into();
        }
        if let Some(nonce) = proof.nonce {
            payload["nonce"] = nonce.into();
        }
        token(&header, &payload, |message| by_ecdsa(&self.0, message))
    }

    /// The half of the key that everybody may see.
    fn public(&self) -> Result<Value, SignError> {
        let point = self.0.public_key().as_ref();
        let (x, y) = match point {
            [UNCOMPRESSED, both @ ..] if both.len() == 64 => both.split_at(32),
            _ => return Err(SignError::Failed),
        };
        let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        Ok(json!({ "kty": "EC", "crv": "P-256", "x": number(x), "y": number(y) }))
    }
}

impl fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DpopKey({STARS})")
    }
}

/// Header, payload and signature in the compact form of RFC 7515.
fn token(
    header: &Value,
    payload: &Value,
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, SignError>,
) -> Result<String, SignError> {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(payload));
    let signature = sign(message.as_bytes())?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn es256(der: &[u8]) -> Option<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der).ok()
}

fn by_ecdsa(pair: &EcdsaKeyPair, message: &[u8]) -> Result<Vec<u8>, SignError> {
    let signature = pair.sign(&SystemRandom::new(), message).map_err(|_| SignError::Failed)?;
    Ok(signature.as_ref().to_vec())
}

/// The bytes between the lines that mark a private key. Line ends may have been lost on the way through a variable.
fn pkcs8(pem: &str) -> Option<Vec<u8>> {
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
    let digits: String = body.replace("\\n", "").split_whitespace().collect();
    STANDARD.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
    };

    use super::*;

    /// From RFC 7515, appendix A.3, as PKCS#8.
    const EC_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
-----END PRIVATE KEY-----
";

    fn parts(token: &str) -> (Value, Value, Vec<u8>, String) {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else { panic!("{token}") };
        let value = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        (value(header), value(payload), signature, format!("{}.{}", parts[0], parts[1]))
    }

    fn verify(algorithm: &'static dyn VerificationAlgorithm, public: &[u8], token: &str) -> bool {
        let (_, _, signature, message) = parts(token);
        UnparsedPublicKey::new(algorithm, public).verify(message.as_bytes(), &signature).is_ok()
    }

    /// What a stranger makes of the `jwk`.
    fn point(jwk: &Value) -> Vec<u8> {
        let number = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
        [vec![UNCOMPRESSED], number("x"), number("y")].concat()
    }

    fn names(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn random_values_differ_and_can_stand_in_an_address() {
        let values: BTreeSet<String> = (0..1000).map(|_| random()).collect();
        assert_eq!(values.len(), 1000);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        // A verifier has 43 to 128 characters.
        assert!(values.iter().all(|value| value.len() == 43 && value.bytes().all(plain)));
    }

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let challenge = pkce("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn the_same_is_the_same() {
        assert!(same("", "") && same("abc", "abc"));
        assert!(!same("abc", "abd") && !same("abc", "ab") && !same("", "a"));
    }

    #[test]
    fn an_assertion_says_who_to_whom_and_for_how_long() {
        let key = SigningKey::from_pem(EC_KEY).unwrap();
        let claims = Claims { client: "me", audience: "https://issuer", now: 1000 };
        let token = assertion(&key, &claims).unwrap();
        let (header, payload, ..) = parts(&token);
        assert_eq!(header, json!({ "alg": "ES256", "typ": "JWT" }));
        assert_eq!(names(&payload), ["iss", "sub", "aud", "iat", "exp", "jti"]);
        assert_eq!((&payload["iss"], &payload["sub"]), (&json!("me"), &json!("me")));
        assert_eq!(payload["aud"], json!("https://issuer"));
        assert_eq!((&payload["iat"], &payload["exp"]), (&json!(1000), &json!(1300)));
        assert_ne!(token, assertion(&key, &claims).unwrap(), "used twice");
        // The public half as the standard prints it.
        let jwk = json!({
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        });
        assert!(verify(&ECDSA_P256_SHA256_FIXED, &point(&jwk), &token));
    }

    #[test]
    fn rsa_signs_too() {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = pair.as_der().unwrap();
        let body = STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        let key = SigningKey::from_pem(&pem).unwrap();
        let token = assertion(&key, &Claims { client: "me", audience: "you", now: 0 }).unwrap();
        assert_eq!(parts(&token).0["alg"], json!("RS256"));
        assert!(verify(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref(), &token));
    }

    #[test]
    fn a_bad_key_is_refused_without_a_word_of_it() {
        let check = |pem: &str, expected: SignError| {
            let error = SigningKey::from_pem(pem).unwrap_err();
            assert_eq!(error, expected);
            assert!(!error.to_string().contains("MIGH"));
        };
        check("", SignError::NotPkcs8);
        check("MIGHAgEAMBMGByqGSM49", SignError::NotPkcs8);
        check(&EC_KEY.replace("PRIVATE KEY", "EC PRIVATE KEY"), SignError::NotPkcs8);
        check(&EC_KEY.replace("MIGH", "****"), SignError::NotPkcs8);
        check(&EC_KEY.replace("-----END", "-----ENDE"), SignError::NotPkcs8);
        check(&EC_KEY.replace("MIGHAgEAMBMG", "MIGHAgEAMBMH"), SignError::Unfit);
    }

    #[test]
    fn a_key_survives_a_variable_that_lost_its_line_ends() {
        for lost in [EC_KEY.replace('\n', "\r\n"), EC_KEY.replace('\n', "\\n"), EC_KEY.replace('\n', " ")] {
            SigningKey::from_pem(&lost).unwrap();
        }
        SigningKey::from_pem(&format!("Key of somebody\n{EC_KEY}")).unwrap();
    }

    #[test]
    fn a_proof_names_the_request_and_shows_the_public_half_only() {
        let key = DpopKey::generate().unwrap();
        let url = Url::parse("https://host:8443/mcp?key=1#part").unwrap();
        let bare = Proof { method: "POST", url: &url, access: None, nonce: None, now: 7 };
        let token = key.proof(&bare).unwrap();
        let (header, payload, ..) = parts(&token);
        assert_eq!(names(&header), ["typ", "alg", "jwk"]);
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert_eq!(names(&header["jwk"]), ["kty", "crv", "x", "y"]);
        assert_eq!(names(&payload), ["jti", "htm", "htu", "iat"]);
        assert_eq!(payload["htu"], json!("https://host:8443/mcp"));
        assert_eq!((&payload["htm"], &payload["iat"]), (&json!("POST"), &json!(7)));
        assert!(verify(&ECDSA_P256_SHA256_FIXED, &point(&header["jwk"]), &token));

        // The token and its hash are from RFC 9449, section 4.3 and following.
        let access = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
        let full = Proof { access: Some(access), nonce: Some("n-1"), ..bare };
        let (_, payload, ..) = parts(&key.proof(&full).unwrap());
        assert_eq!(payload["ath"], json!("fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"));
        assert_eq!(payload["nonce"], json!("n-1"));
        let ids: BTreeSet<String> =
            (0..100).map(|_| parts(&key.proof(&full).unwrap()).1["jti"].to_string()).collect();
        assert_eq!(ids.len(), 100);
    }

    #[test]
    fn a_kept_key_is_the_same_key() {
        let key = DpopKey::generate().unwrap();
        let again = DpopKey::from_text(&key.to_text().unwrap()).unwrap();
        assert_eq!(key.public(), again.public());
        assert_ne!(key.public(), DpopKey::generate().unwrap().public());
        for bad in ["", "AAAA", "not base64!", &"A".repeat(10_000)] {
            assert_eq!(DpopKey::from_text(bad).unwrap_err(), SignError::Kept);
        }
    }

    #[test]
    fn keys_do_not_show_themselves() {
        let key = DpopKey::generate().unwrap();
        let signing = SigningKey::from_pem(EC_KEY).unwrap();
        assert_eq!(format!("{key:?} {signing:?}"), format!("DpopKey({STARS}) SigningKey(ES256, {STARS})"));
    }
}
