//! A sealed world for tests: an empty home, an empty project, no variables.
