//! Addresses that are let through, and every way to smuggle in another.

use proptest::prelude::*;

use super::*;

const PUBLIC: &str = "https://mcp.example.com/mcp";
const LOCAL: &str = "http://localhost:3000/mcp";
const LITERAL: &str = "http://127.0.0.1:3000/mcp";
const LOCAL_ENCRYPTED: &str = "https://localhost:3000/mcp";
const PRIVATE: &str = "https://10.0.0.4/mcp";
const CLEAR: &str = "http://mcp.example.com/mcp";
const SERVERS: &[&str] = &[PUBLIC, LOCAL, LITERAL, LOCAL_ENCRYPTED, PRIVATE, CLEAR];

// How refusals end.
const CHARACTERS: &str = "has characters in it that no address has";
const SCHEME: &str = "does not start with https://";
const EMPTY_HOST: &str = "is not an address: empty host";
const LOGIN: &str = "has a user or a password in it";
const NOT_ENCRYPTED: &str = "is not encrypted";
const THIS_MACHINE: &str = "is on this machine, and the server is not";
const PRIVATE_NETWORK: &str = "is in a private network, and the server's own address is not";
const RESERVED: &str = "is reserved for another purpose";

fn gate(server: &str) -> Gate {
    Gate::of(&Url::parse(server).unwrap())
}

/// The text is refused for the reason; also as an endpoint, and as a page if it can be read as an address at all.
fn refused(server: &str, text: &str, reason: &str) {
    let gate = gate(server);
    let refusal = gate.document(text).expect_err(text);
    assert!(refusal.to_string().ends_with(&format!(" {reason}")), "{server} {text:?}: {refusal}");
    assert_eq!(gate.endpoint(text), Err(refusal));
    // What is only written oddly is a good address once it is read.
    let is_odd =
        |url: &Url| url.scheme().starts_with("http") && [CHARACTERS, SCHEME, EMPTY_HOST].contains(&reason);
    if let Some(url) = Url::parse(text).ok().filter(|url| !is_odd(url)) {
        assert!(gate.page(&url).is_err(), "{server} {text:?}");
    }
}

fn allowed(server: &str, text: &str, as_url: &str) {
    let gate = gate(server);
    let url = gate.document(text).unwrap_or_else(|refusal| panic!("{server} {text}: {refusal}"));
    assert_eq!(url.as_str(), as_url);
    assert_eq!(gate.endpoint(text), Ok(url.clone()));
    assert_eq!(gate.page(&url), Ok(()));
}

#[test]
fn only_https_is_followed() {
    for text in [
        "javascript:alert(document.cookie)",
        "JavaScript:alert(1)",
        "javascript://mcp.example.com/%0aalert(1)",
        "vbscript:msgbox(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "FILE:///C:/Windows/System32/calc.exe",
        "file://server/share/x.exe",
        "smb://server/share",
        "search-ms:query=calc",
        "ms-msdt:/id",
        "ftp://mcp.example.com/authorize",
        "ws://mcp.example.com/",
        "wss://mcp.example.com/",
        "unix:///run/x.sock",
        "blob:https://mcp.example.com/1",
        "view-source:https://mcp.example.com/",
        "about:blank",
        "vscode://mcp/install",
        "mailto:a@example.com",
        "intent://x#Intent;scheme=https;end",
        "--help",
        "-a Calculator",
        "$(touch /tmp/x)",
        "`touch /tmp/x`",
        "",
        "mcp.example.com/authorize",
        "//mcp.example.com/authorize",
        "/authorize",
        "https:mcp.example.com/authorize",
        "https:/mcp.example.com/authorize",
        "https",
        "httpss://mcp.example.com/",
        "\u{fe56}ttps://mcp.example.com/",
    ] {
        let reason =
            if text.contains(|c: char| c.is_whitespace() || is_hidden(c)) { CHARACTERS } else { SCHEME };
        for server in SERVERS {
            refused(server, text, reason);
        }
    }
}

#[test]
fn an_address_means_one_thing_to_everybody() {
    for text in [
        "java\nscript:alert(1)",
        "ht\ttps://mcp.example.com/",
        "https://mcp.exa\nmple.com/",
        "https://mcp.example.com/\r\nHost: evil.example",
        "https://mcp.example.com/a b",
        " https://mcp.example.com/",
        "https://mcp.example.com/ ",
        "https://mcp.example.com/\u{0}",
        "https://mcp.example.com/\u{7f}",
        "https://mcp.example.com/\u{1b}[31m",
        "https://mcp.example\u{ad}.com/",
        "https://mcp.example.com\u{200b}.evil.example/",
        "https://mcp.example.com/\u{202e}moc",
        "https://mcp.example.com\\@evil.example/",
        "https:\\\\evil.example/",
        "https://evil.example\\.mcp.example.com/",
    ] {
        refused(PUBLIC, text, CHARACTERS);
    }
    for text in ["https://", "https:///evil.example/", "https://?a", "https://#a", "https:////evil.example"] {
        refused(PUBLIC, text, EMPTY_HOST);
    }
    for (text, reason) in [
        ("https://[::1/", "invalid IPv6 address"),
        ("https://[fe80::1%25eth0]/", "invalid IPv6 address"),
        ("https://256.256.256.256/", "invalid IPv4 address"),
        ("https://1.2.3.4.5/", "invalid IPv4 address"),
        ("https://mcp.example.com:99999/", "invalid port number"),
        ("https://mcp.example.com:80x/", "invalid port number"),
        ("https://a%00b.example/", "invalid international domain name"),
        ("https://a<b.example/", "invalid international domain name"),
        ("https://xn--/", "invalid international domain name"),
        ("https://xn--a\u{e4}.example/", "invalid international domain name"),
    ] {
        refused(PUBLIC, text, &format!("is not an address: {reason}"));
    }
}

#[test]
fn no_address_brings_its_own_login() {
    for text in [
        "https://me:hunter2@mcp.example.com/",
        "https://token@mcp.example.com/",
        "https://:hunter2@mcp.example.com/",
        "https://mcp.example.com@evil.example/",
        "https://mcp.example.com%2f@evil.example/",
        "https://mcp.example.com:443@evil.example/",
        "https://a@b@evil.example/",
    ] {
        refused(PUBLIC, text, LOGIN);
    }
    for text in ["https://@evil.example/", "https://:@evil.example/"] {
        assert!(matches!(gate(PUBLIC).document(text), Err(Refusal::Login { .. })), "{text}");
    }
}

#[test]
fn nothing_goes_in_clear_text_through_a_network() {
    for server in SERVERS {
        refused(server, "http://mcp.example.com/token", NOT_ENCRYPTED);
        refused(server, "HTTP://93.184.216.34/token", NOT_ENCRYPTED);
        refused(server, "http://localhost.evil.example/token", NOT_ENCRYPTED);
    }
    refused(LOCAL_ENCRYPTED, "http://localhost:3001/token", NOT_ENCRYPTED);
    refused(LOCAL_ENCRYPTED, "http://127.0.0.1:3001/token", NOT_ENCRYPTED);
    refused(PRIVATE, "http://10.0.0.4/token", NOT_ENCRYPTED);
    refused("http://10.0.0.4/mcp", "http://10.0.0.4/token", NOT_ENCRYPTED);
}

#[test]
fn only_a_server_of_this_machine_leads_to_this_machine() {
    for text in [
        "https://localhost/",
        "https://LOCALHOST./",
        "https://auth.localhost:8443/",
        "https://\u{24db}ocalhost/",
        "https://loc%61lhost/",
        "https://127.0.0.1/",
        "https://127.0.0.1./",
        "https://127.9.9.9/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://127\u{3002}0\u{3002}0\u{3002}1/",
        "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
        "https://%31%32%37.0.0.1/",
        "https://[::1]/",
        "https://[0:0:0:0:0:0:0:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::127.0.0.1]/",
        "https://[::ffff:0:127.0.0.1]/",
        "https://[64:ff9b::127.0.0.1]/",
        "https://[2002:7f00:1::]/",
    ] {
        for server in [PUBLIC, PRIVATE, CLEAR] {
            refused(server, text, THIS_MACHINE);
            refused(server, &text.replace("https", "http"), THIS_MACHINE);
        }
        for server in [LOCAL, LITERAL] {
            assert!(gate(server).document(text).is_ok(), "{server} {text}");
            assert!(gate(server).document(&text.replace("https", "http")).is_ok(), "{server} {text}");
        }
    }
}

#[test]
fn only_a_private_server_leads_to_a_private_network() {
    for text in [
        "https://10.0.0.1/",
        "https://10.255.255.255/",
        "https://172.16.0.1/",
        "https://172.31.255.255/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://100.127.255.255/",
        "https://167772161/",
        "https://0xa.0.0.1/",
        "https://[fc00::1]/",
        "https://[fd12:3456::1]/",
        "https://[::ffff:192.168.1.1]/",
        "https://[::10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:c0a8:101::1]/",
    ] {
        for server in [PUBLIC, LOCAL, LITERAL, LOCAL_ENCRYPTED, CLEAR] {
            refused(server, text, PRIVATE_NETWORK);
        }
        assert!(gate(PRIVATE).document(text).is_ok(), "{text}");
        assert!(gate("https://[fd00::1]/mcp").document(text).is_ok(), "{text}");
    }
}

#[test]
fn reserved_addresses_are_for_nobody() {
    for text in [
        "https://169.254.169.254/latest/meta-data/",
        "http://169.254.169.254/latest/meta-data/",
        "https://2852039166/",
        "https://0xa9.0xfe.0xa9.0xfe/",
        "https://[::ffff:169.254.169.254]/",
        "https://[::169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:a9fe:a9fe::]/",
        "https://169.254.170.2/v2/credentials",
        "https://100.100.100.200/latest/meta-data/",
        "https://192.0.0.192/opc/v2/",
        "https://168.63.129.16/",
        "https://[fd00:ec2::254]/",
        "https://metadata/",
        "https://metadata.google.internal/computeMetadata/v1/",
        "https://METADATA.google.internal./",
        "https://metadata.goog/",
        "https://metadata.azure.internal/",
        "https://0.0.0.0/",
        "https://0/",
        "https://0.1.2.3/",
        "https://[::]/",
        "https://[::2]/",
        "https://198.18.0.1/",
        "https://198.19.255.255/",
        "https://224.0.0.1/",
        "https://240.0.0.1/",
        "https://255.255.255.255/",
        "https://[fe80::1]/",
        "https://[febf::1]/",
        "https://[fec0::1]/",
        "https://[ff02::1]/",
        "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "https://[64:ff9b:1::a00:1]/",
        "https://[100::1]/",
        "https://[4000::1]/",
    ] {
        for server in SERVERS.iter().chain(&["http://0.0.0.0:3000/mcp", "https://169.254.169.254/mcp"]) {
            refused(server, text, RESERVED);
        }
    }
}

#[test]
fn huge_addresses_are_not_looked_at() {
    let long = |length: usize| format!("{PUBLIC}?a={}", "a".repeat(length - PUBLIC.len() - 3));
    assert!(gate(PUBLIC).document(&long(LONGEST)).is_ok());
    for text in [long(LONGEST + 1), long(1 << 20), "javascript:".repeat(1000), "\u{1f680}".repeat(5000)] {
        let refusal = gate(PUBLIC).document(&text).unwrap_err();
        assert!(matches!(refusal, Refusal::TooLong { .. }), "{refusal}");
        assert!(refusal.to_string().chars().count() < 300, "{refusal}");
    }
    // Characters that are written in three each.
    let url = Url::parse(&format!("{PUBLIC}?a={}", "\"".repeat(4000))).unwrap();
    assert!(matches!(gate(PUBLIC).page(&url), Err(Refusal::TooLong { .. })));
}

#[test]
fn good_addresses_pass() {
    for server in SERVERS {
        allowed(server, "https://auth.example.com/token", "https://auth.example.com/token");
        allowed(server, "https://93.184.216.34/token", "https://93.184.216.34/token");
    }
    let check = |text: &str, as_url: &str| allowed(PUBLIC, text, as_url);
    check("HTTPS://Auth.Example.com", "https://auth.example.com/");
    check("https://auth.example.com:8443/a?b=c&d=$(e)#f", "https://auth.example.com:8443/a?b=c&d=$(e)#f");
    check("https://auth.example.com/a@b", "https://auth.example.com/a@b");
    check("https://auth.example.com/?to=http://127.0.0.1/", "https://auth.example.com/?to=http://127.0.0.1/");
    check("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example/");
    check("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/");
    check("https://localhost.example.com/", "https://localhost.example.com/");
    check("https://metadata.example.com/", "https://metadata.example.com/");
    check("https://127.0.0.1.nip.example/", "https://127.0.0.1.nip.example/");
    check("https://172.32.0.1/", "https://172.32.0.1/");
    check("https://100.128.0.1/", "https://100.128.0.1/");
    check("https://[2606:4700::1111]/", "https://[2606:4700::1111]/");
    check("https://[64:ff9b::5db8:d822]/", "https://[64:ff9b::5db8:d822]/");
    check("https://[2002:5db8:d822::1]/", "https://[2002:5db8:d822::1]/");
    for server in [LOCAL, LITERAL, "http://[::1]:3000/mcp", "http://mcp.localhost/mcp"] {
        allowed(server, "http://localhost:9000/token", "http://localhost:9000/token");
        allowed(server, "http://127.0.0.1:9000/token", "http://127.0.0.1:9000/token");
        allowed(server, "http://[::1]:9000/token", "http://[::1]:9000/token");
    }
    allowed(LOCAL_ENCRYPTED, "https://localhost:9000/token", "https://localhost:9000/token");
    allowed(PRIVATE, "https://192.168.7.7:8443/token", "https://192.168.7.7:8443/token");
}

#[test]
fn redirects_stay_with_their_origin() {
    let at = "https://mcp.example.com/a";
    let check = |server: &str, from: &str, to: &str| {
        gate(server).redirect(&Url::parse(from).unwrap(), &Url::parse(to).unwrap())
    };
    assert_eq!(check(PUBLIC, at, "https://mcp.example.com/b?c=d"), Ok(()));
    assert_eq!(check(PUBLIC, at, "https://MCP.example.com:443/b"), Ok(()));
    assert_eq!(check(LOCAL, "http://localhost:1/a", "http://localhost:1/b"), Ok(()));
    for to in [
        "https://evil.example/b",
        "https://www.mcp.example.com/b",
        "https://mcp.example.com.:443/b",
        "https://mcp.example.com:8443/b",
        "http://mcp.example.com/b",
        "http://mcp.example.com:443/b",
        "https://127.0.0.1/b",
        "https://169.254.169.254/b",
        "javascript:alert(1)",
        "file:///etc/passwd",
    ] {
        assert!(matches!(check(PUBLIC, at, to), Err(Refusal::Elsewhere { .. })), "{to}");
    }
    assert!(matches!(
        check(LOCAL, "http://localhost:1/a", "http://127.0.0.1:1/b"),
        Err(Refusal::Elsewhere { .. })
    ));
    assert!(matches!(check(PUBLIC, at, "https://a:b@mcp.example.com/"), Err(Refusal::Login { .. })));
    // A page that may not be asked may not be come back to either.
    let inside = "https://10.0.0.4/a";
    assert!(matches!(check(PUBLIC, inside, inside), Err(Refusal::Private { .. })));
}

#[test]
fn a_refusal_tells_no_secret() {
    let check = |text: &str, expected: &str| {
        assert_eq!(gate(PUBLIC).document(text).unwrap_err().to_string(), expected);
    };
    check(
        "http://mcp.example.com/a?code=hunter2#hunter2",
        "http://mcp.example.com/a?code=***#*** is not encrypted",
    );
    check(
        "https://me:hunter2@mcp.example.com/",
        "https://***@mcp.example.com/ has a user or a password in it",
    );
    check("data:text/html,hunter2", "data:*** does not start with https://");
    check("https:me:hunter2@mcp.example.com", "https:*** does not start with https://");
    check(
        "https://mcp.example.com/\u{1b}[31m",
        "https://mcp.example.com/\\u{1b}[31m has characters in it that no address has",
    );
    let elsewhere = gate(PUBLIC).redirect(
        &Url::parse("https://mcp.example.com/?code=hunter2").unwrap(),
        &Url::parse("https://evil.example/?code=hunter2").unwrap(),
    );
    assert_eq!(
        elsewhere.unwrap_err().to_string(),
        "https://mcp.example.com/?code=*** redirects to another origin, https://evil.example/?code=***"
    );
}

#[test]
fn where_a_name_leads_to_is_checked() {
    let check = |server: &str, name: &str, found: &[&str]| {
        let checked = Checked::new(gate(server));
        checked.announce(&Url::parse(&format!("https://{name}/")).unwrap());
        let found = found.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 0)).collect();
        let admitted = checked.admitted(name, found).map_err(|refusal| refusal.to_string())?;
        Ok(admitted.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(" "))
    };
    let bad = |text: &str| Err(text.to_owned());
    assert_eq!(check(PUBLIC, "auth.example.com", &["93.184.216.34"]), Ok("93.184.216.34".to_owned()));
    assert_eq!(
        check(PUBLIC, "auth.example.com", &["127.0.0.1", "93.184.216.34", "10.0.0.1", "::1"]),
        Ok("93.184.216.34".to_owned())
    );
    assert_eq!(
        check(PUBLIC, "auth.example.com", &["127.0.0.1", "10.0.0.1"]),
        bad("auth.example.com (127.0.0.1) is on this machine, and the server is not")
    );
    assert_eq!(
        check(PUBLIC, "mcp.example.com", &["::ffff:10.0.0.1"]),
        bad("mcp.example.com (::ffff:10.0.0.1) is in a private network, and the server's own address is not")
    );
    assert_eq!(check(PRIVATE, "sso.corp.example", &["10.0.0.9"]), Ok("10.0.0.9".to_owned()));
    for server in SERVERS {
        assert_eq!(
            check(server, "auth.example.com", &["169.254.169.254"]),
            bad("auth.example.com (169.254.169.254) is reserved for another purpose")
        );
    }
    assert_eq!(check(LOCAL, "auth.localhost", &["127.0.0.1", "::1"]), Ok("127.0.0.1 ::1".to_owned()));
    assert_eq!(check(LOCAL, "auth.example.com", &["127.0.0.1"]), Ok("127.0.0.1".to_owned()));
    assert_eq!(
        check(LOCAL, "auth.localhost", &["93.184.216.34"]),
        bad("auth.localhost (93.184.216.34) is not on this machine, as its name says it is")
    );
}

#[test]
fn hosts_in_private_networks_are_allowed_by_name() {
    let hosts = ["login.corp.example", "10.1.2.3", "[fd00::7]", "localhost", "169.254.169.254"];
    let gate = gate(PUBLIC).with_private(&hosts.iter().map(|host| (*host).to_owned()).collect());
    for text in ["https://10.1.2.3/token", "https://10.1.2.3:8443/", "https://[fd00::7]/authorize"] {
        assert!(gate.document(text).is_ok(), "{text}");
    }
    // Neither their neighbours, nor in the clear, nor what is not a private network at all.
    for (text, reason) in [
        ("https://10.1.2.4/token", PRIVATE_NETWORK),
        ("https://[fd00::8]/", PRIVATE_NETWORK),
        ("http://10.1.2.3/token", NOT_ENCRYPTED),
        ("https://localhost/token", THIS_MACHINE),
        ("https://169.254.169.254/token", RESERVED),
    ] {
        let refusal = gate.document(text).expect_err(text).to_string();
        assert!(refusal.ends_with(&format!(" {reason}")), "{text}: {refusal}");
    }
    let checked = Checked::new(gate);
    let leads_to = |name: &str, ip: &str| {
        checked.announce(&Url::parse(&format!("https://{name}/")).unwrap());
        checked.admitted(name, vec![SocketAddr::new(ip.parse().unwrap(), 0)]).is_ok()
    };
    assert!(leads_to("login.corp.example", "10.9.9.9") && leads_to("LOGIN.corp.example.", "10.9.9.9"));
    assert!(!leads_to("other.corp.example", "10.9.9.9"));
    assert!(!leads_to("sub.login.corp.example", "10.9.9.9"));
    assert!(!leads_to("login.corp.example", "127.0.0.1"));
    assert!(!leads_to("login.corp.example", "169.254.169.254"));
}

#[test]
fn the_name_of_a_proxy_is_not_ours_to_judge() {
    let checked = Checked::new(gate(PUBLIC));
    let private = vec![SocketAddr::from(([10, 0, 0, 1], 0))];
    assert_eq!(checked.admitted("proxy.corp.example", private.clone()), Ok(private.clone()));
    checked.announce(&Url::parse("https://Auth.Example.com./token").unwrap());
    for name in ["auth.example.com", "auth.example.com.", "AUTH.example.com"] {
        assert!(checked.admitted(name, private.clone()).is_err(), "{name}");
    }
}

#[test]
fn resolved_addresses_follow_the_same_rules() {
    let check =
        |server: &str, ip: &str| gate(server).admit(Class::of_ip(ip.parse().unwrap()), ip, || ip.to_owned());
    assert_eq!(check(PUBLIC, "2606:4700::1111"), Ok(()));
    assert_eq!(check(LOCAL, "127.0.0.1"), Ok(()));
    assert_eq!(check(PUBLIC, "127.0.0.1"), Err(Refusal::Loopback { url: "127.0.0.1".to_owned() }));
    assert_eq!(check(PUBLIC, "fd00::1"), Err(Refusal::Private { url: "fd00::1".to_owned() }));
    assert_eq!(check(PUBLIC, "fe80::1"), Err(Refusal::Reserved { url: "fe80::1".to_owned() }));
}

fn pieces() -> impl Strategy<Value = String> {
    let pieces = vec![
        "http",
        "https",
        "HTTPS",
        ":",
        "/",
        "//",
        "://",
        "@",
        "localhost",
        ".",
        "127.0.0.1",
        "10.1",
        "0x7f",
        "[",
        "]",
        "::1",
        "::ffff:",
        "example.com",
        "\\",
        "\t",
        "%2f",
        "?",
        "#",
        "a",
        "8080",
        "\u{e9}",
        "javascript:",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_passes_is_safe(
        text in prop_oneof![pieces(), pieces().prop_map(|rest| format!("https://{rest}")), "(?s).{0,60}"],
        server in prop::sample::select(SERVERS),
    ) {
        let gate = gate(server);
        if let Ok(url) = gate.document(&text) {
            let is_here = Class::of(&url.host().unwrap()) == Class::Loopback;
            prop_assert!(url.scheme() == "https" || is_here);
            prop_assert!(!is_here || gate.class == Class::Loopback);
            prop_assert!(url.username().is_empty() && url.password().is_none());
            prop_assert_eq!(gate.document(url.as_str()), Ok(url));
        }
    }
}
