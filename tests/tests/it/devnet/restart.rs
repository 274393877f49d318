//! Validators keep what they know on disk.

use super::SLOT_MS;
use devnet::{Config, Devnet};
use harness::devnet::{Network, Setup};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_goes_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = Some(directory.path().to_owned());
    let mut network = Network::with(|config| Config { slot_ms: SLOT_MS, data_dir, ..config }).await.unwrap();
    let number = network.seal(1000);
    network.builder.run_until("the block is final", |builder| builder.is_final(number)).await;
    let before =
        network.devnet.with_tree(2, |tree| (tree.finalized().hash, tree.finalized().height)).unwrap();
    network.restart(SLOT_MS, directory.path().to_owned()).await;
    let (contains, height) =
        network.devnet.with_tree(2, |tree| (tree.contains(before.0), tree.finalized().height)).unwrap();
    assert!(contains && height >= before.1, "it begins where it was");
    network.seal(1000);
    network.heals().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_another_chain_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::new();
    let config =
        Config { slot_ms: SLOT_MS, data_dir: Some(directory.path().to_owned()), ..setup.devnet(SLOT_MS) };
    let devnet = Devnet::start(config.clone()).await.unwrap();
    devnet.shutdown().await;
    let head = types::BlockId::new(0, [9; 32].into());
    let error = Devnet::start(Config { head, ..config }).await.unwrap_err().to_string();
    assert!(
        error.contains("belongs to another chain or another version; start with the settings"),
        "{error}"
    );
}
