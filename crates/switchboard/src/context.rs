//! Where a piece of work stands in a trace, as W3C Trace Context writes it. The library follows no trace by itself: whoever
//! does hands in a [`Source`], and it is told to servers with each request.

use std::sync::Arc;

/// The two values that go with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// `traceparent`: the trace and the span the request belongs to.
    pub traceparent: String,
    /// `tracestate`: what the tracing systems on the way want to know.
    pub tracestate: Option<String>,
}

/// Tells where the work that is going on right now stands. It is asked with every request, so it must be quick.
pub type Source = Arc<dyn Fn() -> Option<TraceContext> + Send + Sync>;
