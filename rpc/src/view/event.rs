//! An event, and the open block as subscribers see it.

use super::HeaderView;
use crate::PendingBlock;
use alloy_primitives::{B256, U64};
use serde::Serialize;
use serde_json::{Value, json};
use types::{BlockId, Event, Run};

/// The open block: its header so far, and the hashes of what is in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PendingView<'a> {
    #[serde(flatten)]
    header: HeaderView<'a>,
    transactions: Vec<B256>,
}

impl<'a> PendingView<'a> {
    pub(crate) fn new(pending: &'a PendingBlock) -> Self {
        let transactions = pending.transactions.iter().map(types::Transaction::hash).collect();
        Self { header: HeaderView::new(&pending.header, None), transactions }
    }
}

/// The name of a bundle and its blocks.
fn run_of(run: &Run) -> Value {
    json!({ "name": run.bundle_name(), "first": id(&run.first), "last": id(&run.last), "blocks": run.blocks() })
}

fn id(block: &BlockId) -> Value {
    json!({ "number": U64::from(block.number), "hash": block.hash })
}

/// An event with its name, what it is about, and the line that the log has.
pub(crate) fn event(event: &Event) -> Value {
    let (name, mut value) = named(event);
    value["kind"] = json!(name);
    value["line"] = json!(event.to_string());
    value
}

fn named(event: &Event) -> (&'static str, Value) {
    match event {
        Event::Added { hash, sender, pending } => {
            ("added", json!({ "transaction": hash, "sender": sender, "pending": pending }))
        }
        Event::Promoted { hash, sender } => ("promoted", json!({ "transaction": hash, "sender": sender })),
        Event::Demoted { hash, sender } => ("demoted", json!({ "transaction": hash, "sender": sender })),
        Event::Replaced { hash, sender, by } => {
            ("replaced", json!({ "transaction": hash, "sender": sender, "by": by }))
        }
        Event::Evicted { hash, sender } => ("evicted", json!({ "transaction": hash, "sender": sender })),
        Event::Expired { hash, sender } => ("expired", json!({ "transaction": hash, "sender": sender })),
        Event::Bundled { hash, block } => ("bundled", json!({ "transaction": hash, "block": id(block) })),
        Event::Returned { hash, sender, attempts } => {
            ("returned", json!({ "transaction": hash, "sender": sender, "attempts": attempts }))
        }
        Event::Final { hash, block } => ("final", json!({ "transaction": hash, "block": id(block) })),
        Event::Dropped { hash, sender, reason } => {
            ("dropped", json!({ "transaction": hash, "sender": sender, "reason": reason.to_string() }))
        }
        other => of_block(other),
    }
}

fn of_block(event: &Event) -> (&'static str, Value) {
    match event {
        Event::Sealed { block, transactions } => {
            ("sealed", json!({ "block": id(block), "transactions": transactions }))
        }
        Event::Window { queued, inflight, submitted, can_submit } => (
            "window",
            json!({ "queued": queued, "inflight": inflight, "submitted": submitted, "canSubmit": can_submit }),
        ),
        Event::Submitted { run, version, core } => {
            ("submitted", json!({ "bundle": run_of(run), "version": version, "core": core }))
        }
        Event::Guaranteed { run, version } => {
            ("guaranteed", json!({ "bundle": run_of(run), "version": version }))
        }
        Event::DuplicateGuarantee { run } => ("duplicateGuarantee", json!({ "bundle": run_of(run) })),
        Event::Accumulated { run } => ("accumulated", json!({ "bundle": run_of(run) })),
        Event::Finalized { run } => ("finalized", json!({ "bundle": run_of(run) })),
        Event::GuaranteeTimeout { run, version } => {
            ("guaranteeTimeout", json!({ "bundle": run_of(run), "version": version }))
        }
        Event::AnchorStale { run } => ("anchorStale", json!({ "bundle": run_of(run) })),
        Event::Requeued { run, version } => {
            ("requeued", json!({ "bundle": run_of(run), "version": version }))
        }
        Event::Abandoned { run } => ("abandoned", json!({ "bundle": run_of(run) })),
        Event::Dissolved { run, second } => {
            ("dissolved", json!({ "bundle": run_of(run), "second": id(second) }))
        }
        Event::RunRefused { run, why } => ("runRefused", json!({ "bundle": run_of(run), "why": why })),
        Event::Released { block, by } => ("released", json!({ "block": id(block), "by": by.to_string() })),
        Event::ForeignHead { head } => ("foreignHead", json!({ "block": id(head) })),
        Event::WindowMissed { run } => ("windowMissed", json!({ "bundle": run_of(run) })),
        Event::NotSubmitted { run, version, why } => {
            ("notSubmitted", json!({ "bundle": run_of(run), "version": version, "why": why }))
        }
        Event::Refused { block, why } => ("refused", json!({ "block": id(block), "why": why })),
        Event::ServiceDiffers { chain, ours } => {
            ("serviceDiffers", json!({ "chain": id(chain), "ours": id(ours) }))
        }
        Event::CodeChanged { code_hash, is_known } => {
            ("codeChanged", json!({ "codeHash": code_hash, "isKnown": is_known }))
        }
        Event::ServiceUnreadable { why } => ("serviceUnreadable", json!({ "why": why })),
        _ => ("other", json!({})),
    }
}
