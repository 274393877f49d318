//! The precompiles' cryptography without C, for the PVM.
//!
//! revm asks for it by a trait. Natively that is its own, with libsecp256k1 and blst. In the program it is [`Portable`]: what is costly
//! comes from `signatures` and `precompiles`, the rest is revm's own in Rust. The results are the same on every input, so it does not
//! matter to a block which of the two executed it.

use alloc::vec::Vec;
use alloy_primitives::{B256, U256, keccak256};
use precompiles::{
    bls12_381::{self, G1Point, G2Point},
    bn254, p256,
};
use revm::precompile::{
    Crypto, PrecompileHalt,
    bls12_381::{G1PointScalar, G2PointScalar},
};

/// Why there is no result. revm tells reasons apart, but to a block they are the same.
const NO_POINT: PrecompileHalt = PrecompileHalt::NonCanonicalFp;
const NO_BN254_POINT: PrecompileHalt = PrecompileHalt::Bn254AffineGFailedToCreate;

/// Cryptography in Rust alone, made for few instructions.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Portable {
    /// Makes revm use it, in the whole process and for good.
    #[cfg(not(feature = "std"))]
    pub(super) fn install() {
        // The second time it is there already.
        let _ = revm::precompile::install_crypto(Self);
    }
}

impl Crypto for Portable {
    fn secp256k1_ecrecover(
        &self,
        signature: &[u8; 64],
        parity: u8,
        hash: &[u8; 32],
    ) -> Result<[u8; 32], PrecompileHalt> {
        let (r, s) = (U256::from_be_slice(&signature[..32]), U256::from_be_slice(&signature[32..]));
        let signature =
            signatures::Signature { r: r.into_limbs(), s: s.into_limbs(), odd_y: parity == 1, hash: *hash };
        let key = signatures::recover(&signature).ok_or(PrecompileHalt::Secp256k1RecoverFailed)?;
        let mut address: B256 = keccak256(key);
        address[..12].fill(0);
        Ok(address.0)
    }

    fn secp256r1_verify_signature(&self, hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
        p256::verify(hash, signature, key)
    }

    fn bn254_g1_add(&self, a: &[u8], b: &[u8]) -> Result<[u8; 64], PrecompileHalt> {
        let add = || bn254::add(a.try_into().ok()?, b.try_into().ok()?);
        add().ok_or(NO_BN254_POINT)
    }

    fn bn254_g1_mul(&self, point: &[u8], factor: &[u8]) -> Result<[u8; 64], PrecompileHalt> {
        let multiply = || bn254::multiply(point.try_into().ok()?, factor.try_into().ok()?);
        multiply().ok_or(NO_BN254_POINT)
    }

    fn verify_kzg_proof(
        &self,
        z: &[u8; 32],
        y: &[u8; 32],
        commitment: &[u8; 48],
        proof: &[u8; 48],
    ) -> Result<(), PrecompileHalt> {
        let verified = bls12_381::kzg::verify(commitment, z, y, proof);
        verified.then_some(()).ok_or(PrecompileHalt::BlobVerifyKzgProofFailed)
    }

    fn bls12_381_g1_add(&self, a: G1Point, b: G1Point) -> Result<[u8; 96], PrecompileHalt> {
        bls12_381::g1_add(&a, &b).ok_or(NO_POINT)
    }

    fn bls12_381_g1_msm(
        &self,
        terms: &mut dyn Iterator<Item = Result<G1PointScalar, PrecompileHalt>>,
    ) -> Result<[u8; 96], PrecompileHalt> {
        bls12_381::g1_sum(&terms.collect::<Result<Vec<_>, _>>()?).ok_or(NO_POINT)
    }

    fn bls12_381_g2_add(&self, a: G2Point, b: G2Point) -> Result<[u8; 192], PrecompileHalt> {
        bls12_381::g2_add(&a, &b).ok_or(NO_POINT)
    }

    fn bls12_381_g2_msm(
        &self,
        terms: &mut dyn Iterator<Item = Result<G2PointScalar, PrecompileHalt>>,
    ) -> Result<[u8; 192], PrecompileHalt> {
        bls12_381::g2_sum(&terms.collect::<Result<Vec<_>, _>>()?).ok_or(NO_POINT)
    }

    fn bls12_381_pairing_check(&self, pairs: &[(G1Point, G2Point)]) -> Result<bool, PrecompileHalt> {
        bls12_381::pairing(pairs).ok_or(NO_POINT)
    }

    fn bls12_381_fp_to_g1(&self, number: &[u8; 48]) -> Result<[u8; 96], PrecompileHalt> {
        bls12_381::map_to_g1(number).ok_or(NO_POINT)
    }

    fn bls12_381_fp2_to_g2(&self, number: ([u8; 48], [u8; 48])) -> Result<[u8; 192], PrecompileHalt> {
        bls12_381::map_to_g2(&number.0, &number.1).ok_or(NO_POINT)
    }
}
