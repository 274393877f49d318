//! A network in this process with a builder connected to it, as most tests want it.

use super::{Applied, Builder, Setup, applied_runs};
use devnet::{Config, Devnet, validator::StartError};
use std::path::PathBuf;

/// A network and its builder.
pub struct Network {
    /// The EVM chain.
    pub setup: Box<Setup>,
    /// The validators.
    pub devnet: Devnet,
    /// The builder.
    pub builder: Box<Builder>,
    nonce: u64,
    sealed: u64,
}

impl Network {
    /// Starts six validators and waits until packages can be anchored.
    pub async fn start(slot_ms: u64) -> Self {
        Self::with(|config| Config { slot_ms, ..config }).await.expect("six validators can start")
    }

    /// The same with other settings.
    pub async fn with(change: impl FnOnce(Config) -> Config) -> Result<Self, StartError> {
        let mut setup = Box::new(Setup::new());
        let config = change(setup.devnet(6000));
        (setup.authorizer, setup.services) = (config.authorizer, config.services);
        let slot_ms = config.slot_ms;
        let devnet = Devnet::start(config).await?;
        let mut builder = Box::new(Builder::connect(devnet.chain_spec(), slot_ms, &setup));
        // A block of the chain, not its beginning: that is too old to look anything up in.
        let anchored =
            |builder: &Builder| builder.context().is_some() && builder.follower.finalized().slot > 0;
        builder.run_until("packages can be anchored", anchored).await;
        Ok(Self { setup, devnet, builder, nonce: 0, sealed: 0 })
    }

    /// Stops all validators and starts them again with what they kept.
    pub async fn restart(&mut self, slot_ms: u64, data_dir: PathBuf) {
        let config = Config { slot_ms, data_dir: Some(data_dir), ..self.setup.devnet(slot_ms) };
        for index in 0..self.devnet.chain_spec().params.validators {
            self.devnet.stop_validator(index).await;
        }
        self.devnet = Devnet::start(config).await.expect("they start with what they kept");
        self.builder.move_to(self.devnet.chain_spec());
    }

    /// Seals a block of about so many bytes; its number.
    pub fn seal(&mut self, bytes: usize) -> u64 {
        let transactions = self.setup.transactions(self.nonce, bytes);
        self.nonce += transactions.len() as u64;
        self.sealed += 1;
        assert_eq!(self.builder.seal(&transactions).number, self.sealed);
        self.sealed
    }

    /// Sends blocks of so many bytes until one goes straight through: guaranteed in the block after it was sent,
    /// accumulated in the one after that. A machine that is busy with something else may miss a slot, so several are
    /// tried. Whether one did.
    pub async fn straight_through(&mut self, bytes: usize, tries: u64) -> bool {
        for _ in 0..tries {
            let number = self.seal(bytes);
            let accumulated = |builder: &Builder| !builder.way(number).accumulated.is_empty();
            self.builder.run_until("the block is accumulated", accumulated).await;
            let way = self.builder.way(number);
            let follows =
                |sent: &u32| way.reported.contains(&(sent + 1)) && way.accumulated.contains(&(sent + 2));
            let straight = way.sent.iter().any(follows);
            println!("block of {bytes} bytes: {way:?}, straight through: {straight}");
            if straight {
                return true;
            }
        }
        false
    }

    /// Everything is healed: all blocks become final, and every validator has applied each exactly once.
    pub async fn heals(mut self) {
        let (sealed, setup) = (self.sealed, &self.setup);
        self.builder.run_until("all blocks are final", |builder| builder.is_final(sealed)).await;
        let devnet = &self.devnet;
        let all_once = |index: u16| {
            let applied = devnet.with_tree(index, |tree| applied_runs(tree, setup)).expect("it is up");
            assert!(applied.iter().all(|run| run.times == 1), "validator {index}: {applied:?}");
            applied.iter().map(Applied::blocks).sum::<u64>() == sealed
        };
        let count = devnet.chain_spec().params.validators;
        self.builder.run_until("every validator applied all", |_| (0..count).all(all_once)).await;
        self.builder.endpoint.shutdown().await;
        self.devnet.shutdown().await;
    }
}
