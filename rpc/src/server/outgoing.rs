//! What waits to be sent to one WebSocket client: so many messages, and so many bytes.

use crate::Limits;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_tungstenite::tungstenite::Message;

/// Where messages are put.
#[derive(Clone)]
pub(super) struct Outgoing {
    messages: mpsc::Sender<Waiting>,
    bytes: Arc<Semaphore>,
    bytes_max: usize,
}

/// A message with its part of the bytes that may wait.
pub(super) struct Waiting {
    pub(super) message: Message,
    pub(super) part: OwnedSemaphorePermit,
}

impl Outgoing {
    /// The queue, and where it is emptied.
    pub(super) fn new(limits: &Limits) -> (Self, mpsc::Receiver<Waiting>) {
        let (messages, queue) = mpsc::channel(limits.outgoing_messages_max);
        let bytes_max = limits.outgoing_bytes_max.min(Semaphore::MAX_PERMITS);
        (Self { messages, bytes: Arc::new(Semaphore::new(bytes_max)), bytes_max }, queue)
    }

    /// What a message takes; one that is larger than all that may wait is alone.
    fn size(&self, message: &Message) -> u32 {
        u32::try_from(message.len().min(self.bytes_max)).unwrap_or(u32::MAX)
    }

    /// Puts an answer into the queue, once there is room.
    pub(super) async fn send(&self, message: Message) {
        let size = self.size(&message);
        let Ok(part) = self.bytes.clone().acquire_many_owned(size).await else { return };
        // If nobody empties the queue any more, nobody waits for the answer either.
        let _ = self.messages.send(Waiting { message, part }).await;
    }

    /// Puts a notification into the queue; fails if there is no room.
    pub(super) fn try_send(&self, message: Message) -> Result<(), ()> {
        let size = self.size(&message);
        let part = self.bytes.clone().try_acquire_many_owned(size).map_err(drop)?;
        self.messages.try_send(Waiting { message, part }).map_err(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_are_limited_as_messages_are() {
        let limits = Limits { outgoing_messages_max: 3, outgoing_bytes_max: 10, ..Limits::default() };
        let (outgoing, mut queue) = Outgoing::new(&limits);
        let text = |length: usize| Message::text("a".repeat(length));
        assert_eq!(outgoing.try_send(text(6)), Ok(()));
        assert_eq!(outgoing.try_send(text(6)), Err(()), "too many bytes");
        assert_eq!(outgoing.try_send(text(2)), Ok(()));
        assert_eq!(outgoing.try_send(text(2)), Ok(()));
        assert_eq!(outgoing.try_send(text(0)), Err(()), "too many messages");
        for length in [6, 2, 2] {
            assert_eq!(queue.recv().await.unwrap().message.len(), length);
        }
        outgoing.send(text(100)).await;
        assert_eq!(queue.recv().await.unwrap().message.len(), 100, "a large one passes alone");
    }
}
