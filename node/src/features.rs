//! The features for tests that the crates of this program were compiled with.
//!
//! Cargo unifies features over everything that one command builds, so a build of the whole workspace compiles planted
//! bugs and failing disks into `pectin` as well. The product is built alone and has none of them. Each crate says itself
//! what it was compiled with, so this list cannot differ from the code beside it.

/// All of them, as `crate/feature`; empty in a product build.
pub fn test_features() -> impl Iterator<Item = &'static str> {
    let crates = [
        bundler::TEST_FEATURES,
        driver::TEST_FEATURES,
        jam::TEST_FEATURES,
        network::TEST_FEATURES,
        pvm::TEST_FEATURES,
        queue::TEST_FEATURES,
        sender::TEST_FEATURES,
        sender_model::TEST_FEATURES,
        service::TEST_FEATURES,
        store::TEST_FEATURES,
        txpool::TEST_FEATURES,
    ];
    crates.into_iter().flatten().copied()
}
