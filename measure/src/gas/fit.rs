//! From measured blocks to weights.
//!
//! Weights w ≥ 0 such that for each block the sum of counts times weights is a little more than what the block took: least squares of the
//! relative error, in which blocks that come out too low weigh more and more. In the end all weights are raised by a margin, and so far
//! that no block is below.

use super::{
    bodies,
    check::random,
    samples::{SHAPES, Sample, of_body, of_codes, of_shape},
};
use bundler::{FEATURES, FRACTION, Feature, name_of};
use harness::rng::Rng;
use pvm::{EngineKind, Machines};
use std::fmt::Write;

/// What is added to every weight, in thousandths, for blocks that were not measured.
const MARGIN: f64 = 60.0;
/// Gas of a block that is measured for one thing that it does.
const BODY_GAS: u64 = 15_000_000;
/// Gas of a block of several things.
const MIXED_GAS: u64 = 40_000_000;
/// What an opcode is taken to cost as far as no block says otherwise.
const OPCODE_GAS: f64 = 30.0;
/// The same for what blocks rarely have without something else; no weight is less than half of it.
const USUAL_GAS: [(Feature, f64); 9] = [
    (Feature::CodeBytes, 60.0),
    (Feature::WitnessInner, 2200.0),
    (Feature::WrittenInner, 2500.0),
    (Feature::WitnessKeys, 500.0),
    (Feature::OutputWords, 10.0),
    (Feature::InputWords, 2.0),
    (Feature::LogWords, 10.0),
    (Feature::IdentityWords, 4.0),
    (Feature::EcRecoverNone, 30_000.0),
];
const OPCODES: usize = 256;
/// How often blocks that came out too low are given more weight.
const ROUNDS: usize = 12;
const SWEEPS: usize = 3000;
/// An opcode that was never executed costs no more than this, as far as anyone knows.
const UNKNOWN_GAS: f64 = 400.0;

/// Measures blocks and gives the table of weights, as source, and what came out.
pub fn calibrate(quick: bool) -> Result<(String, String), String> {
    let machines = Machines::new(EngineKind::Auto).map_err(|why| why.to_string())?;
    let samples = measured(&machines, quick)?;
    let weights = fit(&samples);
    let over = samples.iter().map(|sample| (estimate(&weights, sample) / sample.gas as f64 - 1.0, sample));
    let mut over = over.collect::<Vec<_>>();
    over.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut told = String::new();
    for (above, sample) in over.iter().rev().take(30) {
        let _ = writeln!(told, "{:+.1} % {} {}", above * 100.0, sample.gas, sample.name);
    }
    let [lowest, middle, highest] = [0, over.len() / 2, over.len() - 1].map(|at| over[at].0 * 100.0);
    let _ = write!(
        told,
        "gas-weights: blocks={} above_min={lowest:.1}% above_p50={middle:.1}% above_max={highest:.1}%",
        samples.len()
    );
    Ok((source(&weights), told))
}

fn measured(machines: &Machines, quick: bool) -> Result<Vec<Sample>, String> {
    let mut rng = Rng::new(1);
    let mut samples = vec![];
    let inputs = super::inputs::all(&mut rng);
    let refused = super::inputs::refused(&inputs);
    if !refused.is_empty() {
        return Err(format!("precompiles refuse inputs that should be good: {refused:?}"));
    }
    for seed in 0..if quick { 1 } else { 3 } {
        for (index, body) in bodies::all(&mut Rng::new(seed)).iter().enumerate() {
            let name = format!("body {index}, seed {seed}");
            samples.push(of_body(machines, name, body, BODY_GAS)?);
        }
    }
    let sizes: &[[u64; 3]] = match quick {
        true => &[[1, 10, 1], [10, 1000, 1], [60, 300, 1], [20, 1000, 4], [400, 3000, 1]],
        false => &[
            [1, 10, 1],
            [3, 1000, 1],
            [10, 1000, 1],
            [40, 30_000, 1],
            [100, 1000, 1],
            [400, 30_000, 1],
            [1500, 60_000, 1],
            [1, 1000, 8],
            [20, 1000, 4],
            [300, 30_000, 5],
        ],
    };
    for shape in SHAPES {
        for size in sizes {
            samples.push(of_shape(machines, shape, *size)?);
        }
    }
    for opcode in [0x01, 0x5b, 0x60, 0x7f] {
        for size in [[1, 24_000], [8, 3_000], [8, 24_000], [30, 200]] {
            samples.push(of_codes(machines, size, opcode)?);
        }
    }
    // Seeds that a check does not begin with.
    for block in 0..if quick { 60 } else { 1000 } {
        samples.push(random(machines, &mut Rng::new(0xca11_b8a7_e000_0000 + block), MIXED_GAS, block)?);
    }
    samples.push(of_shape(machines, SHAPES[0], [0, 10, 1])?);
    samples.push(of_shape(machines, SHAPES[0], [0, 10, 6])?);
    Ok(samples)
}

fn estimate(weights: &[f64], sample: &Sample) -> f64 {
    sample.counts.iter().zip(weights).map(|(count, weight)| *count as f64 * weight).sum()
}

/// The weights, in gas.
fn fit(samples: &[Sample]) -> Vec<f64> {
    let used = (0..FEATURES).filter(|at| samples.iter().any(|sample| sample.counts[*at] > 0));
    let used = used.collect::<Vec<_>>();
    let rows = samples.iter().map(|sample| {
        used.iter().map(|at| sample.counts[*at] as f64 / sample.gas as f64).collect::<Vec<_>>()
    });
    let rows = rows.collect::<Vec<_>>();
    let mut importance = vec![1.0_f64; rows.len()];
    let mut solved = vec![0.0; used.len()];
    for _ in 0..ROUNDS {
        solve(&rows, &importance, &used, &mut solved);
        for (row, importance) in rows.iter().zip(&mut importance) {
            let ratio = row.iter().zip(&solved).map(|(x, w)| x * w).sum::<f64>();
            if ratio < 1.0 {
                *importance *= 1.0 + (1.0 - ratio) * 60.0;
            }
        }
    }
    let ratio = |row: &Vec<f64>| row.iter().zip(&solved).map(|(x, w)| x * w).sum::<f64>();
    let lowest = rows.iter().map(ratio).fold(1.0, f64::min);
    let raise = (1.0 + MARGIN / 1000.0) / lowest;
    let mut weights = vec![0.0; FEATURES];
    weights[..OPCODES].fill(UNKNOWN_GAS);
    for (at, weight) in used.iter().zip(solved) {
        weights[*at] = weight * raise;
    }
    weights
}

/// Non-negative least squares by coordinates: rows times weights shall be one.
fn solve(rows: &[Vec<f64>], importance: &[f64], used: &[usize], solved: &mut [f64]) {
    let n = used.len();
    // Columns of very different size: each is scaled to one.
    let scale = (0..n).map(|j| {
        let squares = rows.iter().zip(importance).map(|(row, importance)| importance * row[j] * row[j]);
        squares.sum::<f64>().sqrt().max(f64::MIN_POSITIVE)
    });
    let scale = scale.collect::<Vec<_>>();
    let mut gram = vec![0.0; n * n];
    let mut right = vec![0.0; n];
    for (row, importance) in rows.iter().zip(importance) {
        let filled = (0..n).filter(|j| row[*j] > 0.0).collect::<Vec<_>>();
        for j in &filled {
            let scaled = importance * row[*j] / scale[*j];
            right[*j] += scaled;
            for k in &filled {
                gram[j * n + k] += scaled * row[*k] / scale[*k];
            }
        }
    }
    let mut x = solved.iter().zip(&scale).map(|(w, scale)| w * scale).collect::<Vec<_>>();
    // What the blocks do not tell apart is divided evenly: a pull towards what an opcode usually costs.
    let pull = 1e-4;
    let prior = |j: usize| usual(used[j]) * scale[j];
    let least = |j: usize| if used[j] < OPCODES { 0.0 } else { prior(j) / 2.0 };
    for _ in 0..SWEEPS {
        for j in 0..n {
            let line = &gram[j * n..][..n];
            let fitted = line.iter().zip(&x).map(|(g, x)| g * x).sum::<f64>();
            let step = (right[j] - fitted + pull * (prior(j) - x[j])) / (line[j] + pull);
            x[j] = (x[j] + step).max(least(j));
        }
    }
    solved.iter_mut().zip(x).zip(&scale).for_each(|((w, x), scale)| *w = x / scale);
}

/// What something is taken to cost as far as no block says otherwise.
fn usual(at: usize) -> f64 {
    let named = USUAL_GAS.iter().find(|(feature, _)| *feature as usize == at);
    named.map_or(if at < OPCODES { OPCODE_GAS } else { 0.0 }, |(_, gas)| *gas)
}

fn source(weights: &[f64]) -> String {
    let mut out = String::from(
        "//! What each count costs, in sixteenths of gas. Made by `gas --calibrate`; do not edit.\n\nuse super::FEATURES;\n\n",
    );
    let program = jam::hash::blake2b(&[service::code::PROGRAM]);
    let _ = writeln!(
        out,
        "/// The hash of the program that was measured.\npub const PROGRAM: &str = \"{program}\";\n"
    );
    let _ = writeln!(out, "#[rustfmt::skip]\npub(super) static WEIGHTS: [u64; FEATURES] = [");
    for (at, weight) in weights.iter().enumerate() {
        let _ = writeln!(out, "    {}, // {}", (weight * FRACTION as f64).ceil() as u64, name_of(at));
    }
    out.push_str("];\n");
    out
}
