//! Webhook endpoints as the store keeps them, with their secrets.

use crate::facade::{EndpointView, NewEndpoint};
use core::fmt;
use serde::{Deserialize, Serialize};
use types::Time;

/// A secret, in the form `whsec_` and base64. It can be stored and used; it is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for a signature or for the one answer that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How long the secret before the newest one signs too.
pub const ROTATION_MS: u64 = 24 * 3600 * 1000;

/// An endpoint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Its name.
    pub id: String,
    /// What it is told, and where.
    pub settings: NewEndpoint,
    /// The secret that signs.
    pub secret: Secret,
    /// The secret before, and until when it signs too, in milliseconds.
    #[serde(default)]
    pub previous: Option<(Secret, u64)>,
    /// When it was made, in milliseconds.
    pub created_at: u64,
}

impl Endpoint {
    /// The secrets that sign now, the newest first.
    pub fn secrets(&self, now: Time) -> impl Iterator<Item = &Secret> {
        let previous = self.previous.iter().filter(move |(_, until)| *until > now.as_millis());
        core::iter::once(&self.secret).chain(previous.map(|(secret, _)| secret))
    }

    /// Without its secret.
    pub fn view(&self) -> EndpointView {
        EndpointView {
            id: self.id.clone(),
            settings: self.settings.clone(),
            created_at: self.created_at,
            rotating_until: self.previous.as_ref().map(|(_, until)| *until),
        }
    }
}
