//! Any operations, with any limits: the pool does what the [model](crate::model) says.

use crate::{
    Config,
    model::{Model, Op, SENDERS, Then, limits},
};
use proptest::prelude::*;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let insert = (
        0..SENDERS,
        0..6_u64,
        1..6_u128,
        0..8_u128,
        prop_oneof![8 => Just(0_usize), 1 => Just(200), 1 => Just(900)],
        prop_oneof![12 => Just(None), 1 => (0..SENDERS).prop_map(Some)],
    )
        .prop_map(|(sender, ahead, tip, fee, data, authority)| Op::Insert {
            sender,
            ahead,
            tip,
            fee: tip + fee,
            data,
            authority,
        });
    let then = prop_oneof![4 => Just(Then::Open), 1 => Just(Then::Invalid), 1 => Just(Then::Nothing)];
    let op = prop_oneof![
        30 => insert,
        1 => any::<usize>().prop_map(Op::InsertKnown),
        8 => (1..4_usize, then).prop_map(|(count, then)| Op::Pull { count, then }),
        1 => Just(Op::Rewind),
        5 => Just(Op::Seal),
        3 => Just(Op::Final),
        2 => (1..4_usize, any::<bool>()).prop_map(|(blocks, accuse)| Op::Release { blocks, accuse }),
        2 => (1..60_u64).prop_map(Op::Pass),
        1 => Just(Op::Cleanup),
        2 => (0..SENDERS, 0..30_u64).prop_map(|(sender, thousandths)| Op::Balance { sender, thousandths }),
        1 => (0..SENDERS, 1..3_u64).prop_map(|(sender, by)| Op::Nonce { sender, by }),
        1 => (0..SENDERS, any::<bool>()).prop_map(|(sender, delegated)| Op::Code { sender, delegated }),
        2 => (1..5_u64).prop_map(Op::BaseFee),
        1 => any::<usize>().prop_map(Op::Remove),
        1 => (0..SENDERS, 0..5_usize).prop_map(|(sender, max)| Op::Limit { sender, max }),
        1 => Just(Op::Restart),
    ];
    prop::collection::vec(op, 1..150)
}

fn configs() -> impl Strategy<Value = Config> {
    let bytes = prop_oneof![Just(1_500_usize), Just(1 << 20)];
    (1..9_usize, 0..6_usize, 1..6_usize, bytes)
        .prop_map(|(pending, queued, per_sender, bytes)| limits(pending, queued, per_sender, bytes))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_does_what_the_plain_list_says(config in configs(), ops in ops()) {
        let mut model = Model::new(config);
        for op in ops {
            model.apply(op);
        }
    }
}
