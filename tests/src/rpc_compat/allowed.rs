//! Files that may miss, each with its reason.

use std::collections::BTreeMap;

/// The list, which is part of the program: a file's name and the reason, or `method/*` for all of a method's.
const LIST: &str = include_str!("../../rpc-compat-allowed.txt");

/// The names of files that may miss, with the reasons.
pub fn allowed() -> BTreeMap<&'static str, &'static str> {
    let lines = LIST.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(':')).map(|(name, why)| (name.trim(), why.trim())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_line_has_a_reason() {
        let lines = super::LIST.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert!(lines.clone().all(|line| line.split_once(':').is_some_and(|(_, why)| why.len() > 10)));
        assert_eq!(lines.count(), super::allowed().len(), "no name twice");
    }
}
