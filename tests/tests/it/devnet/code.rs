//! Services and authorizers by their code, and our service natively.

use devnet::{Config, authorizer::Authorizer, chain::Tree, execution::Services};
use harness::devnet::Network;

/// Gas of all refinements and accumulations of our service on the best chain, and that of its authorizations.
fn gas(tree: &Tree) -> (u64, u64, u64) {
    let mut sum = (0, 0, 0);
    for node in tree.up(tree.best().hash) {
        for record in node.state.statistics.services.values() {
            sum.0 += record.refine_gas;
            sum.1 += record.accumulate_gas;
        }
        sum.2 += node
            .block
            .extrinsic
            .guarantees
            .iter()
            .map(|guarantee| guarantee.report.auth_gas_used)
            .sum::<u64>();
    }
    sum
}

async fn goes_its_way(services: Services, authorizer: Authorizer) -> (u64, u64, u64) {
    let network = Network::with(|config| Config { slot_ms: 2000, services, authorizer, ..config }).await;
    let mut network = network.unwrap();
    let number = network.seal(1000);
    let accumulated = |builder: &harness::devnet::Builder| !builder.way(number).accumulated.is_empty();
    network.builder.run_until("the block is accumulated", accumulated).await;
    let used = network.devnet.with_tree(0, gas).unwrap();
    network.heals().await;
    used
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_its_way_by_code_with_its_gas_in_the_statistics() {
    let (refine, accumulate, authorize) = goes_its_way(Services::Code, Authorizer::Builder).await;
    assert!(refine > 1_000_000, "{refine}: a signature and a recovery alone take more");
    assert!((1_000..100_000).contains(&accumulate), "{accumulate}");
    assert!((500_000..5_000_000).contains(&authorize), "{authorize}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_its_way_natively() {
    let (refine, _, authorize) = goes_its_way(Services::Native, Authorizer::Null).await;
    assert!(refine < 1_000_000, "{refine}: natively it is the gas of the EVM");
    assert!(authorize < 1_000, "{authorize}");
}
