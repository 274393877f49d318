//! Calls.
use super::Method;
pub(super) const METHODS: &[(&str, Method)] = &[];
