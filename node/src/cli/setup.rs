//! From settings to a node that can start.

use super::{
    Failure, Options, Policy, chain_spec::write_secret, check, managed, refining::ServiceProgram, stop::Stop,
};
use crate::{
    cli::{BUILD, VERSION},
    logging,
};
use alloy_primitives::{B256, hex};
use bundler::{Authorizer, Bundler, Token};
use devnet::{
    Devnet,
    authorizer::Authorizer as Kind,
    execution::Services,
    genesis::{authorizer_of, service_of},
};
use driver::{EvmBuilder, Pace, Settings, Started};
use jam::{ChainSpec, Ed25519Secret, follow::Start, spec::Bootnode};
use queue::Size;
use runtime::{
    DevMethods, Ended, Node, NodeError, RpcConfig, data,
    managed::{SenderConfig, SenderError},
};
use service::genesis::Genesis;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{Store, StoreError};
use types::Duration;

/// The port that Ethereum tools try first.
pub(super) const HTTP_PORT: u16 = 8545;
/// How long a slot lasts on a real network.
pub(super) const SLOT_MS: u64 = 6000;
/// Memory for pages of a data file that is not kept.
const SCRATCH_CACHE_BYTES: usize = 16 << 20;
/// A shorter token could be guessed.
const TOKEN_CHARS_MIN: usize = 16;
/// Milliseconds between two blocks, and in `pectin dev`: there a block comes with each transaction.
pub(super) const BLOCK_MS: u64 = 150;
const DEV_BLOCK_MS: u64 = 0;
/// Milliseconds after its first transaction that a block is sealed, by the queue specification.
const SEAL_AFTER_MS: u64 = 500;
/// What may wait to be submitted: an hour without validators at 100 transfers per second takes 580 MB, and from half on sealing
/// slows down.
const UNSENT_MB_MAX: u64 = 1_500;
const UNSENT_GAS_MAX: u64 = 60_000_000_000;
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What is built, and for whom.
pub(super) struct Setup {
    pub(super) spec: ChainSpec,
    pub(super) genesis: Genesis,
    pub(super) secret: Ed25519Secret,
    pub(super) slot_ms: u64,
    pub(super) options: Options,
    pub(super) data_dir: Option<PathBuf>,
    /// Where blocks are if there is no such directory; nothing of it is kept.
    pub(super) scratch: Option<PathBuf>,
    /// Whether this is a network for development, where limits are wide and pages may read.
    pub(super) is_dev: bool,
    /// Methods that only such a network has.
    pub(super) dev: Option<DevMethods>,
    /// The validators, if they run here.
    pub(super) devnet: Option<Arc<Devnet>>,
    /// Keys that everybody knows, of accounts that the sender runs too.
    pub(super) dev_keys: Vec<B256>,
    /// The operator's token, if it stands in no file.
    pub(super) token: Option<String>,
}

impl Setup {
    pub(super) fn start_logging(options: &Options) -> Result<(), Failure> {
        logging::start(options.log_format.unwrap_or_default(), options.log.as_deref()).map_err(Failure::Usage)
    }

    /// A builder for a network that runs elsewhere.
    pub(super) fn new(
        spec: ChainSpec,
        genesis: Genesis,
        secret: Ed25519Secret,
        slot_ms: u64,
        options: Options,
    ) -> Self {
        let data_dir = Some(check::data_dir(&options));
        Self {
            spec,
            genesis,
            secret,
            slot_ms,
            options,
            data_dir,
            scratch: None,
            is_dev: false,
            dev: None,
            devnet: None,
            dev_keys: vec![],
            token: None,
        }
    }

    /// The service that blocks are for and how it begins; or why specification, first block and key do not belong together.
    pub(super) fn service(&self) -> Result<(service::Config, service::accumulate::ServiceState), Failure> {
        let (service, state) = service_of(&self.spec).map_err(Failure::usage)?;
        let genesis = self.genesis.id();
        if state.head() != genesis {
            let head = state.head();
            return Err(Failure::Usage(format!(
                "the chain specification begins with the EVM block {head}, the genesis is {genesis}"
            )));
        }
        if self.secret.public() != service.builder {
            return Err(Failure::Usage(format!(
                "the service takes blocks of the builder {}, the key given is that of {}",
                service.builder,
                self.secret.public()
            )));
        }
        if let Some(expected) = self.options.service_id.filter(|expected| *expected != service.service) {
            let found = service.service;
            return Err(Failure::Usage(format!(
                "the chain specification has the service {found}, not {expected}"
            )));
        }
        // With longer slots every block would be dated too late for its package.
        if self.slot_ms > service.slot_ms {
            return Err(Failure::Usage(format!(
                "slots last {} ms here, and the service was made for {} ms: make the chain specification with --slot-ms {}",
                self.slot_ms, service.slot_ms, self.slot_ms
            )));
        }
        Ok((service, state))
    }

    /// Opens the store and starts the node.
    pub(super) async fn start(mut self) -> Result<Node, Failure> {
        // All that can be wrong with settings is found before anything is made or opened.
        check::options(&self.options, &self.spec.params, self.slot_ms)?;
        let (service, state) = self.service()?;
        let store = self.open_store(service.service)?;
        let config = runtime::Config { dev: self.dev.take(), ..self.config(service, state)? };
        Box::pin(Node::start(config, store)).await.map_err(|why| failure(&why))
    }

    fn open_store(&self, service: u32) -> Result<Store, Failure> {
        let chain = store::ChainIdentity {
            genesis: self.genesis.id().hash,
            service,
            builder: self.secret.public(),
            jam_genesis: self.spec.genesis_hash(),
        };
        let mut options = store::Options::new(chain, self.spec.params);
        options.window_blocks = self.options.proof_window.unwrap_or(options.window_blocks);
        options.history_blocks = self.options.history;
        options.cache_bytes = self.options.cache_bytes.unwrap_or(options.cache_bytes);
        let opened = match (&self.data_dir, &self.scratch) {
            (None, None) => Store::in_memory(options, &self.genesis),
            (None, Some(directory)) => {
                // The system caches it too, and nothing waits for the disk.
                options.cache_bytes = self.options.cache_bytes.unwrap_or(SCRATCH_CACHE_BYTES);
                Store::scratch(directory.join(data::STORE), options, &self.genesis)
            }
            (Some(directory), _) => {
                std::fs::create_dir_all(directory)
                    .map_err(|why| Failure::Data(format!("{}: {why}", directory.display())))?;
                Store::open(directory.join(data::STORE), options, &self.genesis)
            }
        };
        let opened = opened.map_err(|why: StoreError| Failure::Data(why.to_string()))?;
        // Only now: what is in the directory of another chain stays as it is.
        if let Some(directory) = &self.data_dir {
            let path = directory.join(data::SPEC);
            data::write_whole(&path, self.spec.to_json().as_bytes())
                .map_err(|why| Failure::Data(format!("{}: {why}", path.display())))?;
        }
        Ok(opened)
    }

    fn config(
        &self,
        service: service::Config,
        state: service::accumulate::ServiceState,
    ) -> Result<runtime::Config, Failure> {
        let (options, spec) = (&self.options, &self.spec);
        let clock = devnet::validator::clock(self.slot_ms);
        let genesis = Start::from_state(&spec.params, spec.genesis_hash(), &spec.genesis_state);
        let genesis = genesis.map_err(|why| Failure::Usage(format!("the chain specification: {why}")))?;
        let driver = Started {
            settings: self.settings(),
            params: spec.params,
            clock,
            pool: self.pool(&service),
            queue: self.queue()?,
            genesis,
            service_id: service.service,
            code_hash: service.code_hash,
            service: state,
        };
        let peers = self.peers()?;
        let p2p_addr = options.p2p_addr.unwrap_or(LOCALHOST);
        let http =
            SocketAddr::new(options.http_addr.unwrap_or(LOCALHOST), options.http_port.unwrap_or(HTTP_PORT));
        Ok(runtime::Config {
            driver,
            builder: self.builder(service)?,
            genesis: self.genesis.id(),
            jam_genesis: spec.genesis_hash(),
            network_key: self.secret.clone(),
            p2p: SocketAddr::new(p2p_addr, options.p2p_port.unwrap_or(0)),
            p2p_incoming_max: options.p2p_incoming_max,
            peers,
            http,
            rpc: self.rpc()?,
            version: format!("pectin/{VERSION}"),
            build: BUILD,
            wording: options.log_format.unwrap_or_default().wording(),
            spec: spec.to_json(),
            dev: None,
            devnet: self.devnet.clone(),
            sender: self.sender()?,
        })
    }

    /// The validators of the chain specification, and those that were named besides.
    fn peers(&self) -> Result<Vec<Bootnode>, Failure> {
        Ok(self.spec.bootnodes.iter().copied().chain(named_peers(&self.options)?).collect())
    }

    fn sender(&self) -> Result<Option<SenderConfig>, Failure> {
        managed::sender(&self.options, self.data_dir.as_deref(), &self.dev_keys, self.is_dev)
    }

    fn settings(&self) -> Settings {
        let options = &self.options;
        let mut settings = Settings::default();
        let usual_ms = if self.is_dev { DEV_BLOCK_MS } else { BLOCK_MS };
        let ms = |given: Option<u64>, usual: u64| Duration::from_millis(given.unwrap_or(usual));
        settings.pace = match options.queue_policy.unwrap_or_default() {
            Policy::Pectin => Pace::Every(ms(options.block_ms, usual_ms)),
            Policy::Spec => Pace::BySpecification(ms(options.seal_after_ms, SEAL_AFTER_MS)),
        };
        settings.empty_blocks = options.empty_blocks.unwrap_or(settings.empty_blocks);
        settings.dry_run = options.dry_run.unwrap_or(false);
        settings
    }

    fn builder(&self, service: service::Config) -> Result<EvmBuilder, Failure> {
        let mut builder = EvmBuilder::new(self.bundler(service), self.secret.clone());
        builder.beneficiary = self.options.fee_recipient.unwrap_or_default();
        // What is folded leaves memory before: see `store::Options::window_blocks`.
        builder.states_kept = u64::MAX;
        for path in listed(self.options.service_codes.as_deref()) {
            let (config, _) = super::service::read(Path::new(path), service.service)?;
            if (config.chain_id, config.genesis) != (service.chain_id, service.genesis) {
                let chain = service.chain_id;
                return Err(Failure::Usage(format!("--service-codes: {path} is not for chain id {chain}")));
            }
            builder.configs.insert(config.code_hash, config);
        }
        for path in listed(self.options.builder_keys.as_deref()) {
            builder.other_secrets.push(read_key(Path::new(path))?);
        }
        if self.runs_code() {
            let machines = self.devnet.as_ref().map(|devnet| devnet.machines());
            builder.program = Some(Arc::new(ServiceProgram::start(service, machines)));
        }
        Ok(builder)
    }

    /// Whether validators run the service's program, so that its gas bounds packages. Only of an own network it is known that they do not.
    fn runs_code(&self) -> bool {
        self.devnet.as_ref().is_none_or(|devnet| devnet.services() == Services::Code)
    }

    fn queue(&self) -> Result<queue::Config, Failure> {
        let mut config = queue(&self.options, &self.spec.params, self.slot_ms)?;
        if !self.runs_code() {
            config.run_max.refine_gas = u64::MAX;
        }
        Ok(config)
    }

    fn bundler(&self, service: service::Config) -> Bundler {
        let options = &self.options;
        let mut bundler = bundler_of(service, &self.spec, Some(&self.secret));
        let authorizer = &mut bundler.authorizer;
        authorizer.host = options.authorizer_host.unwrap_or(authorizer.host);
        authorizer.code_hash = options.authorizer_code_hash.unwrap_or(authorizer.code_hash);
        if let Some(config) = &options.authorizer_config {
            authorizer.config = config.clone();
        }
        if let Some(token) = &options.authorizer_token {
            authorizer.token = Token::Fixed(token.clone());
        }
        let runs_code = self.runs_code();
        let limits = &mut bundler.limits;
        if !runs_code {
            limits.refine_gas_max = u64::MAX;
        }
        limits.gas_max = self.options.gas_limit.unwrap_or(limits.gas_max).min(limits.gas_max);
        limits.transactions_max =
            self.options.block_txs_max.unwrap_or(limits.transactions_max).clamp(1, limits.transactions_max);
        bundler
    }

    fn pool(&self, service: &service::Config) -> txpool::Config {
        let options = &self.options;
        let base = if self.is_dev { txpool::Config::dev() } else { txpool::Config::default() };
        txpool::Config {
            chain_id: service.chain_id,
            pending_max: options.pool_pending_max.unwrap_or(base.pending_max),
            queued_max: options.pool_queued_max.unwrap_or(base.queued_max),
            sender_txs_max: options.pool_sender_max.unwrap_or(base.sender_txs_max),
            ttl: options.pool_ttl_secs.map_or(base.ttl, Duration::from_secs),
            gas_price_min_wei: options.min_gas_price.map_or(base.gas_price_min_wei, u128::from),
            tx_bytes_max: options.tx_bytes_max.unwrap_or(base.tx_bytes_max),
            pool_bytes_max: options.pool_bytes_max.unwrap_or(base.pool_bytes_max),
            nonce_gap_max: options.pool_nonce_gap_max.unwrap_or(base.nonce_gap_max),
            price_bump_percent: options.pool_price_bump.unwrap_or(base.price_bump_percent),
            ..base
        }
    }

    fn rpc(&self) -> Result<RpcConfig, Failure> {
        let options = &self.options;
        let list = |text: &Option<String>| -> std::collections::BTreeSet<String> {
            let parts = text.iter().flat_map(|text| text.split(','));
            parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        };
        let mut config = RpcConfig { hosts: list(&options.http_hosts), ..RpcConfig::default() };
        config.origins = match (&options.cors_origins, self.is_dev) {
            (None, true) => ["*".to_owned()].into(),
            (given, _) => list(given),
        };
        config.token = Some(self.token()?);
        config.limits.refine_gas_max = bundler::Limits::refine_gas_max(&self.spec.params);
        config.limits.call_gas_max = options.call_gas_max.unwrap_or(config.limits.call_gas_max);
        config.limits.call_timeout =
            options.call_ms_max.map_or(config.limits.call_timeout, Duration::from_millis);
        let limits = &mut config.limits;
        let set = |limit: &mut usize, given: Option<usize>| *limit = given.unwrap_or(*limit).max(1);
        set(&mut limits.body_bytes_max, options.http_body_bytes_max);
        set(&mut limits.batch_calls_max, options.http_batch_max);
        set(&mut limits.response_bytes_max, options.http_response_bytes_max);
        set(&mut limits.connections_max, options.http_connections_max);
        set(&mut limits.subscriptions_max, options.http_subscriptions_max);
        set(&mut limits.logs_max, options.logs_max);
        limits.log_blocks_max = options.log_blocks_max.unwrap_or(limits.log_blocks_max).max(1);
        if let Some(rate) = options.rate_limit {
            let rate = (rate > 0)
                .then_some(rpc::Rate { calls_per_second: rate, burst_calls: rate.saturating_mul(2) });
            config.limits.rate = rate;
            config.limits.rate_on_loopback = true;
        }
        Ok(config)
    }

    /// The operator's token: from its file, or a fresh one that is written there.
    fn token(&self) -> Result<String, Failure> {
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        let path = token_path(&self.options, self.data_dir.as_deref());
        let Some(path) = path else { return fresh_token() };
        if path.exists() {
            return read_token(&path);
        }
        let token = fresh_token()?;
        write_secret(&path, &token).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
        Ok(token)
    }
}

/// The names in a list.
fn listed(names: Option<&str>) -> impl Iterator<Item = &str> {
    names.into_iter().flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty())
}

/// Validators that were named besides those of the chain specification.
pub(super) fn named_peers(options: &Options) -> Result<Vec<Bootnode>, Failure> {
    let named = options.peers.iter().flat_map(|peers| peers.split(',')).map(str::trim);
    let named = named.filter(|peer| !peer.is_empty());
    named.map(|peer| peer.parse().map_err(|why| Failure::Usage(format!("--peers: {why}")))).collect()
}

/// What the settings say about the queue.
pub(super) fn queue(options: &Options, params: &jam::Params, slot_ms: u64) -> Result<queue::Config, Failure> {
    let mut config = queue::Config::new(params, slot_ms);
    if options.queue_policy.unwrap_or_default() == Policy::Spec {
        config = config.by_specification();
    }
    config.max_depth = options.queue_depth_max.map(|max| max.max(1)).or(config.max_depth);
    let megabytes = |given: Option<u64>, usual: u64| given.unwrap_or(usual).saturating_mul(1_000_000).max(1);
    // Gas is not what an outage runs out of; but what is unsent must be sent some day.
    config.unsent_max =
        Size { bytes: megabytes(options.unsent_mb_max, UNSENT_MB_MAX), gas: UNSENT_GAS_MAX, ..Size::MAX };
    config.unfinished_max = Size { bytes: config.unsent_max.bytes.saturating_mul(4), ..Size::MAX };
    // Blocks that share what they touch take less together: more are tried than fit one by one.
    let bytes = (bundler::BUNDLE_BYTES_MAX as u64) * 2;
    let refine_gas = params.refine_gas_max * 2;
    config.run_max = Size { bytes, gas: bundler::RUN_GAS_MAX, refine_gas, ..Size::MAX };
    config.max_inflight = options.inflight_max.unwrap_or(config.max_inflight).max(1);
    config.max_retries = options.retries_max.unwrap_or(config.max_retries).max(1);
    let ms = |given: Option<u64>, usual| given.map_or(usual, Duration::from_millis);
    config.guarantee_timeout = ms(options.guarantee_timeout_ms, config.guarantee_timeout);
    config.window_opens_before = ms(options.window_opens_ms, config.window_opens_before);
    config.window_closes_before = ms(options.window_closes_ms, config.window_closes_before);
    let slot = Duration::from_millis(slot_ms);
    if config.window_opens_before <= config.window_closes_before || config.window_opens_before > slot {
        return Err(Failure::usage("--window-opens-ms must be above --window-closes-ms, and at most a slot"));
    }
    Ok(config)
}

/// What makes the packages of a service, with the authorizer that the chain specification has for its builder. Without the builder's key
/// packages that it signs lack their signature.
pub(super) fn bundler_of(
    service: service::Config,
    spec: &ChainSpec,
    secret: Option<&Ed25519Secret>,
) -> Bundler {
    let kind = authorizer_of(spec, &service).unwrap_or_default();
    let token = match (kind, secret) {
        (Kind::Builder, Some(secret)) => Token::Signature(Box::new(secret.clone())),
        (Kind::Builder, None) => Token::Unsigned,
        (Kind::Null, _) => Token::Fixed(Default::default()),
    };
    let authorizer = Authorizer {
        host: service.service,
        code_hash: kind.code_hash(),
        config: kind.config(&service.builder),
        token,
    };
    Bundler::new(service, spec.params, authorizer)
}

/// Where the operator's token stands, if it stands in a file.
pub(super) fn token_path(options: &Options, data_dir: Option<&Path>) -> Option<PathBuf> {
    options.token_file.clone().or_else(|| Some(data_dir?.join(data::TOKEN)))
}

/// Reads the operator's token from its file.
pub(super) fn read_token(path: &Path) -> Result<String, Failure> {
    let text = super::file::read(path, "the operator's token")?;
    match text.trim() {
        token if token.len() >= TOKEN_CHARS_MIN => Ok(token.to_owned()),
        _ => Err(Failure::Usage(format!(
            "{}: a token has at least {TOKEN_CHARS_MIN} characters",
            path.display()
        ))),
    }
}

pub(super) fn fresh_token() -> Result<String, Failure> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(Failure::runtime)?;
    Ok(hex::encode(bytes))
}

/// Reads an Ed25519 seed.
pub(super) fn read_key(path: &Path) -> Result<Ed25519Secret, Failure> {
    let text = super::file::read(path, "the builder's key")?;
    let seed = hex::decode_to_array::<_, 32>(text.trim());
    let wrong = |_| Failure::Usage(format!("{}: not a key of 64 hexadecimal digits", path.display()));
    seed.map(|seed| Ed25519Secret::from_seed(&seed)).map_err(wrong)
}

fn failure(why: &NodeError) -> Failure {
    match why {
        NodeError::Http { .. } | NodeError::P2p { .. } => Failure::Port(why.to_string()),
        NodeError::Start(_) => Failure::Data(why.to_string()),
        NodeError::Thread(_) => Failure::Runtime(why.to_string()),
        NodeError::Sender(SenderError::Store(_)) => Failure::Data(why.to_string()),
        NodeError::Sender(_) => Failure::Usage(why.to_string()),
    }
}

/// The runtime that everything but the driver and the journal runs in.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::runtime)
}

/// Waits for the signal to stop, or for the node to end by itself; then stops it and says what is left.
pub(super) async fn run_until_stopped(mut node: Node, stop: &mut Stop) -> Result<(), Failure> {
    let ended = tokio::select! {
        ended = node.ended() => Some(ended),
        () = stop.asked() => None,
    };
    let left = node.shutdown().await;
    match ended {
        Some(ended @ (Ended::Broken(_) | Ended::Store(_))) => return Err(Failure::Data(ended.to_string())),
        Some(ended @ Ended::Thread(_)) => return Err(Failure::runtime(ended)),
        None => {}
    }
    match left {
        Some(left) => {
            let runtime::Left { pooled, unfinished, queued } = left;
            tracing::info!(
                "stopped; the journal is finished: {pooled} transactions in the pool, {unfinished} blocks not final, \
                 {queued} of them to be submitted"
            );
            Ok(())
        }
        None => Err(Failure::runtime(
            "the journal could not be finished in time; nothing that was acknowledged is lost",
        )),
    }
}
