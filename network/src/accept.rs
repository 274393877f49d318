//! The door: takes connections that others open, and serves every connection until it is closed.

use crate::{
    announce,
    connection::Connection,
    endpoint::{Endpoint, NO_ROOM},
    serve,
    service::Note,
};
use quinn::Incoming;
use std::sync::Arc;
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};

/// Takes connections that others open, as many at a time as handshakes are allowed.
pub(crate) async fn accept(endpoint: Endpoint) {
    let limits = *endpoint.limits();
    let slots = Arc::new(Semaphore::new(limits.handshakes_max));
    while let Some(incoming) = endpoint.quic().accept().await {
        let service = &endpoint.shared().service;
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            service.noted(Note::NoRoom { addr: incoming.remote_address() });
            incoming.refuse();
            continue;
        };
        // Under pressure, only who receives at the address it sends from.
        let pressed = slots.available_permits() < limits.handshakes_max / 4 * 3;
        if pressed && !incoming.remote_address_validated() && incoming.may_retry() {
            let _ = incoming.retry();
            continue;
        }
        let endpoint = endpoint.clone();
        tokio::spawn(async move {
            take(&endpoint, incoming).await;
            drop(slot);
        });
    }
}

async fn take(endpoint: &Endpoint, incoming: Incoming) {
    let addr = incoming.remote_address();
    let service = &endpoint.shared().service;
    let limit = endpoint.limits().handshake();
    let handshake = async { incoming.accept()?.await };
    let why = match timeout(limit, handshake).await {
        Ok(Ok(quic)) => match endpoint.adopt(quic, false) {
            Ok(_) => return,
            Err(NO_ROOM) => return service.noted(Note::NoRoom { addr }),
            Err(why) => why.to_owned(),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it took more than {} ms", limit.as_millis()),
    };
    tracing::debug!(%addr, %why, "handshake failed");
    service.noted(Note::HandshakeFailed { addr, why });
}

/// Serves a connection until it is closed.
pub(crate) async fn run(endpoint: Endpoint, connection: Connection) {
    let peer = connection.peer();
    tracing::debug!(%peer, dialled = connection.is_dialled(), "connected");
    let mut streams = JoinSet::new();
    if connection.is_dialled() {
        streams.spawn(announce::keep_open(connection.clone()));
    }
    loop {
        tokio::select! {
            opened = connection.quic().accept_bi() => match opened {
                Ok((send, recv)) => {
                    streams.spawn(serve::stream(connection.clone(), send, recv));
                }
                Err(why) => {
                    tracing::debug!(%peer, %why, "disconnected");
                    break;
                }
            },
            Some(_) = streams.join_next() => {}
        }
    }
    streams.shutdown().await;
    if endpoint.registry().remove(&connection) {
        endpoint.shared().service.disconnected(peer);
    }
}
