//! `erasure/{tiny,full}/*.json`: data and its shards. Coding must give the shards, and several choices of just enough
//! shards must give the data.

use super::{Cases, Family, File, Verdict, chain, hex_field};
use jam::{ErasureCode, Hash, shuffle::shuffled};

pub(super) const FAMILY: Family = Family { claims, run };

/// Choices of shards to recover from: the last ones, and this many at random.
const RANDOM_CHOICES: u8 = 8;

fn claims(file: &File<'_>) -> Option<String> {
    let &[spec, _] = file.after(&["erasure"])? else { return None };
    (file.ends_in("json") && chain(spec).is_some()).then(|| format!("erasure/{spec}"))
}

fn run(file: &File<'_>) -> Cases {
    vec![(String::new(), judge(file))]
}

fn judge(file: &File<'_>) -> Verdict {
    let spec = file.after(&["erasure"]).and_then(|rest| rest.first()).copied().unwrap_or_default();
    let params = chain(spec).ok_or("neither tiny nor full")?;
    let case = file.json()?;
    let data = hex_field(&case["data"])?;
    let shards = case["shards"].as_array().ok_or("no shards")?;
    let shards = shards.iter().map(hex_field).collect::<Result<Vec<_>, _>>()?;
    let code = ErasureCode::new(&params);
    if code.encode(&data).map_err(|e| e.to_string())? != shards {
        return Err("other shards".into());
    }
    let needed = params.data_shards();
    let last = (shards.len() - needed..shards.len()).collect();
    let random = (0..RANDOM_CHOICES).map(|seed| {
        let mut choice = shuffled((0..shards.len()).collect(), Hash::repeat_byte(seed));
        choice.truncate(needed);
        choice
    });
    for choice in std::iter::once(last).chain(random) {
        let chosen = choice.iter().map(|index: &usize| (*index, &shards[*index][..]));
        match code.recover(data.len(), chosen) {
            Ok(recovered) if recovered == data => {}
            Ok(_) => return Err(format!("other data from shards {choice:?}")),
            Err(error) => return Err(format!("{error} from shards {choice:?}")),
        }
    }
    Ok(())
}
