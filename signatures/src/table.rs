//! Odd multiples of the generator, for recovery.

use crate::{
    field::{Element, Limbs},
    point::Affine,
};

/// The generator times 1, 3, …, 31: x and y of each, lowest limb first. A test adds them up.
#[rustfmt::skip]
const MULTIPLES: [[Limbs; 2]; 16] = [
    [[0x59f2_815b_16f8_1798, 0x029b_fcdb_2dce_28d9, 0x55a0_6295_ce87_0b07, 0x79be_667e_f9dc_bbac],
     [0x9c47_d08f_fb10_d4b8, 0xfd17_b448_a685_5419, 0x5da4_fbfc_0e11_08a8, 0x483a_da77_26a3_c465]],
    [[0x8601_f113_bce0_36f9, 0xb531_c845_836f_99b0, 0x4934_4f85_f89d_5229, 0xf930_8a01_9258_c310],
     [0x6cb9_fd75_84b8_e672, 0x6500_a999_34c2_231b, 0x0fe3_37e6_2a37_f356, 0x388f_7b0f_632d_e814]],
    [[0xcba8_d569_b240_efe4, 0xe88b_84bd_dc61_9ab7, 0x55b4_a725_0a5c_5128, 0x2f8b_de4d_1a07_2093],
     [0xdca8_7d3a_a6ac_62d6, 0xf788_271b_ab0d_6840, 0xd4db_a9dd_a6c9_c426, 0xd8ac_2226_36e5_e3d6]],
    [[0xe92b_dded_cac4_f9bc, 0x3d41_9b7e_0330_e39c, 0xa398_f365_f2ea_7a0e, 0x5cbd_f064_6e5d_b4ea],
     [0xa508_2628_0872_64da, 0xa813_d0b8_13fd_e7b5, 0xa317_8d6d_861a_54db, 0x6aeb_ca40_ba25_5960]],
    [[0xc35f_110d_fc27_ccbe, 0xe097_9697_4c57_e714, 0x09ad_178a_9f55_9abd, 0xacd4_84e2_f0c7_f653],
     [0x05cc_262a_c64f_9c37, 0xadd8_88a4_375f_8e0f, 0x6438_0971_763b_61e9, 0xcc33_8921_b0a7_d9fd]],
    [[0xbbec_1789_5da0_08cb, 0x5649_980b_e5c1_7891, 0x5ef4_246b_70c6_5aac, 0x774a_e7f8_58a9_411e],
     [0x301d_74c9_c953_c61b, 0x372d_b1e2_dff9_d6a8, 0x0243_dd56_d7b7_b365, 0xd984_a032_eb6b_5e19]],
    [[0xdeed_df8f_1940_5aa8, 0xb075_fbc6_610e_58cd, 0xc7d1_d205_c374_8651, 0xf287_73c2_d975_288b],
     [0x29b5_cb52_db03_ed81, 0x3a1a_06da_521f_a91f, 0x7582_12eb_65cd_af47, 0x0ab0_902e_8d88_0a89]],
    [[0x44ad_bcf8_e27e_080e, 0x31e5_946f_3c85_f79e, 0x5a46_5ae3_095f_f411, 0xd792_4d4f_7d43_ea96],
     [0xc504_dc9f_f6a2_6b58, 0xea40_af2b_d896_d3a5, 0x8384_2ec2_28cc_6def, 0x581e_2872_a86c_72a6]],
    [[0x66e4_faa0_4a2d_4a34, 0xeb98_98ae_79b9_7687, 0xa420_fee8_07ea_cf21, 0xdefd_ea4c_db67_7750],
     [0xcfb1_99f6_9e56_eb77, 0xced1_f4a0_4a95_c0f6, 0xe997_b0ea_d2a9_3dae, 0x4211_ab06_9463_5168]],
    [[0x7475_6561_3838_5b6c, 0xf06a_cfeb_d7e8_6d27, 0x93ef_5cff_444f_4979, 0x2b4e_a0a7_97a4_43d2],
     [0xb570_c854_e5c0_9b7a, 0x1a01_f60c_5026_9763, 0xb343_083b_5a1c_8613, 0x85e8_9bc0_3794_5d93]],
    [[0x8134_0aef_25be_59d5, 0x1d9a_d402_71f8_1071, 0x4f93_fa33_2ce3_3330, 0x352b_bf4a_4cdd_1256],
     [0x67bd_3d8b_cf81_998c, 0x4a1b_3b2e_71b1_039c, 0xd59c_1825_9dda_3e1f, 0x321e_b407_5348_f534]],
    [[0xdc9c_dadd_4eca_cc3f, 0xe42a_b8df_eff5_ff29, 0x0230_0105_5987_9124, 0x2fa2_104d_6b38_d11b],
     [0x423b_a76b_532b_7d67, 0x181d_70ec_fc88_2648, 0xb645_6933_5bd5_dd80, 0x02de_1068_295d_d865]],
    [[0x69ca_0cd7_f545_3714, 0x263c_3d84_e095_72e2, 0xab21_a9b0_66ed_da83, 0x9248_279b_09b4_d68d],
     [0xe54a_32ce_97cb_3402, 0x3fc0_de2a_8879_12ff, 0x5d1a_a71b_dea2_b1ff, 0x7301_6f7b_f234_aade]],
    [[0x7e99_6d44_3dee_8729, 0x2f57_0e14_4bf6_15c0, 0x8e70_132f_b0be_b752, 0xdaed_4f2b_e3a8_bf27],
     [0xab40_e522_90be_1c55, 0x3f83_c230_f3af_a726, 0xd4a1_aca8_7ef8_d700, 0xa69d_ce4a_7d6c_98e8]],
    [[0xe6a3_b5e8_7d22_e7db, 0x11ec_d9e9_fdf2_81b0, 0x8acf_28d7_cbb1_9f90, 0xc44d_12c7_065d_812e],
     [0xa039_063f_0e0e_6482, 0x0e10_6e86_1edf_61c5, 0x76c4_5926_c982_fdac, 0x2119_a460_ce32_6cdc]],
    [[0xb61c_65cb_d269_e6b4, 0x152b_6953_36c2_8063, 0xc89a_20cf_ded6_0853, 0x6a24_5bf6_dc69_8504],
     [0xfd5e_6348_100d_8a82, 0x8b33_ba48_d042_3b6e, 0x8b3f_5126_f16a_24ad, 0xe022_cf42_c2bd_4a70]],
];

/// The generator times 1, 3, …, 31.
pub(crate) fn multiples() -> [Affine; 16] {
    MULTIPLES.map(|[x, y]| Affine { x: Element(x), y: Element(y) })
}
