//! The recorded requests: every file that is not on the list of misses passes.

use harness::openrpc::Schemas;
use tests::rpc_compat::{Report, fixtures, serve};

#[test]
fn recorded_requests_are_answered_as_recorded() {
    let Some(folder) = harness::fixtures::folder("rpc-compat") else { return };
    let schemas = Schemas::read(&folder.join("openrpc.json")).unwrap();
    let fixtures = fixtures(&folder.join("tests")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(serve(&folder)).unwrap();
    let report = Report::of(&format!("http://{}", server.address()), &fixtures, &schemas).unwrap();
    runtime.block_on(server.stop());
    assert!(report.unexpected.is_empty() && report.stale.is_empty(), "{report}");
}
