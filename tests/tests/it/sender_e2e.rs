//! The judge of managed accounts in use, in small. The judge itself runs a thousand requests and twenty-five kills.

use blackbox::sender_e2e::{Options, Target, run};

#[test]
fn a_few_requests_survive_a_few_kills() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = Options {
        target: Target::Pectin,
        requests: 40,
        accounts: 4,
        kills: 2,
        seed: 7,
        is_second_good: false,
    };
    let report = runtime.block_on(run(options)).unwrap();
    assert!(report.is_good(), "{}: {:?}", report.line(), report.wrong);
}
