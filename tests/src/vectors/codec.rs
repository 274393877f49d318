//! `codec/{tiny,full}/*.bin`: each file is one value; it must decode completely and come back byte for byte.

use super::{Cases, Family, File, Verdict, chain};
use jam::{
    Params,
    block::{Assurance, Block, Disputes, Extrinsic, Guarantee, Header, Preimage, Ticket},
    codec::{Decode, Encode},
    package::{RefineContext, WorkItem, WorkPackage},
    report::{WorkDigest, WorkReport},
};

pub(super) const FAMILY: Family = Family { claims, run };

fn claims(file: &File<'_>) -> Option<String> {
    let &[spec, _] = file.after(&["codec"])? else { return None };
    (file.ends_in("bin") && chain(spec).is_some()).then(|| format!("codec/{spec}"))
}

fn run(file: &File<'_>) -> Cases {
    vec![(String::new(), judge(file))]
}

fn judge(file: &File<'_>) -> Verdict {
    let spec = file.after(&["codec"]).and_then(|rest| rest.first()).copied().unwrap_or_default();
    let params = chain(spec).ok_or("neither tiny nor full")?;
    let bytes = file.bytes()?;
    // `header_0`, `header_1`: the number only tells cases apart.
    let kind = file.stem().trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    let judge = match kind {
        "assurances_extrinsic" => comes_back::<Vec<Assurance>>,
        "block" => comes_back::<Block>,
        "disputes_extrinsic" => comes_back::<Disputes>,
        "extrinsic" => comes_back::<Extrinsic>,
        "guarantees_extrinsic" => comes_back::<Vec<Guarantee>>,
        "header" => comes_back::<Header>,
        "preimages_extrinsic" => comes_back::<Vec<Preimage>>,
        "refine_context" => comes_back::<RefineContext>,
        "tickets_extrinsic" => comes_back::<Vec<Ticket>>,
        "work_item" => comes_back::<WorkItem>,
        "work_package" => comes_back::<WorkPackage>,
        "work_report" => comes_back::<WorkReport>,
        "work_result" => comes_back::<WorkDigest>,
        _ => return Err("a kind of value that is not known".into()),
    };
    judge(&bytes, &params)
}

/// Decodes, encodes, compares.
pub(super) fn comes_back<T: Encode + Decode>(bytes: &[u8], params: &Params) -> Verdict {
    let value = T::decode(bytes, params).map_err(|e| e.to_string())?;
    match value.encode() == bytes {
        true => Ok(()),
        false => Err("comes back as other bytes".into()),
    }
}
