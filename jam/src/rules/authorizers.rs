//! The authorizers of cores: what a package used goes out of the pool, and the queue gives the next one (α, φ).

use crate::{
    Guarantee, Params,
    state::{AuthPools, AuthQueues},
};

/// Moves the pools on by a block: α becomes α'. `queues` are those after the block's accumulation (φ').
pub fn apply(
    params: &Params,
    pools: &mut AuthPools,
    queues: &AuthQueues,
    guarantees: &[Guarantee],
    slot: u32,
) {
    let turn = slot as usize % usize::from(params.auth_queue_len).max(1);
    let used = |core: usize| {
        let mut reports = guarantees.iter().map(|guarantee| &guarantee.report);
        reports.find(|report| usize::from(report.core) == core).map(|report| report.authorizer)
    };
    for (core, (pool, queue)) in pools.cores.iter_mut().zip(&queues.cores).enumerate() {
        let place = used(core).and_then(|used| pool.authorizers.iter().position(|known| *known == used));
        if let Some(place) = place {
            pool.authorizers.remove(place);
        }
        pool.authorizers.extend(queue.authorizers.get(turn));
        let surplus = pool.authorizers.len().saturating_sub(usize::from(params.auth_pool_max));
        pool.authorizers.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Hash,
        sample::{Sample, Source},
        state::{AuthPool, AuthQueue},
    };

    #[test]
    fn what_was_used_goes_and_the_queue_gives_the_next() {
        let params = Params::TINY;
        let authorizers =
            |from: u8, count: u8| (from..from + count).map(Hash::repeat_byte).collect::<Vec<_>>();
        let mut pools = AuthPools {
            cores: vec![
                AuthPool { authorizers: authorizers(1, 3) },
                AuthPool { authorizers: authorizers(1, 8) },
            ],
        };
        let queues = AuthQueues { cores: vec![AuthQueue { authorizers: authorizers(100, 80) }; 2] };
        let mut guarantee = Guarantee::sample(&mut Source::new(&params, 1));
        guarantee.report.core = 0;
        guarantee.report.authorizer = Hash::repeat_byte(2);
        apply(&params, &mut pools, &queues, &[guarantee], 81);
        let bytes =
            |core: usize| pools.cores[core].authorizers.iter().map(|hash| hash[0]).collect::<Vec<_>>();
        assert_eq!(bytes(0), [1, 3, 101]);
        assert_eq!(bytes(1), [2, 3, 4, 5, 6, 7, 8, 101], "the oldest makes room");
    }
}
