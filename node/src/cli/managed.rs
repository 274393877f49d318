//! From settings to a sender that can start.

use super::{Failure, Options, account, file, prompt};
use ::sender::{
    http::{Client, Network, Rules},
    keys::{Cost, KeyFiles, Keystores, LocalKeys},
    signer::Keys,
};
use alloy_primitives::B256;
use runtime::{
    data,
    managed::{SenderConfig, StoreLocation},
};
use sender_model::{Config, OnForeign};
use std::{path::Path, sync::Arc};

/// What the settings say about managed accounts; none if there are to be none.
pub(super) fn sender(
    options: &Options,
    data_dir: Option<&Path>,
    dev_keys: &[B256],
    is_dev: bool,
) -> Result<Option<SenderConfig>, Failure> {
    if options.sender == Some(false) {
        return Ok(None);
    }
    let stored = keystores(options, data_dir)?;
    let web3signer = web3signer(options)?;
    let chains = chains(options.sender_chains.as_deref().unwrap_or_default())?;
    // Pages of any origin may ask a development network, so it signs for everybody only with keys that everybody knows.
    let open = is_dev && stored.is_none() && web3signer.is_none();
    let made = made_in_dev(data_dir.filter(|_| is_dev))?;
    // New keys are kept where there is a directory for them, and are gone with the process otherwise.
    let known: Arc<dyn Keys> = Arc::new(LocalKeys::new(dev_keys.iter().copied(), is_dev && made.is_none()));
    Ok(Some(SenderConfig {
        store: store(options, data_dir),
        keys: stored.into_iter().chain([known]).chain(made).collect(),
        web3signer,
        chains,
        advertise: advertised(options)?,
        chain_settings: options.sender_chain.clone().unwrap_or_default().0,
        model: model(options),
        open,
        webhooks: webhooks(options)?,
    }))
}

fn store(options: &Options, data_dir: Option<&Path>) -> StoreLocation {
    let namespace = options.sender_namespace.clone().unwrap_or_else(|| "pectin".to_owned());
    match &options.sender_store {
        Some(url) if url.starts_with("redis://") || url.starts_with("rediss://") => {
            StoreLocation::Redis(url.clone(), namespace)
        }
        Some(path) => StoreLocation::File(path.into()),
        None => data_dir
            .map_or(StoreLocation::Memory, |directory| StoreLocation::File(directory.join(data::SENDER))),
    }
}

/// The keystores, if there are some, or a password for those to come.
fn keystores(options: &Options, data_dir: Option<&Path>) -> Result<Option<Arc<dyn Keys>>, Failure> {
    let in_data = data_dir.map(|directory| directory.join("keystore"));
    let Some(directory) = options.sender_keystore.clone().or(in_data) else { return Ok(None) };
    let stored = Keystores::list(&directory).map_err(account::failure)?.len();
    let file = options.sender_password_file.as_deref();
    if stored == 0 && file.is_none() {
        return Ok(None);
    }
    let password = prompt::password(file, "the password of the keystores (--sender-password-file)", false)?;
    tracing::info!(keystores = stored, "Sender: opening keystores, about a second each");
    let opened = Keystores::open(&directory, password, Cost::default()).map_err(account::failure)?;
    Ok(Some(Arc::new(opened)))
}

/// The keys that a development network made at the word of its users. Without a directory it keeps none.
fn made_in_dev(data_dir: Option<&Path>) -> Result<Option<Arc<dyn Keys>>, Failure> {
    let Some(data_dir) = data_dir else { return Ok(None) };
    let made = KeyFiles::open(&data_dir.join(data::DEV_KEYS)).map_err(account::failure)?;
    Ok(Some(Arc::new(made)))
}

/// Webhooks go to public addresses, and where the operator allows them to.
fn webhooks(options: &Options) -> Result<Client, Failure> {
    let allowed = options.sender_webhook_allow.as_deref().unwrap_or_default().split(',');
    let allowed = allowed.map(str::trim).filter(|network| !network.is_empty());
    let networks: Result<Vec<Network>, _> = allowed.map(str::parse).collect();
    let networks = networks.map_err(|why| Failure::Usage(format!("--sender-webhook-allow: {why}")))?;
    Ok(Client::new(trusting(Rules::public().allowing(networks), options)?))
}

fn web3signer(options: &Options) -> Result<Option<(String, Client)>, Failure> {
    let url = options.sender_web3signer.clone().filter(|url| !url.is_empty());
    url.map(|url| Ok((url, Client::new(trusting(Rules::anywhere(), options)?)))).transpose()
}

/// The operator's own certificates are believed too.
fn trusting(rules: Rules, options: &Options) -> Result<Rules, Failure> {
    let Some(path) = &options.sender_ca_file else { return Ok(rules) };
    let pem = file::read(path, "the certificates")?;
    rules.trusting_pem(pem.as_bytes()).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))
}

fn model(options: &Options) -> Config {
    let base = Config::default();
    let hours = |hours: u64| hours.saturating_mul(3_600_000);
    Config {
        pool_slots: options.sender_pool_slots.unwrap_or(base.pool_slots).max(1),
        in_flight_max: options.sender_in_flight_max.unwrap_or(base.in_flight_max).max(1),
        fee_cap: options.sender_fee_cap.map_or(base.fee_cap, u128::from),
        stall_ms: options.sender_stall_ms.unwrap_or(base.stall_ms),
        replacement_interval_ms: options.sender_replacement_ms.unwrap_or(base.replacement_interval_ms),
        bump_percent: options.sender_bump_percent.unwrap_or(base.bump_percent).max(10),
        bumps_max: options.sender_bumps_max.unwrap_or(base.bumps_max),
        free_max: options.sender_free_max.unwrap_or(base.free_max),
        on_foreign: options.sender_on_foreign.map_or(base.on_foreign, OnForeign::from),
        gap_grace_ms: options.sender_gap_grace_ms.unwrap_or(base.gap_grace_ms),
        cancel_after_ms: options.sender_cancel_after_ms.filter(|ms| *ms > 0),
        retention_ms: options.sender_retention_hours.map_or(base.retention_ms, hours),
        name_retention_ms: options
            .sender_idempotency_days
            .map_or(base.name_retention_ms, |days| hours(days.saturating_mul(24))),
        ..base
    }
}

/// Where other processes reach this one.
fn advertised(options: &Options) -> Result<Option<String>, Failure> {
    let Some(url) = options.sender_advertise.clone().filter(|url| !url.is_empty()) else { return Ok(None) };
    let authority = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    match authority.map(|authority| authority.trim_end_matches('/')) {
        // Others read it, and it is shown: no password, no path.
        Some(host) if !host.is_empty() && !host.contains(['@', '/', '?', ' ']) => Ok(Some(url)),
        _ => Err(Failure::Usage("--sender-advertise is written as http://HOST:PORT".to_owned())),
    }
}

/// Reads `ID=URL|URL,ID=URL`. URLs may hold keys, so errors do not repeat them.
fn chains(text: &str) -> Result<Vec<(u64, Vec<String>)>, Failure> {
    let wrong = || Failure::Usage("--sender-chains is written as ID=URL|URL,ID=URL".to_owned());
    let chain = |part: &str| {
        let (id, urls) = part.split_once('=').ok_or_else(wrong)?;
        let id = id.trim().parse().map_err(|_| wrong())?;
        let urls: Vec<String> = urls.split('|').map(|url| url.trim().to_owned()).collect();
        let plain = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if urls.iter().all(plain) { Ok((id, urls)) } else { Err(wrong()) }
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(chain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::sender::keys::KeyRing;

    #[test]
    fn a_development_network_signs_for_everybody_only_with_keys_that_everybody_knows() {
        let open = |options: Options, is_dev| {
            sender(&options, None, &[B256::with_last_byte(1)], is_dev).unwrap().unwrap().open
        };
        assert!(open(Options::default(), true));
        assert!(!open(Options::default(), false));
        let chains = Some("1=https://a.example".to_owned());
        assert!(open(Options { sender_chains: chains, ..Options::default() }, true), "with the same keys");
        let url = Some("http://127.0.0.1:9000".to_owned());
        assert!(!open(Options { sender_web3signer: url, ..Options::default() }, true));
        let directory = tempfile::tempdir().unwrap();
        let password = directory.path().join("password");
        std::fs::write(&password, "canary").unwrap();
        let stored = Options {
            sender_keystore: Some(directory.path().join("keystore")),
            sender_password_file: Some(password),
            ..Options::default()
        };
        assert!(!open(stored, true));
    }

    #[tokio::test]
    async fn a_development_network_keeps_the_keys_it_makes_where_it_keeps_its_data() {
        let directory = tempfile::tempdir().unwrap();
        let known = B256::with_last_byte(1);
        let keys = |data_dir: Option<&Path>, is_dev| {
            KeyRing(sender(&Options::default(), data_dir, &[known], is_dev).unwrap().unwrap().keys)
        };
        let made = keys(Some(directory.path()), true).create().await.unwrap();
        let again = keys(Some(directory.path()), true);
        assert!(again.signer(made).is_some(), "after a restart");
        assert_eq!((again.addresses().len(), again.addresses()[1]), (2, made));
        assert!(sender(&Options::default(), Some(directory.path()), &[known], true).unwrap().unwrap().open);
        // Without a directory they are kept nowhere, and a node that is no development network makes none.
        let made = keys(None, true).create().await.unwrap();
        assert!(keys(None, true).signer(made).is_none());
        let elsewhere = tempfile::tempdir().unwrap();
        assert!(keys(Some(elsewhere.path()), false).create().await.is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn chains_are_read() {
        let read = chains("1=https://a.example/k|http://b.example, 10=https://c.example").unwrap();
        let urls = |list: &[&str]| list.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            read,
            [(1, urls(&["https://a.example/k", "http://b.example"])), (10, urls(&["https://c.example"]))]
        );
        assert_eq!(chains("").unwrap(), []);
        for wrong in ["1", "x=https://a", "1=ftp://secret", "1=https://a|"] {
            let error = chains(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
