//! From what is durable to a running driver.

use crate::{
    Blocks, Broken, Driver, Recovered, Settings,
    code::CodeInUse,
    jam_chain::{JamChain, ServiceId},
    outbox::Outbox,
    reach::Reach,
    seal_policy::SealPolicy,
    snapshot::View,
    time::DriverTime,
    watch::Watch,
};
use alloy_primitives::B256;
use jam::{Params, SlotClock, follow::Start};
use queue::{Queue, ServiceCode};
use service::accumulate::ServiceState;
use txpool::{Lookup, Pool, StateChange, Status};
use types::Time;

/// What a driver starts with, besides its blocks and what was durable.
#[derive(Clone, Debug)]
pub struct Started {
    /// What the operator decides.
    pub settings: Settings,
    /// The JAM chain's parameters.
    pub params: Params,
    /// The slots of the JAM chain.
    pub clock: SlotClock,
    /// How much waits in the pool.
    pub pool: txpool::Config,
    /// How bundles are sent.
    pub queue: queue::Config,
    /// Where the JAM chain begins, for a journal without a checkpoint.
    pub genesis: Start,
    /// The service that packages are for,
    pub service_id: u32,
    /// the hash of its code there,
    pub code_hash: B256,
    /// and its state.
    pub service: ServiceState,
}

impl<B: Blocks> Driver<B> {
    /// Goes on from what is durable. `blocks` ends with the last final block; the unfinished ones are restored here.
    pub fn start(
        started: Started,
        recovered: Recovered<B::Sealed>,
        mut blocks: B,
        now: Time,
    ) -> Result<Self, Broken> {
        let Recovered { finalized, build, transactions, blocks: unfinished, records, checkpoint } = recovered;
        unfinished.into_iter().for_each(|block| blocks.restore(block));
        let Started { settings, params, clock, pool, queue, genesis, service_id, code_hash, service } =
            started;
        let (start, service, code) = match checkpoint {
            Some(checkpoint) => (checkpoint.start, checkpoint.service, checkpoint.code),
            None => (genesis, service, ServiceCode::new(code_hash)),
        };
        let is_known = blocks.set_code(code.hash);
        // Which blocks were sealed before the code changed is not known any more; any of them may have been.
        let sealed_before = (code.hash != code_hash).then(|| blocks.newest_id().number);
        let in_use = CodeInUse { hash: code.hash, is_known, sealed_before };
        let id = ServiceId { number: service_id, code };
        let chain = JamChain::new(params, start, id, service);
        let queue = Queue::restore(queue, clock, finalized, records, now);
        let queue = queue.map_err(|why| Broken::State(why.to_string()))?;
        if queue.newest() != blocks.newest_id() {
            let (queue, chain) = (queue.newest(), blocks.newest_id());
            return Err(Broken::State(format!("the queue ends at block {queue}, the chain at {chain}")));
        }
        let mut sealing = SealPolicy::new(&settings, clock.slot_duration(), params.cores, now);
        sealing.restore(&blocks.transaction_counts());
        let mut driver = Self {
            pool: Pool::new(pool, txpool::Head { base_fee_wei: 0, gas_limit: 0 }),
            settings,
            clock,
            time: DriverTime::new(now),
            queue,
            blocks,
            chain,
            code: in_use,
            open: None,
            build_counter: build,
            sealing,
            view: View::default(),
            watch: Watch::default(),
            reach: Reach::default(),
            outbox: Outbox::default(),
            #[cfg(feature = "bugs")]
            mistake: None,
        };
        driver.restore_pool(transactions)?;
        Ok(driver)
    }

    fn restore_pool(&mut self, transactions: Vec<Lookup>) -> Result<(), Broken> {
        let accepted = transactions.iter().map(|was| (was.tx.clone(), was.added_at)).collect::<Vec<_>>();
        for was in transactions {
            let account = self.blocks.account(was.tx.sender())?;
            self.outbox.note_moved([was.tx.sender()]);
            self.pool.restore(was, account);
        }
        let head = self.blocks.head();
        self.pool.update(&StateChange { head, accounts: &[] });
        // What ended by that has to be durable; the rest is no news.
        self.gather_pool();
        self.outbox.forget_all_but_ends();
        for (tx, at) in accepted {
            let pending = self.pool.get(&tx.hash()).is_some_and(|found| found.status == Status::Pending);
            self.outbox.show_accepted(tx, at, pending);
        }
        Ok(())
    }
}
