//! Sends spans to a collector, as OTLP over HTTP. In: an address. Out: a layer that takes spans, and what sends the last of
//! them. Sending has a thread and a runtime of its own, so that no command waits for it before its end.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use switchboard::context::{self, TraceContext};
use switchboard::env::{OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, TRACEPARENT, TRACESTATE};
use switchboard::{Env, redact};
use tokio::runtime::Handle;
use tracing::Span;
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

/// So long the end of a command is held up at most.
const LAST_MOMENT: Duration = Duration::from_secs(2);
/// The target of what we have to say about it.
const TARGET: &str = "switchboard::telemetry";

/// Spans on their way.
pub(super) struct Export {
    provider: SdkTracerProvider,
    endpoint: String,
}

/// Starts to send. None if it cannot be; that is no reason to fail.
pub(super) fn start<S>(env: &Env, endpoint: String) -> Option<(Export, impl Layer<S> + use<S>)>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let inner = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(&endpoint)
        .with_timeout(LAST_MOMENT)
        .build()
        .ok()?;
    let sender = Sender {
        inner: Arc::new(inner),
        runtime: runtime()?,
        endpoint: endpoint.clone(),
        has_failed: AtomicBool::new(false),
    };
    let provider =
        SdkTracerProvider::builder().with_resource(resource(env)).with_batch_exporter(sender).build();
    let layer = OpenTelemetryLayer::new(provider.tracer("switchboard"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_target(super::OURS, LevelFilter::INFO));
    Some((Export { provider, endpoint }, layer))
}

/// Tells where the work that is going on stands in the trace.
pub(super) fn source() -> context::Source {
    Arc::new(|| {
        let mut carrier: HashMap<String, String> = HashMap::new();
        TraceContextPropagator::new().inject_context(&Span::current().context(), &mut carrier);
        let tracestate = carrier.remove("tracestate").filter(|state| !state.is_empty());
        carrier.remove("traceparent").map(|traceparent| TraceContext { traceparent, tracestate })
    })
}

/// Makes the work part of the trace we were started in, if there is one.
pub(super) fn adopt(root: &Span, env: &Env) {
    let names = [("traceparent", TRACEPARENT), ("tracestate", TRACESTATE)];
    let carrier: HashMap<String, String> = names
        .into_iter()
        .filter_map(|(key, name)| Some((key.to_owned(), env.non_empty(name)?.to_owned())))
        .collect();
    if carrier.contains_key("traceparent") {
        let parent = TraceContextPropagator::new().extract(&carrier);
        let _not_followed = root.set_parent(parent);
    }
}

impl Export {
    /// Sends what is left, for a moment at most.
    pub(super) fn finish(self) {
        if self.provider.shutdown_with_timeout(LAST_MOMENT).is_err() {
            warn(&self.endpoint);
        }
    }
}

/// Says that spans are lost.
pub(super) fn warn(endpoint: &str) {
    // Not what went wrong in words: they may have the address in them, with all that stands there.
    let endpoint = redact::url(endpoint);
    tracing::warn!(target: TARGET, endpoint, "spans could not be sent to the collector");
}

/// Who we are to the collector.
fn resource(env: &Env) -> Resource {
    let named = env
        .non_empty(OTEL_RESOURCE_ATTRIBUTES)
        .is_some_and(|list| list.split(',').any(|pair| pair.trim_start().starts_with("service.name=")));
    let builder = Resource::builder();
    // What the user says counts; it is read with the other attributes.
    if named || env.non_empty(OTEL_SERVICE_NAME).is_some() {
        builder.build()
    } else {
        builder.with_service_name("switchboard").build()
    }
}

/// A runtime of its own: the command's may be busy, or gone.
fn runtime() -> Option<Handle> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    // It ends with the program.
    std::thread::Builder::new().name("spans".to_owned()).spawn(run).ok()?;
    Some(handle)
}

/// Sends batches from that runtime.
struct Sender {
    inner: Arc<SpanExporter>,
    runtime: Handle,
    endpoint: String,
    has_failed: AtomicBool,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl opentelemetry_sdk::trace::SpanExporter for Sender {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let inner = Arc::clone(&self.inner);
        let sending = self.runtime.spawn(async move { inner.export(batch).await });
        let lost = || Err(OTelSdkError::InternalFailure("the sender is gone".to_owned()));
        let sent = sending.await.unwrap_or_else(|_| lost());
        // Once is enough.
        if sent.is_err() && !self.has_failed.swap(true, Ordering::Relaxed) {
            warn(&self.endpoint);
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.set_resource(resource);
        }
    }
}
