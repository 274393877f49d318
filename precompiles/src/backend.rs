//! The arithmetic of [`field`] for the curves of arkworks: a field that has its constants, but not its instructions.

use crate::field::{self, Modulus};
use ark_ff::{BigInt, Fp, FpConfig, MontBackend, MontConfig, SqrtPrecomputation};
use core::marker::PhantomData;

/// The field that `C` describes.
pub(crate) struct Own<C>(PhantomData<C>);

impl<C: MontConfig<N>, const N: usize> Modulus<N> for Own<C> {
    const PRIME: [u64; N] = C::MODULUS.0;
}

/// The same element; both have Montgomery's form.
pub(crate) const fn own<C: MontConfig<N>, const N: usize>(
    element: Fp<MontBackend<C, N>, N>,
) -> Fp<Own<C>, N> {
    Fp(element.0, PhantomData)
}

/// The same elements.
pub(crate) const fn own_all<C: MontConfig<N>, const N: usize, const K: usize>(
    elements: &[Fp<MontBackend<C, N>, N>],
) -> [Fp<Own<C>, N>; K] {
    let mut all = [Fp(BigInt([0; N]), PhantomData); K];
    let mut at = 0;
    while at < K {
        all[at] = own(elements[at]);
        at += 1;
    }
    all
}

impl<C: MontConfig<N>, const N: usize> FpConfig<N> for Own<C> {
    const MODULUS: BigInt<N> = C::MODULUS;
    const GENERATOR: Fp<Self, N> = own(C::GENERATOR);
    const ZERO: Fp<Self, N> = Fp(BigInt([0; N]), PhantomData);
    const ONE: Fp<Self, N> = Fp(C::R, PhantomData);
    const NEG_ONE: Fp<Self, N> = own(<MontBackend<C, N> as FpConfig<N>>::NEG_ONE);
    const TWO_ADICITY: u32 = <MontBackend<C, N> as FpConfig<N>>::TWO_ADICITY;
    const TWO_ADIC_ROOT_OF_UNITY: Fp<Self, N> = own(C::TWO_ADIC_ROOT_OF_UNITY);
    const SQRT_PRECOMP: Option<SqrtPrecomputation<Fp<Self, N>>> = match C::SQRT_PRECOMP {
        Some(SqrtPrecomputation::Case3Mod4 { modulus_plus_one_div_four }) => {
            Some(SqrtPrecomputation::Case3Mod4 { modulus_plus_one_div_four })
        }
        _ => None,
    };

    #[inline(always)]
    fn add_assign(a: &mut Fp<Self, N>, b: &Fp<Self, N>) {
        a.0.0 = field::add::<Self, N>(&a.0.0, &b.0.0);
    }

    #[inline(always)]
    fn sub_assign(a: &mut Fp<Self, N>, b: &Fp<Self, N>) {
        a.0.0 = field::sub::<Self, N>(&a.0.0, &b.0.0);
    }

    #[inline(always)]
    fn double_in_place(a: &mut Fp<Self, N>) {
        a.0.0 = field::add::<Self, N>(&a.0.0, &a.0.0);
    }

    #[inline(always)]
    fn neg_in_place(a: &mut Fp<Self, N>) {
        a.0.0 = field::negate::<Self, N>(&a.0.0);
    }

    #[inline(always)]
    fn mul_assign(a: &mut Fp<Self, N>, b: &Fp<Self, N>) {
        a.0.0 = field::mul::<Self, N>(&a.0.0, &b.0.0);
    }

    #[inline(never)]
    fn sum_of_products<const T: usize>(a: &[Fp<Self, N>; T], b: &[Fp<Self, N>; T]) -> Fp<Self, N> {
        // As many as there is room for; arkworks has two.
        const { assert!(T <= 4 && C::MODULUS.0[N - 1] >> 62 == 0) };
        let [a, b] = [a, b].map(|all| core::array::from_fn::<_, T, _>(|at| &all[at].0.0));
        Fp(BigInt(field::sum_of_products::<Self, N, T>(a, b)), PhantomData)
    }

    #[inline(always)]
    fn square_in_place(a: &mut Fp<Self, N>) {
        a.0.0 = field::square::<Self, N>(&a.0.0);
    }

    fn inverse(a: &Fp<Self, N>) -> Option<Fp<Self, N>> {
        (a.0.0 != [0; N]).then(|| Fp(BigInt(field::invert::<Self, N>(&a.0.0)), PhantomData))
    }

    fn from_bigint(number: BigInt<N>) -> Option<Fp<Self, N>> {
        field::parse::<Self, N>(&number.0).map(|limbs| Fp(BigInt(limbs), PhantomData))
    }

    fn into_bigint(element: Fp<Self, N>) -> BigInt<N> {
        BigInt(field::plain::<Self, N>(&element.0.0))
    }
}
