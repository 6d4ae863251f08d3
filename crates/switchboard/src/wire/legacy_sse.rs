//! HTTP with a stream of events, as it was before Streamable HTTP: one GET brings everything, messages go out by POST
//! to the address the stream names first.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use super::door::{self, Door};
use super::error::{Cause, Error};
use super::http::{ERRANDS, Site, content_type};
use super::peer::Frame;
use super::router::{Router, Via};
use super::sse;
use super::web::{self, Ask};
use crate::redact;
use crate::secret::Secrets;
use crate::visible::excerpt;

const ERRAND: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct LegacySse {
    door: Door,
    endpoint: Url,
    headers: HeaderMap,
    router: Arc<Router>,
    limit: usize,
    /// What no error may repeat.
    secrets: Secrets,
    errands: mpsc::Sender<Errand>,
}

/// What is done in the background.
#[derive(Debug)]
enum Errand {
    Say(Frame),
    /// Says when everything before it is done.
    Finish(oneshot::Sender<()>),
}

impl LegacySse {
    /// Opens the stream and waits for the address. The caller limits the time.
    pub(crate) async fn open(
        site: Site,
        router: &Arc<Router>,
        tasks: &mut JoinSet<()>,
    ) -> Result<Arc<Self>, Error> {
        let mut headers = site.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let ask = Ask { method: Method::GET, url: site.url.clone(), headers, body: None };
        let mut stream = site.door.send(ask).await.map_err(|(cause, _)| Error::never(cause))?;
        let status = stream.status().as_u16();
        if matches!(status, 401 | 403) {
            return Err(Error::never(door::unauthorized(&stream)));
        }
        if !stream.status().is_success() {
            let body = web::error_body(&mut stream).await;
            let body = web::shown(&body, &site.secrets);
            return Err(Error::never(Cause::Http { status, body, retry_after: None }));
        }
        if content_type(&stream) != "text/event-stream" {
            let content_type = excerpt(&site.secrets.scrub(&content_type(&stream)), 80);
            return Err(Error::never(Cause::NotMcp { content_type }));
        }
        let mut events = sse::Parser::new(site.limit);
        let (endpoint, early) = first_endpoint(&mut stream, &mut events, &site.url).await?;
        for event in early {
            router.deliver(&event.data, Via::Common);
        }
        let (errands, work) = mpsc::channel(ERRANDS);
        let sse = Arc::new(Self {
            door: site.door,
            endpoint,
            headers: site.headers,
            router: Arc::clone(router),
            limit: site.limit,
            secrets: site.secrets,
            errands,
        });
        tasks.spawn(read(stream, events, Arc::clone(router)));
        tasks.spawn(run_errands(Arc::downgrade(&sse), work));
        Ok(sse)
    }

    /// Sends a message. Its answer comes on the stream, or at once as the body, as some servers do.
    pub(crate) async fn post(&self, frame: Frame) -> Result<(), Error> {
        if !frame.stage.leave() {
            return Err(Error::never(Cause::Cancelled));
        }
        if let Some(trace) = &self.router.trace {
            trace.sent(&frame.text);
        }
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let ask =
            Ask { method: Method::POST, url: self.endpoint.clone(), headers, body: Some(frame.text.clone()) };
        let mut response = self.door.send(ask).await.map_err(|(cause, may_have_left)| {
            if may_have_left {
                return Error::maybe(cause);
            }
            frame.stage.stayed();
            Error::never(cause)
        })?;
        let status = response.status().as_u16();
        if response.status().is_success() {
            let is_json = content_type(&response) == "application/json";
            let body = web::body(&mut response, self.limit).await.unwrap_or_default();
            if is_json && let Some(id) = frame.id {
                self.router.deliver(&body, Via::Stream(id));
            }
            return Ok(());
        }
        if matches!(status, 401 | 403) {
            return Err(Error::never(door::unauthorized(&response)));
        }
        let body = web::error_body(&mut response).await;
        let body = web::shown(&body, &self.secrets);
        let cause = Cause::Http { status, body, retry_after: None };
        Err(if status < 500 { Error::never(cause) } else { Error::maybe(cause) })
    }

    pub(crate) fn say_later(&self, frame: Frame) {
        let _too_busy = self.errands.try_send(Errand::Say(frame));
    }

    /// Waits until what is said in the background was said, such as that a call is no longer needed.
    pub(crate) async fn finish_errands(&self) {
        let (done, finished) = oneshot::channel();
        if self.errands.try_send(Errand::Finish(done)).is_ok() {
            let _stuck = timeout(ERRAND, finished).await;
        }
    }
}

/// The address named by the first event. It must be of the same origin: everything we say goes there, with credentials.
async fn first_endpoint(
    stream: &mut reqwest::Response,
    events: &mut sse::Parser,
    base: &Url,
) -> Result<(Url, Vec<sse::Event>), Error> {
    let no_endpoint = || {
        let why = "the stream does not begin with the address to send to".to_owned();
        Error::never(Cause::Malformed { why })
    };
    while let Ok(Some(chunk)) = stream.chunk().await {
        let mut parsed = Vec::new();
        events.push(&chunk, &mut parsed).map_err(|_| no_endpoint())?;
        let mut parsed = parsed.into_iter();
        let Some(first) = parsed.next() else { continue };
        if first.name != "endpoint" {
            return Err(no_endpoint());
        }
        let address = String::from_utf8_lossy(&first.data);
        let endpoint = base.join(address.trim()).map_err(|_| no_endpoint())?;
        let has_user = !endpoint.username().is_empty() || endpoint.password().is_some();
        if endpoint.origin() != base.origin() || has_user {
            let from = redact::url(base.as_str());
            return Err(Error::never(Cause::Redirected { from, to: redact::url(endpoint.as_str()) }));
        }
        return Ok((endpoint, parsed.filter(|event| event.name == "message").collect()));
    }
    Err(no_endpoint())
}

async fn read(mut stream: reqwest::Response, mut events: sse::Parser, router: Arc<Router>) {
    while let Ok(Some(chunk)) = stream.chunk().await {
        let mut parsed = Vec::new();
        let read = events.push(&chunk, &mut parsed);
        // A second address must not move the conversation elsewhere.
        for event in parsed.into_iter().filter(|event| event.name == "message") {
            router.deliver(&event.data, Via::Common);
        }
        if read.is_err() {
            break;
        }
        router.pace.rest().await;
    }
    router.lose(&Cause::Closed);
}

async fn run_errands(sse: std::sync::Weak<LegacySse>, mut work: mpsc::Receiver<Errand>) {
    while let Some(errand) = work.recv().await {
        let Some(sse) = sse.upgrade() else { return };
        match errand {
            Errand::Say(frame) => drop(timeout(ERRAND, sse.post(frame)).await),
            Errand::Finish(done) => drop(done.send(())),
        }
    }
}
