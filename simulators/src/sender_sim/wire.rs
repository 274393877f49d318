//! Between owner and nodes: questions and answers that are lost, late, or the wrong node's.

use super::{
    faults::Fault,
    world::{Due, Simulation},
};
use alloy_primitives::B256;
use sender_model::{
    BlockCheck, Identified, ReceiptAnswer, RequestId, SendResponse, Signed, Simulation as Simulated, Ticket,
    View,
};

/// A question on its way to a node.
#[derive(Clone, Debug)]
pub(super) enum Question {
    Look(Option<(u64, u64)>),
    Simulate(RequestId, Vec<RequestId>),
    Send(u64, B256),
    Receipts(u64, Vec<B256>),
    CheckBlock(u64),
    Identify(u64, u64),
}

/// An answer on its way back.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Look(Option<View>),
    Simulated(RequestId, Simulated),
    Sent(u64, B256, SendResponse),
    Receipts(u64, Vec<(B256, ReceiptAnswer)>),
    Block(BlockCheck),
    Identified(u64, Identified),
    Signed(Ticket, Option<Signed>),
}

impl Simulation {
    /// A question arrives at the providers.
    pub(super) fn asked(&mut self, owner: usize, life: u64, epoch: u64, question: &Question) {
        let reply = self.ask_providers(owner, question);
        self.world.note(|| format!("owner {owner} asked {question:?} and hears {reply:?}"));
        self.send_back(owner, life, epoch, question, reply);
    }

    fn send_back(&mut self, owner: usize, life: u64, epoch: u64, question: &Question, reply: Option<Reply>) {
        let world = &mut self.world;
        if world.strikes(Fault::AnswerLost) {
            // Sometimes one learns that one has learnt nothing.
            let Question::Send(nonce, hash) = question else { return };
            if world.rng.chance(700) {
                let reply = Reply::Sent(*nonce, *hash, SendResponse::TimedOut);
                world.later(8_000, Due::Answered(owner, life, epoch, reply));
            }
            return;
        }
        let slow = world.strikes(Fault::Slow);
        let delay = if slow { world.rng.within(1_000, 25_000) } else { world.rng.within(5, 100) };
        if let Some(reply) = reply {
            world.later(delay, Due::Answered(owner, life, epoch, reply));
        }
    }

    /// An answer arrives, unless whoever asked has died or lost the account since.
    pub(super) fn answered(&mut self, owner: usize, life: u64, epoch: u64, reply: Reply) {
        let worker = &mut self.workers[owner];
        if worker.life != life {
            return;
        }
        if worker.frozen_until > self.world.now_ms {
            let wait = worker.frozen_until - self.world.now_ms;
            self.world.later(wait, Due::Answered(owner, life, epoch, reply));
            return;
        }
        // While a commit waits for its process to wake up, nothing may change under it.
        let (Some(account), None) = (&mut worker.account, &worker.late) else { return };
        if account.epoch() != epoch {
            return;
        }
        // What was decided on one look at the chain is not to be written under the next. Other answers may be taken in
        // one after the other and written together.
        let looks = matches!(reply, Reply::Look(_));
        if looks && account.has_changes() && !self.commit(owner) {
            return;
        }
        let now = self.world.now();
        let Some(account) = &mut self.workers[owner].account else { return };
        match reply {
            Reply::Look(Some(view)) => account.handle_view(view, now),
            Reply::Look(None) => account.handle_view_failed(now),
            Reply::Simulated(id, simulated) => account.handle_simulation(&id, simulated, now),
            Reply::Sent(nonce, hash, answer) => account.handle_answer(nonce, hash, &answer, now),
            Reply::Receipts(nonce, answers) => account.handle_receipts(nonce, &answers, now),
            Reply::Block(check) => account.handle_block(check, now),
            Reply::Identified(nonce, hash) => account.handle_identified(nonce, hash, now),
            Reply::Signed(ticket, Some(signed)) => account.handle_signed(ticket, signed, now),
            Reply::Signed(ticket, None) => account.handle_sign_failed(ticket, now),
        }
        if looks || !self.world.together || self.world.rng.chance(500) {
            self.commit(owner);
        }
    }
}
