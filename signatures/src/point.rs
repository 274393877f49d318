//! Points of the curve y² = x³ + 7.

use crate::field::Element;

/// A point with its coordinates. No point of the curve has x = 0, so zeros stand for infinity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine {
    pub(crate) x: Element,
    pub(crate) y: Element,
}

/// A point (x / z², y / z³); infinity if z = 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jacobian {
    pub(crate) x: Element,
    pub(crate) y: Element,
    pub(crate) z: Element,
}

/// The generator of the group.
pub(crate) const GENERATOR: Affine = Affine {
    x: Element([0x59f2_815b_16f8_1798, 0x029b_fcdb_2dce_28d9, 0x55a0_6295_ce87_0b07, 0x79be_667e_f9dc_bbac]),
    y: Element([0x9c47_d08f_fb10_d4b8, 0xfd17_b448_a685_5419, 0x5da4_fbfc_0e11_08a8, 0x483a_da77_26a3_c465]),
};

/// A cube root of one: (β · x, y) is λ · (x, y); see [`Scalar::split`](crate::scalar::Scalar::split).
const BETA: Element =
    Element([0xc139_6c28_7195_01ee, 0x9cf0_4975_12f5_8995, 0x6e64_479e_ac34_34e9, 0x7ae9_6a2b_657c_0710]);

const SEVEN: Element = Element([7, 0, 0, 0]);

/// x³ + 7, which y² must be.
pub(crate) fn right_side(x: &Element) -> Element {
    x.square().mul(x).add(&SEVEN)
}

impl Affine {
    pub(crate) const INFINITY: Self = Self { x: Element::ZERO, y: Element::ZERO };

    #[inline(always)]
    pub(crate) fn is_infinity(&self) -> bool {
        self.x.0 == [0; 4]
    }

    pub(crate) fn is_on_curve(&self) -> bool {
        self.y.square().equals(&right_side(&self.x))
    }

    #[inline(always)]
    pub(crate) fn negate(&self) -> Self {
        Self { x: self.x, y: self.y.negate() }
    }

    /// λ times this point.
    pub(crate) fn endomorphism(&self) -> Self {
        Self { x: self.x.mul(&BETA), y: self.y }
    }
}

impl Jacobian {
    pub(crate) const INFINITY: Self = Self { x: Element::ONE, y: Element::ONE, z: Element::ZERO };

    pub(crate) fn is_infinity(&self) -> bool {
        self.z.is_zero()
    }

    #[inline(never)]
    pub(crate) fn double(&self) -> Self {
        // No point of the curve has y = 0, so z becomes zero only if it was.
        let x2 = self.x.square();
        let slope = x2.double().add(&x2);
        let y2 = self.y.square();
        let xy2 = self.x.mul(&y2).double().double();
        let x = slope.square().sub(&xy2.double());
        let y4 = y2.square().double().double().double();
        let y = slope.mul(&xy2.sub(&x)).sub(&y4);
        Self { x, y, z: self.y.mul(&self.z).double() }
    }

    #[inline(never)]
    pub(crate) fn add_affine(&self, other: &Affine) -> Self {
        if other.is_infinity() {
            return *self;
        }
        if self.is_infinity() {
            return Self { x: other.x, y: other.y, z: Element::ONE };
        }
        let z2 = self.z.square();
        let run = other.x.mul(&z2).sub(&self.x);
        let rise = other.y.mul(&self.z.mul(&z2)).sub(&self.y);
        self.chord(&self.x, &self.y, &run, &rise, &self.z)
    }

    #[inline(never)]
    pub(crate) fn add(&self, other: &Self) -> Self {
        if self.is_infinity() {
            return *other;
        }
        if other.is_infinity() {
            return *self;
        }
        let (z2, other_z2) = (self.z.square(), other.z.square());
        let x = self.x.mul(&other_z2);
        let y = self.y.mul(&other.z.mul(&other_z2));
        let run = other.x.mul(&z2).sub(&x);
        let rise = other.y.mul(&self.z.mul(&z2)).sub(&y);
        self.chord(&x, &y, &run, &rise, &self.z.mul(&other.z))
    }

    /// The sum of this point, brought to (x, y) with this z, and one whose coordinates differ by `run` and `rise`.
    #[inline(always)]
    fn chord(&self, x: &Element, y: &Element, run: &Element, rise: &Element, z: &Element) -> Self {
        if run.is_zero() {
            return if rise.is_zero() { self.double() } else { Self::INFINITY };
        }
        let run2 = run.square();
        let run3 = run.mul(&run2);
        let xrun2 = x.mul(&run2);
        let new_x = rise.square().sub(&run3).sub(&xrun2.double());
        let new_y = rise.mul(&xrun2.sub(&new_x)).sub(&y.mul(&run3));
        Self { x: new_x, y: new_y, z: z.mul(run) }
    }
}
