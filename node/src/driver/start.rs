//! From what is durable to a running driver.

use super::{Broken, Driver, EvmChain, Output, Settings, insight::Watch, reach::Reach, view::View};
use alloy_primitives::map::AddressSet;
use bundler::Bundler;
use jam::{
    SlotClock,
    follow::{Follower, Limits, Start, Update},
};
use queue::{Queue, ServiceTracker};
use service::accumulate::ServiceState;
use std::collections::BTreeMap;
use store::{Store, StoreError};
use txpool::{Lookup, Pool, StateChange, Status};
use types::Time;

/// What a driver starts with, besides the store.
#[derive(Clone, Debug)]
pub struct Started {
    /// What the operator decides.
    pub settings: Settings,
    /// What makes the blocks and packages.
    pub bundler: Bundler,
    /// The slots of the JAM chain.
    pub clock: SlotClock,
    /// How much waits in the pool.
    pub pool: txpool::Config,
    /// How bundles are sent.
    pub queue: queue::Config,
    /// Where the JAM chain begins, for a store that has not followed it yet.
    pub genesis: Start,
    /// The service's state there.
    pub service: ServiceState,
}

/// Why a driver cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What it holds does not fit together.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl Driver {
    /// Goes on from what is durable. Reads the whole state, so `progress` is told how many values there were so far.
    pub fn start(
        started: Started,
        store: &Store,
        now: Time,
        progress: impl FnMut(u64),
    ) -> Result<Self, StartError> {
        let recovered = store.load()?;
        let layers = store.states(progress)?.into_iter().map(|layer| (layer.height(), layer));
        let states = layers.collect::<BTreeMap<_, _>>();
        let reader = store.reader()?;
        let finalized = recovered.finalized;
        let header = reader.header(finalized.number)?;
        let header =
            header.ok_or_else(|| Broken::State(format!("the header of block {finalized} is missing")))?;
        let final_numbers = states.keys().copied().take_while(|number| *number <= finalized.number);
        let final_numbers = final_numbers.collect::<Vec<_>>();
        let mut chain = EvmChain::new(header, states, store.codes());
        recovered.blocks.into_iter().for_each(|block| chain.restore(block));
        let Started { settings, bundler, clock, pool, queue, genesis, service } = started;
        let (start, service) = match recovered.checkpoint {
            Some(checkpoint) => (checkpoint.start, checkpoint.service),
            None => (genesis, service),
        };
        let follower = Follower::new(bundler.params, start, Limits::default());
        let (number, code_hash) = (bundler.config.service, bundler.config.code_hash);
        let mut tracker = ServiceTracker::new(number, code_hash, follower.finalized().hash, service);
        let service = tracker.view(&follower, &Update::default());
        let queue = Queue::restore(queue, clock, finalized, recovered.records, now);
        let queue = queue.map_err(|why| Broken::State(why.to_string()))?;
        if queue.newest() != chain.newest_id() {
            let (queue, chain) = (queue.newest(), chain.newest_id());
            return Err(
                Broken::State(format!("the queue ends at block {queue}, the chain at {chain}")).into()
            );
        }
        // All of the chain is news.
        let update =
            Update { cores: (0..bundler.params.cores).collect(), best_moved: true, ..Update::default() };
        let mut driver = Self {
            pool: Pool::new(pool, txpool::Head { base_fee_wei: 0, gas_limit: 0 }),
            settings,
            bundler,
            clock,
            queue,
            chain,
            open: None,
            follower,
            tracker,
            service,
            update,
            chain_news: 0,
            build_counter: recovered.build,
            accepted: 0,
            is_time_confirmed: true,
            empty_blocks: 0,
            last_seal: now,
            is_paused: false,
            senders: AddressSet::default(),
            view: View::default(),
            watch: Watch::default(),
            reach: Reach::default(),
            output: Output::default(),
            now,
        };
        driver.restore_pool(recovered.transactions)?;
        let blocks = final_numbers.into_iter().map(|number| reader.receipted(number));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        driver.remember(blocks.into_iter().flatten());
        driver.follow_blocks();
        driver.count_empty_blocks();
        driver.view.blocks_changed();
        Ok(driver)
    }

    fn restore_pool(&mut self, transactions: Vec<Lookup>) -> Result<(), Broken> {
        let accepted = transactions.iter().map(|was| (was.tx.clone(), was.added_at)).collect::<Vec<_>>();
        for was in transactions {
            let account = self.chain.account(was.tx.sender())?;
            self.senders.insert(was.tx.sender());
            self.pool.restore(was, account);
        }
        let head = self.pool_head();
        self.pool.update(&StateChange { head, accounts: &[] });
        // What ended by that has to be durable; the rest is no news.
        self.gather_pool();
        self.output.news.events.retain(|event| event.ended().is_some());
        for (tx, at) in accepted {
            let pending = self.pool.get(&tx.hash()).is_some_and(|found| found.status == Status::Pending);
            self.accepted += 1;
            self.output.news.accepted.push((tx, at, pending));
        }
        Ok(())
    }
}
