//! UP 0: both sides say what they know, then announce blocks as they come.
//!
//! Whoever opened the connection opens the stream. Some nodes open one of their own as well and announce only there, so
//! a stream that the peer opens is answered on every connection; of several the newest counts.

use crate::{
    Kind,
    connection::Connection,
    error::{Refusal, StreamError},
    frame::{Input, Output},
    message::{Announcement, Handshake, Payload},
    serve::within,
};
use std::time::Duration;
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::sleep,
};

/// How long to wait before a stream that ended is opened again.
const REOPEN: Duration = Duration::from_secs(2);

/// Keeps a stream open that we opened.
pub(crate) async fn keep_open(connection: Connection) {
    while connection.is_open() && connection.shared().service.handshake().is_some() {
        if let Ok((send, recv)) = connection.quic().open_bi().await {
            let mut output = Output::new(send);
            if output.kind(Kind::Announcements).await.is_ok() {
                let ended = converse(&connection, &mut output, &mut Input::new(recv, None)).await;
                judge(&connection, ended);
            }
        }
        sleep(REOPEN).await;
    }
}

/// Answers a stream that the peer opened.
pub(crate) async fn accepted(connection: &Connection, mut output: Output, mut input: Input) {
    // Number 0 is a stream too, and must be newer than none.
    let id = input.id() + 1;
    let newest = connection.newest_announcements();
    let mut changes = newest.subscribe();
    if !newest.send_if_modified(|newest| id > *newest && std::mem::replace(newest, id) < id) {
        output.refuse(Refusal::Other(0));
        return;
    }
    tokio::select! {
        ended = converse(connection, &mut output, &mut input) => judge(connection, ended),
        _ = changes.wait_for(|newest| *newest > id) => {}
    }
    output.refuse(Refusal::Other(0));
    input.stop(Refusal::Other(0));
}

fn judge(connection: &Connection, ended: Result<(), StreamError>) {
    if let Err(error) = ended {
        connection.blame(Some(Kind::Announcements), &error);
    }
}

async fn converse(
    connection: &Connection,
    output: &mut Output,
    input: &mut Input,
) -> Result<(), StreamError> {
    let shared = connection.shared();
    // First listen, then say what we know: what happens in between is announced.
    let announcements = shared.announcements.subscribe();
    let Some(handshake) = shared.service.handshake() else {
        output.refuse(Refusal::Unsupported);
        return Ok(());
    };
    tokio::select! {
        ended = listen(connection, input) => ended,
        ended = speak(output, &handshake, announcements) => ended,
    }
}

async fn listen(connection: &Connection, input: &mut Input) -> Result<(), StreamError> {
    let shared = connection.shared();
    let (service, caller) = (&shared.service, connection.caller());
    let greeting = Handshake::read(input, &shared.rules);
    let greeting = within("the handshake of announcements", shared.limits.receive(), greeting).await?;
    service.greeted(caller, greeting).await;
    while let Some(announcement) = Announcement::next(input, &shared.rules).await? {
        input.release();
        service.announced(caller, announcement).await;
    }
    Ok(())
}

async fn speak(
    output: &mut Output,
    handshake: &Handshake,
    mut announcements: Receiver<bytes::Bytes>,
) -> Result<(), StreamError> {
    for message in handshake.write() {
        output.message(message).await?;
    }
    loop {
        match announcements.recv().await {
            Ok(announcement) => output.message(vec![announcement]).await?,
            // A slow peer misses some; a later block implies them.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}
