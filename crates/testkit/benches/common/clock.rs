//! What a process computes, as the system counts it.

use std::time::Duration;

/// What this process has computed so far.
#[cfg(target_os = "linux")]
pub(crate) fn cpu_time() -> Duration {
    rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn cpu_time() -> Duration {
    Duration::ZERO
}
