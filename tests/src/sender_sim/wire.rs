//! Between owner and nodes: questions and answers that are lost, late, or the wrong node's.

use super::{
    faults::Fault,
    world::{Due, Simulation},
};
use alloy_primitives::{B256, Bytes};
use sender_model::{
    BlockCheck, ReceiptAnswer, RequestId, SendResponse, Signed, Simulation as Simulated, Ticket, View,
    classify,
};

/// A question on its way to a node.
#[derive(Clone, Debug)]
pub(super) enum Question {
    Look,
    Simulate(RequestId),
    Send(u64, B256),
    Receipts(u64, Vec<B256>),
    CheckBlock(u64),
    Identify(u64),
}

/// An answer on its way back.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Look(Option<View>),
    Simulated(RequestId, Simulated),
    Sent(u64, B256, SendResponse),
    Receipts(u64, Vec<(B256, ReceiptAnswer)>),
    Block(BlockCheck),
    Identified(u64, Option<B256>),
    Signed(Ticket, Option<Signed>),
}

impl Simulation {
    /// A question arrives at some node.
    pub(super) fn asked(&mut self, owner: usize, life: u64, epoch: u64, question: &Question) {
        let world = &mut self.world;
        let stale = world.strikes(Fault::StaleBranch);
        let behind = if world.strikes(Fault::Lagging) { world.rng.within(1, 5) } else { 0 };
        let node = world.chain.node(behind, stale);
        let reply = if world.strikes(Fault::NodeBusy) {
            busy(question, world.rng.chance(500))
        } else {
            match question {
                Question::Look => Some(Reply::Look(Some(world.look(node)))),
                Question::Simulate(id) => Some(self.simulate(id)),
                Question::Send(nonce, hash) => {
                    Some(Reply::Sent(*nonce, *hash, world.chain.send(node, *hash)))
                }
                Question::Receipts(nonce, hashes) => {
                    let answers = hashes.iter().map(|hash| (*hash, world.chain.receipt(node, *hash)));
                    Some(Reply::Receipts(*nonce, answers.collect()))
                }
                Question::CheckBlock(number) => Some(Reply::Block(world.chain.check(node, *number))),
                Question::Identify(nonce) => {
                    Some(Reply::Identified(*nonce, world.chain.identify(node, *nonce)))
                }
            }
        };
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

    fn simulate(&self, id: &RequestId) -> Reply {
        let traits = self.world.traits.get(id.as_str()).copied().unwrap_or_default();
        let simulated = match traits.fails_simulation {
            true => Simulated::Reverted { reason: "execution reverted".into(), data: Bytes::new() },
            false => Simulated::Gas(traits.gas),
        };
        Reply::Simulated(id.clone(), simulated)
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
            Reply::Sent(nonce, hash, answer) => account.handle_sent(nonce, hash, &classify(&answer), now),
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

/// What a node says that does not work, or does not want to.
fn busy(question: &Question, limited: bool) -> Option<Reply> {
    match question {
        Question::Look => Some(Reply::Look(None)),
        Question::Simulate(id) => Some(Reply::Simulated(id.clone(), Simulated::Error)),
        Question::Send(nonce, hash) => {
            let http_status = Some(if limited { 429 } else { 503 });
            let answer = SendResponse::Error { http_status, code: None, message: "try again later".into() };
            Some(Reply::Sent(*nonce, *hash, answer))
        }
        Question::Receipts(nonce, hashes) => {
            let answers = hashes.iter().map(|hash| (*hash, ReceiptAnswer::Error)).collect();
            Some(Reply::Receipts(*nonce, answers))
        }
        Question::CheckBlock(_) => None,
        Question::Identify(nonce) => Some(Reply::Identified(*nonce, None)),
    }
}
