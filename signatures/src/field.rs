//! Numbers modulo p = 2²⁵⁶ − [`C`], the coordinates of points.
//!
//! An [`Element`] is any value below 2²⁵⁶, so the few values below `C` have a second form, p higher. That saves a comparison
//! after each operation. Only what comes in from outside must be below p ([`Element::parse`]), and comparisons look at
//! both forms.

use crate::inverse;

pub(crate) type Limbs = [u64; 4];

/// 2²⁵⁶ − p. So what is above 2²⁵⁶ counts `C` times below.
const C: u64 = 0x1_0000_03d1;

pub(crate) const P: Limbs = [0xffff_fffe_ffff_fc2f, u64::MAX, u64::MAX, u64::MAX];

/// A number modulo p; lowest limb first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element(pub(crate) Limbs);

/// `sum + a · b + carry`, its low and its high half. It always fits.
#[inline(always)]
pub fn multiply_add(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    if cfg!(target_arch = "riscv64") {
        return multiply_add_without_flags(sum, a, b, carry);
    }
    let all = u128::from(sum) + u128::from(a) * u128::from(b) + u128::from(carry);
    (all as u64, (all >> 64) as u64)
}

/// The same for machines that have no flags for carries, the PVM for one: these comparisons cost a tenth of a multiplication
/// less than what the compiler makes of a sum of 128 bits. With flags they cost more.
#[inline(always)]
pub(crate) fn multiply_add_without_flags(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    let (low, first) = sum.overflowing_add(carry);
    let (low, second) = low.overflowing_add(product as u64);
    (low, ((product >> 64) as u64).wrapping_add(u64::from(first)).wrapping_add(u64::from(second)))
}

#[inline(always)]
pub(crate) fn add_carry(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

#[inline(always)]
pub(crate) fn sub_borrow(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (rest, first) = a.overflowing_sub(b);
    let (rest, second) = rest.overflowing_sub(u64::from(borrow));
    (rest, first | second)
}

/// Four limbs out of big-endian bytes.
#[inline(always)]
pub(crate) fn limbs(bytes: &[u8; 32]) -> Limbs {
    blake2b::words::load_big_endian(bytes)
}

/// Big-endian bytes of four limbs.
pub(crate) fn bytes(limbs: &Limbs) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (place, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(limbs.iter().rev()) {
        *place = limb.to_be_bytes();
    }
    bytes
}

/// What eight limbs are modulo p.
#[inline(always)]
fn reduce(t: [u64; 8]) -> Element {
    let (r0, carry) = multiply_add(t[0], t[4], C, 0);
    let (r1, carry) = multiply_add(t[1], t[5], C, carry);
    let (r2, carry) = multiply_add(t[2], t[6], C, carry);
    let (r3, carry) = multiply_add(t[3], t[7], C, carry);
    let (r0, carry) = multiply_add(r0, carry, C, 0);
    let (r1, over) = r1.overflowing_add(carry);
    let mut r = [r0, r1, r2, r3];
    if over {
        ripple_carry(&mut r);
    }
    Element(r)
}

/// Adds 2¹²⁸. It happens once in 2⁵⁶ multiplications of random numbers, so it stands apart.
#[cold]
#[inline(never)]
fn ripple_carry(r: &mut Limbs) {
    let (r2, over) = r[2].overflowing_add(1);
    let (r3, over) = r[3].overflowing_add(u64::from(over));
    (r[2], r[3]) = (r2, r3);
    if over {
        // The value is tiny now, so its second limb has room for this carry.
        let (r0, over) = r[0].overflowing_add(C);
        (r[0], r[1]) = (r0, r[1].wrapping_add(u64::from(over)));
    }
}

/// Subtracts 2¹²⁸; as rare.
#[cold]
#[inline(never)]
fn ripple_borrow(r: &mut Limbs) {
    let (r2, under) = r[2].overflowing_sub(1);
    let (r3, under) = r[3].overflowing_sub(u64::from(under));
    (r[2], r[3]) = (r2, r3);
    if under {
        // The value is just below 2²⁵⁶ now, so its second limb can lend.
        let (r0, under) = r[0].overflowing_sub(C);
        (r[0], r[1]) = (r0, r[1].wrapping_sub(u64::from(under)));
    }
}

impl Element {
    pub(crate) const ZERO: Self = Self([0; 4]);
    pub(crate) const ONE: Self = Self([1, 0, 0, 0]);

    /// The element of a number below p.
    #[inline(always)]
    pub(crate) fn parse(limbs: Limbs) -> Option<Self> {
        let [low, rest @ ..] = limbs;
        let reaches = rest == [u64::MAX; 3] && low >= P[0];
        (!reaches).then_some(Self(limbs))
    }

    // Inlined everywhere: natively that is worth a third, in the PVM 4 % of the gas of a check for 50 KB of code.
    #[inline(always)]
    pub(crate) fn mul(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        let (t0, carry) = multiply_add(0, a[0], b[0], 0);
        let (t1, carry) = multiply_add(0, a[0], b[1], carry);
        let (t2, carry) = multiply_add(0, a[0], b[2], carry);
        let (t3, t4) = multiply_add(0, a[0], b[3], carry);
        let (t1, carry) = multiply_add(t1, a[1], b[0], 0);
        let (t2, carry) = multiply_add(t2, a[1], b[1], carry);
        let (t3, carry) = multiply_add(t3, a[1], b[2], carry);
        let (t4, t5) = multiply_add(t4, a[1], b[3], carry);
        let (t2, carry) = multiply_add(t2, a[2], b[0], 0);
        let (t3, carry) = multiply_add(t3, a[2], b[1], carry);
        let (t4, carry) = multiply_add(t4, a[2], b[2], carry);
        let (t5, t6) = multiply_add(t5, a[2], b[3], carry);
        let (t3, carry) = multiply_add(t3, a[3], b[0], 0);
        let (t4, carry) = multiply_add(t4, a[3], b[1], carry);
        let (t5, carry) = multiply_add(t5, a[3], b[2], carry);
        let (t6, t7) = multiply_add(t6, a[3], b[3], carry);
        reduce([t0, t1, t2, t3, t4, t5, t6, t7])
    }

    #[inline(always)]
    pub(crate) fn square(&self) -> Self {
        let Self(a) = self;
        // The products of different limbs, which count twice ..
        let (t1, carry) = multiply_add(0, a[0], a[1], 0);
        let (t2, carry) = multiply_add(0, a[0], a[2], carry);
        let (t3, t4) = multiply_add(0, a[0], a[3], carry);
        let (t3, carry) = multiply_add(t3, a[1], a[2], 0);
        let (t4, t5) = multiply_add(t4, a[1], a[3], carry);
        let (t5, t6) = multiply_add(t5, a[2], a[3], 0);
        let t7 = t6 >> 63;
        let (t6, t5) = (t6 << 1 | t5 >> 63, t5 << 1 | t4 >> 63);
        let (t4, t3) = (t4 << 1 | t3 >> 63, t3 << 1 | t2 >> 63);
        let (t2, t1) = (t2 << 1 | t1 >> 63, t1 << 1);
        // .. and the squares.
        let (t0, high) = multiply_add(0, a[0], a[0], 0);
        let (t1, carry) = t1.overflowing_add(high);
        let (t2, high) = multiply_add(t2, a[1], a[1], u64::from(carry));
        let (t3, carry) = t3.overflowing_add(high);
        let (t4, high) = multiply_add(t4, a[2], a[2], u64::from(carry));
        let (t5, carry) = t5.overflowing_add(high);
        let (t6, high) = multiply_add(t6, a[3], a[3], u64::from(carry));
        reduce([t0, t1, t2, t3, t4, t5, t6, t7.wrapping_add(high)])
    }

    #[inline(always)]
    pub(crate) fn add(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        let (r0, carry) = a[0].overflowing_add(b[0]);
        let (r1, carry) = add_carry(a[1], b[1], carry);
        let (r2, carry) = add_carry(a[2], b[2], carry);
        let (r3, carry) = add_carry(a[3], b[3], carry);
        let mut r = [r0, r1, r2, r3];
        if carry {
            let (low, over) = r[0].overflowing_add(C);
            r[0] = low;
            if over {
                let (second, over) = r[1].overflowing_add(1);
                r[1] = second;
                if over {
                    ripple_carry(&mut r);
                }
            }
        }
        Self(r)
    }

    #[inline(always)]
    pub(crate) fn sub(&self, other: &Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        let (r0, borrow) = a[0].overflowing_sub(b[0]);
        let (r1, borrow) = sub_borrow(a[1], b[1], borrow);
        let (r2, borrow) = sub_borrow(a[2], b[2], borrow);
        let (r3, borrow) = sub_borrow(a[3], b[3], borrow);
        let mut r = [r0, r1, r2, r3];
        if borrow {
            let (low, under) = r[0].overflowing_sub(C);
            r[0] = low;
            if under {
                let (second, under) = r[1].overflowing_sub(1);
                r[1] = second;
                if under {
                    ripple_borrow(&mut r);
                }
            }
        }
        Self(r)
    }

    #[inline(always)]
    pub(crate) fn negate(&self) -> Self {
        Self(P).sub(self)
    }

    #[inline(always)]
    pub(crate) fn double(&self) -> Self {
        self.add(self)
    }

    /// Zero, in either form.
    #[inline(always)]
    pub(crate) fn is_zero(&self) -> bool {
        let Self(a) = self;
        a[0] | a[1] | a[2] | a[3] == 0 || *a == P
    }

    pub(crate) fn equals(&self, other: &Self) -> bool {
        self.sub(other).is_zero()
    }

    /// The form below p.
    pub(crate) fn canonical(&self) -> Limbs {
        match Self::parse(self.0) {
            Some(Self(limbs)) => limbs,
            None => [self.0[0].wrapping_sub(P[0]), 0, 0, 0],
        }
    }

    fn squares(&self, count: usize) -> Self {
        let mut power = *self;
        for _ in 0..count {
            power = power.square();
        }
        power
    }

    /// To the powers 2² − 1, 2²² − 1 and 2²²³ − 1, of which the exponent below is made.
    fn towers(&self) -> [Self; 3] {
        let x2 = self.square().mul(self);
        let x3 = x2.square().mul(self);
        let x6 = x3.squares(3).mul(&x3);
        let x9 = x6.squares(3).mul(&x3);
        let x11 = x9.squares(2).mul(&x2);
        let x22 = x11.squares(11).mul(&x11);
        let x44 = x22.squares(22).mul(&x22);
        let x88 = x44.squares(44).mul(&x44);
        let x176 = x88.squares(88).mul(&x88);
        let x220 = x176.squares(44).mul(&x44);
        let x223 = x220.squares(3).mul(&x3);
        [x2, x22, x223]
    }

    /// The inverse; zero of zero.
    #[inline(always)]
    pub(crate) fn invert(&self) -> Self {
        Self(inverse::invert(&self.canonical(), &P))
    }

    /// The square root, if there is one: the power (p + 1) / 4, since p is 3 modulo 4.
    #[inline(never)]
    pub(crate) fn root(&self) -> Option<Self> {
        let [x2, x22, x223] = self.towers();
        let root = x223.squares(23).mul(&x22).squares(6).mul(&x2).squares(2);
        root.square().equals(self).then_some(root)
    }
}
