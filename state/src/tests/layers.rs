//! Layers: forks, reads through many of them, folding, and freeing.

use super::{random::writes, reference};
use crate::{Blake2b, Hash, Key, Layer, MemoryValues, Tree, Value, Values, Writes};
use alloc::{sync::Arc, vec::Vec};
use proptest::prelude::*;

type TestLayer = Layer<Arc<MemoryValues>>;

fn base(state: &Writes) -> TestLayer {
    let pairs = || state.iter().map(|(key, value)| (*key, *value));
    Layer::new(Arc::new(pairs().collect()), Tree::default().extend(pairs()), 0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_layer_keeps_its_own_state(
        state in writes(0..20),
        steps in prop::collection::vec((any::<prop::sample::Index>(), writes(0..8)), 1..50),
    ) {
        // Each step is a child of any layer so far: chains and siblings in all mixtures.
        let mut layers = alloc::vec![(base(&state), state)];
        for (parent, step) in &steps {
            let (layer, state) = parent.get(&layers);
            let mut state = state.clone();
            state.extend(step);
            let layer = layer.child(step);
            layers.push((layer, state));
        }
        let keys = layers.iter().flat_map(|(_, state)| state.keys().copied()).collect::<Vec<_>>();
        for (layer, state) in &layers {
            prop_assert_eq!(layer.root(), reference::root(state));
            for key in &keys {
                prop_assert_eq!(layer.value(key), Ok(state.get(key).copied()));
            }
        }
    }

    #[test]
    fn folding_into_the_base_changes_no_answer(
        state in writes(0..20), steps in prop::collection::vec(writes(1..6), 1..70), until in any::<prop::sample::Index>(),
    ) {
        let mut layers = alloc::vec![base(&state)];
        for step in &steps {
            layers.push(layers[layers.len() - 1].child(step));
        }
        let top = &layers[steps.len()];
        let until = until.index(steps.len() + 1);
        let mut table = MemoryValues::from_iter(state.iter().map(|(key, value)| (*key, *value)));
        steps[..until].iter().for_each(|step| table.apply(step));
        // The same handle would be seen by all layers if the table were shared; here the layer gets the new one.
        let folded = top.folded(until as u64).on(Arc::new(table));
        prop_assert_eq!((folded.root(), folded.height()), (top.root(), steps.len() as u64));
        for key in steps.iter().flat_map(Writes::keys).chain(state.keys()) {
            prop_assert_eq!(folded.value(key), top.value(key));
        }
    }
}

#[test]
fn states_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<TestLayer>();
    shared::<crate::PartialTree>();
    shared::<crate::Witness>();
}

#[test]
fn dropping_a_layer_frees_what_is_its_alone() {
    let values = Arc::new(MemoryValues::default());
    let parent = Layer::<_, Blake2b>::new(values.clone(), Tree::default(), 0)
        .child(&(0..200).map(|i| (Key::new([i; 32]), Value::ZERO)).collect());
    let crate::tree::Node::Inner(top) = &parent.tree().top.node else { panic!("there are many stems") };
    let counts = |top: &[crate::tree::Link; 2]| {
        top.each_ref().map(|link| match &link.node {
            crate::tree::Node::Inner(node) => Arc::strong_count(node),
            _ => panic!("there are many stems on each side"),
        })
    };
    assert_eq!(counts(top), [1, 1]);
    // The child copies its way to the left and shares the right.
    let child = parent.child(&Writes::from([(Key::new([3; 32]), Value::repeat_byte(1))]));
    assert_eq!(counts(top), [1, 2]);
    assert_eq!(Arc::strong_count(&values), 3);
    drop(child);
    assert_eq!(counts(top), [1, 1]);
    assert_eq!(Arc::strong_count(&values), 2);
}

#[test]
fn a_long_chain_of_layers_and_a_deep_tree_are_freed_on_a_small_stack() {
    // Two stems that differ in their last bit are 248 levels deep; two thousand layers stand on each other.
    let mut deep = [5; 32];
    deep[30] ^= 1;
    let state = Writes::from([(Key::new([5; 32]), Value::ZERO), (Key::new(deep), Value::ZERO)]);
    let mut layer = base(&state);
    for i in 0..2_000_u32 {
        layer = layer.child(&Writes::from([(Key::new(deep), Hash::from(alloy_primitives::U256::from(i)))]));
    }
    let free = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || drop(layer)).unwrap();
    free.join().unwrap();
}
