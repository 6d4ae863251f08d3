//! The turn loop: a model, the tools of a session, approvals. No terminal.
