//! Telling a client what it subscribed to.

use super::{
    outgoing::Outgoing,
    share::Share,
    subscriptions::{Kind, Named, Subscription},
};
use crate::{
    api::{LogRequest, Notices},
    archive::matching_logs,
    hub::{Notice, Numbered},
    view::{HeaderView, LogView, PendingView, TransactionView, event},
};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use std::{
    collections::{HashMap, hash_map::Entry},
    mem::{Discriminant, discriminant},
    sync::Arc,
};
use tokio::sync::{Notify, broadcast, oneshot};
use tokio_tungstenite::tungstenite::Message;

/// While so many logs are told, a subscription may have ended.
const LOGS_BETWEEN: usize = 64;

/// Tells one client.
pub(super) struct Teller {
    pub(super) notices: broadcast::Receiver<Numbered>,
    pub(super) list: Arc<Mutex<Vec<Subscription>>>,
    pub(super) outgoing: Outgoing,
    pub(super) share: Arc<Share>,
    pub(super) slow: Arc<Notify>,
}

impl Teller {
    /// Tells until the client is gone, or does not read.
    pub(super) async fn run(mut self) {
        loop {
            let told = match self.notices.recv().await {
                Ok(numbered) => {
                    self.begin().await;
                    self.share.behind(|| self.tell(&numbered)).await
                }
                Err(broadcast::error::RecvError::Lagged(_)) => Err(()),
                Err(broadcast::error::RecvError::Closed) => return,
            };
            if told.is_err() {
                self.slow.notify_one();
                return;
            }
        }
    }

    /// Waits until all subscriptions have been named to the client, which they are at once.
    async fn begin(&self) {
        let begun = self.list.lock().iter_mut().filter_map(|one| one.begun.take()).collect::<Vec<_>>();
        for begun in begun {
            // An answer that cannot be sent is that of a client that is gone.
            let _ = begun.await;
        }
    }

    /// Fails if the client does not read. What is told is written one by one, and without holding up who subscribes
    /// meanwhile: a block may have very much to tell.
    fn tell(&self, numbered: &Numbered) -> Result<(), ()> {
        let list = self.list.lock();
        let concerned =
            list.iter().filter(|one| one.after < numbered.number && one.kind.hears_of(&numbered.notice));
        let concerned = concerned.map(|one| (one.named.clone(), one.kind.clone())).collect::<Vec<_>>();
        drop(list);
        // Many subscriptions to the same are told the same.
        let mut written = HashMap::<(Discriminant<Kind>, bool), Vec<String>>::new();
        for (named, kind) in concerned {
            if !self.is_there(&named) {
                continue;
            }
            let sent = match &*kind {
                Kind::Logs(request) => self.tell_logs(&named, request, &numbered.notice),
                kind => {
                    let key = (discriminant(kind), matches!(kind, Kind::Transactions { full: true }));
                    let texts = match written.entry(key) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => new.insert(results(kind, &numbered.notice)?),
                    };
                    texts.iter().try_for_each(|text| named.notify(&self.outgoing, text))
                }
            };
            sent?;
        }
        Ok(())
    }

    /// Tells of each log of a block as soon as it is written: who does not read is told no more.
    fn tell_logs(&self, named: &Named, request: &LogRequest, notice: &Notice) -> Result<(), ()> {
        let Notice::Block { block, removed } = notice else { return Ok(()) };
        for (count, entry) in matching_logs(block, &request.filter).enumerate() {
            if count % LOGS_BETWEEN == LOGS_BETWEEN - 1 && !self.is_there(named) {
                break;
            }
            named.notify(&self.outgoing, &text(&LogView::new(&entry, *removed))?)?;
        }
        Ok(())
    }

    /// Whether a subscription has not ended meanwhile.
    fn is_there(&self, named: &Named) -> bool {
        self.list.lock().iter().any(|one| one.named.name == named.name)
    }
}

impl Kind {
    /// Whether there is anything to tell of a notice.
    fn hears_of(&self, notice: &Notice) -> bool {
        match (self, notice) {
            (Self::Logs(request), Notice::Block { block, .. }) => request.concerns(block.block.id()),
            (Self::Heads, Notice::Block { removed, .. }) => !removed,
            (Self::Transactions { .. }, Notice::Transactions(_))
            | (Self::PendingBlock, Notice::Pending(_))
            | (Self::Events, Notice::Happened(_)) => true,
            _ => false,
        }
    }
}

impl Named {
    /// Tells of a result. Fails if the client does not read.
    fn notify(&self, outgoing: &Outgoing, result: &str) -> Result<(), ()> {
        let Self { method, name } = self;
        outgoing.try_send(Message::text(format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"subscription":"{name}","result":{result}}}}}"#
        )))
    }

    /// Who asks whether the node is in step hears so when the subscription begins.
    pub(super) async fn tell_that_it_is_in_step(self, outgoing: Outgoing, begun: oneshot::Receiver<()>) {
        if begun.await.is_ok() {
            // Who does not read is cut off by what comes next.
            let _ = self.notify(&outgoing, "false");
        }
    }

    /// Tells what an extension has to tell, until the client does not read or has missed something.
    pub(super) async fn pass_on(self, mut notices: Notices, outgoing: &Outgoing) {
        while let Some(notice) = notices.next().await {
            if text(&notice).and_then(|text| self.notify(outgoing, &text)).is_err() {
                break;
            }
        }
    }
}

fn text<T: Serialize>(value: &T) -> Result<String, ()> {
    serde_json::to_string(value).map_err(drop)
}

/// What a subscription of this kind hears of a notice.
fn results(kind: &Kind, notice: &Notice) -> Result<Vec<String>, ()> {
    match (kind, notice) {
        (Kind::Heads, Notice::Block { block, removed: false }) => {
            Ok(vec![text(&HeaderView::new(block.block.header(), Some(block.block.id().hash)))?])
        }
        (Kind::Transactions { full }, Notice::Transactions(transactions)) => transactions
            .iter()
            .map(|tx| match full {
                true => text(&TransactionView::new(tx, None)),
                false => text(&tx.hash()),
            })
            .collect(),
        (Kind::PendingBlock, Notice::Pending(pending)) => Ok(vec![text(&PendingView::new(pending))?]),
        (Kind::Events, Notice::Happened(happened)) => {
            let at = happened.at.as_millis();
            happened.events.iter().map(|one| text(&json!({ "at": at, "event": event(one) }))).collect()
        }
        _ => Ok(vec![]),
    }
}
