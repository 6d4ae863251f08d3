//! A page that nobody comes back from, and clients that are described by a document.

use serde_json::json;
use switchboard::auth::Wishes;
use switchboard::session::{Gate, Options, Session};
use testkit::logins::Peer;

use crate::world::{Manner, Person, World, call};

#[tokio::test]
async fn nobody_comes_back() {
    let world = World::new(Peer::oidc(&[]));
    let session = world.session(&Person::with(Manner::Lost)).await;
    let error = session.login("tracker", &Wishes::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "OAuth flow timed out. Please try again.");
    tokio::time::resume();
    session.shutdown().await;
}

#[tokio::test]
async fn a_document_says_who_we_are() {
    let folder = tempfile::tempdir().unwrap();
    let (file, id) = (folder.path().join("client.json"), "https://switchboard.example/client.json");
    let document = json!({
        "client_id": id, "client_name": "Switchboard", "application_type": "native",
        "redirect_uris": ["http://127.0.0.1/callback"], "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": "none",
    });
    std::fs::write(&file, document.to_string()).unwrap();
    let world = World::new(Peer::oidc(&[("CLIENT_DOCUMENT", file.to_str().unwrap())]));
    let mut options = Options::headless(world.sandbox.env());
    options.host = Person::willing();
    options.logins.document = Some(id.to_owned());
    let session = Session::start(options).await;
    session.ready(Gate::Correct).await;
    session.login("tracker", &Wishes::default()).await.unwrap();
    session.listed().await;
    assert_eq!(call(&session, "tracker/echo").await.unwrap()["client"], id);
    assert_eq!(world.peer.count("registrations"), 0);
    session.shutdown().await;
}
