//! Programs that log in as themselves: nobody is asked, at the first login and at every other.

use serde_json::json;
use testkit::logins::Peer;

use super::World;

/// The example of RFC 7515, appendix A.3.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
-----END PRIVATE KEY-----
";
const PUBLIC: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;

/// Let in without a word, again after each expiry, with nothing to complain of in between.
fn alone(mut world: World, client: &str) {
    for n in 0..3 {
        let told = world.call();
        assert_eq!((&told["client"], &told["subject"]), (&json!(client), &json!("nobody")));
        if n == 0 {
            for line in [&["status"][..], &["why", "tracker"], &["list", "--json"]] {
                assert_eq!(world.run(line).code, Some(0), "{line:?}");
            }
            let ran = world.run(&["doctor"]);
            assert!(ran.code == Some(0) && !ran.out.contains("reauth"), "{}{}", ran.out, ran.err);
        }
        world.peer.expire();
    }
    // Nobody at a terminal is needed here either.
    let ran = world.run(&["reauth", "tracker"]);
    assert!(ran.code == Some(0) && ran.err.contains("Logged in to \"tracker\""), "{}", ran.err);
    world.call();
    let n_pages = (world.peer.count("logins"), world.peer.count("registrations"));
    assert_eq!(n_pages, (0, 0));
    assert_eq!(world.run(&["unauth", "tracker"]).code, Some(0));
    world.ends_clean();
}

#[test]
fn with_a_secret() {
    let mut world = World::new(Peer::oidc(&[]));
    let client = world.peer.facts["client"].clone();
    world.set("TRACKER_SECRET", client["secret"].as_str().unwrap());
    let oauth = json!({
        "clientId": client["id"], "clientSecret": "${TRACKER_SECRET}", "grant": "client_credentials",
    });
    world.declare(&json!({"oauth": oauth, "auth": {"type": "oauth"}}));
    alone(world, "preregistered");
}

#[test]
fn with_a_private_key_in_a_file() {
    let mut world = World::new(Peer::oidc(&[("MACHINE_KEYS", PUBLIC)]));
    world.sandbox.write("keys/tracker.pem", KEY);
    world.declare(&json!({"oauth": {"clientId": "machine", "privateKey": "./keys/tracker.pem"}}));
    world.canaries.add("jpsQnnGQmL+YBIffH1136cspYG6+0iY7X1fCE9+E9LI");
    // The file itself is the user's own business.
    let lines = ["jpsQnnGQmL+YBIff", "H1136cspYG6+0iY7X1fCE9+E9LKh"];
    let said = world.run(&["why", "tracker"]);
    assert!(!lines.iter().any(|line| said.out.contains(line)), "{}", said.out);
    alone(world, "machine");
}

#[test]
fn with_a_private_key_in_a_variable() {
    let mut world = World::new(Peer::oidc(&[("MACHINE_KEYS", PUBLIC)]));
    world.set("TRACKER_KEY", &KEY.replace('\n', "\\n"));
    world.declare(&json!({"oauth": {"clientId": "machine", "privateKey": "${TRACKER_KEY}"}}));
    alone(world, "machine");
}

#[test]
fn what_is_not_a_key_or_a_statement_goes_nowhere() {
    let mut world = World::new(Peer::oidc(&[("MACHINE_KEYS", PUBLIC)]));
    world.sandbox.write("secret.txt", "password-of-the-bank-0123456789");
    world.canaries.add("password-of-the-bank-0123456789");
    for (oauth, words) in [
        (
            json!({"clientId": "machine", "privateKey": "./secret.txt"}),
            "the private key cannot be used: it is not in PKCS#8",
        ),
        (json!({"clientId": "machine", "privateKey": "./missing.pem"}), "there is no file"),
        (
            json!({"assertion": "./secret.txt"}),
            "`oauth.assertion` of the entry cannot be used: it is not a signed",
        ),
        (
            json!({"enterprise": {"clientId": "me", "endpoint": "http://127.0.0.1:1/", "idToken": "./secret.txt"}}),
            "`oauth.enterprise.idToken` of the entry cannot be used",
        ),
    ] {
        world.declare(&json!({"oauth": oauth}));
        world.run(&["reauth", "tracker"]).failed(3, &["OAuth authentication failed: ", words]);
    }
    assert!(world.kept().is_none());
    let said = world.said.clone();
    assert_eq!(world.canaries.find(&said), None);
    assert!(!world.peer.seen().iter().any(|seen| seen.contains("password")));
}
