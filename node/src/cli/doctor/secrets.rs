//! Who can read what only the operator may: the token, the builder's key, keystores and their password.

use super::{Finding, Verdict};
use crate::cli::{Options, check, file::Network};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

const WHAT: &str = "secrets";

/// Looks at every secret that the settings name or that lies where it lies by default.
pub(super) fn look(network: &Network, options: &Options) -> Vec<Finding> {
    let keystore =
        options.sender_keystore.clone().unwrap_or_else(|| check::data_dir(options).join("keystore"));
    let named = [Some(check::token_file(options)), network.builder_key.clone()];
    let named = named.into_iter().flatten().chain(options.sender_password_file.clone());
    let (mut safe, mut findings) = (vec![], vec![]);
    for path in named.chain(inside(&keystore)) {
        match mode(&path) {
            Ok(mode) if mode & 0o077 == 0 => safe.push(path),
            Ok(mode) => {
                let text = format!("{} can be read by others (mode {mode:o}); chmod 600 it", path.display());
                findings.push(Finding::new(WHAT, Verdict::Problem, text));
            }
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => {
                findings.push(Finding::new(WHAT, Verdict::Unknown, format!("{}: {why}", path.display())));
            }
        }
    }
    if !findings.is_empty() {
        return findings;
    }
    let names = safe.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    vec![match safe.as_slice() {
        [] => Finding::new(WHAT, Verdict::Unknown, "none of the files with secrets is there yet"),
        _ => Finding::new(WHAT, Verdict::Good, format!("only the owner can read {names}")),
    }]
}

/// The files of a directory; none if it is not there. One that cannot be listed is a finding of its own.
fn inside(directory: &Path) -> Vec<PathBuf> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect(),
        Err(_) => vec![directory.to_path_buf()],
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> io::Result<u32> {
    Ok(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path)?.permissions()) & 0o777)
}

#[cfg(not(unix))]
fn mode(path: &Path) -> io::Result<u32> {
    fs::metadata(path).and(Err(io::ErrorKind::Unsupported.into()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_secret_is_looked_at_wherever_it_lies() {
        let directory = std::env::temp_dir().join(format!("pectin-secrets-{}", std::process::id()));
        fs::create_dir_all(directory.join("keys")).unwrap();
        let at = |name: &str| directory.join(name);
        let network = Network { builder_key: Some(at("builder.key")), ..Network::default() };
        let options = Options {
            data_dir: Some(at("data")),
            token_file: Some(at("token")),
            sender_keystore: Some(at("keys")),
            sender_password_file: Some(at("password")),
            ..Options::default()
        };
        let verdicts = || look(&network, &options).iter().map(|finding| finding.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(), [Verdict::Unknown], "nothing is there yet");
        let all = ["token", "builder.key", "password", "keys/a.json"];
        let set = |name: &str, mode| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        for name in all {
            fs::write(at(name), "secret").unwrap();
            set(name, 0o600);
        }
        assert_eq!(verdicts(), [Verdict::Good]);
        for name in all {
            set(name, 0o640);
            let findings = look(&network, &options);
            assert_eq!((findings.len(), findings[0].verdict), (1, Verdict::Problem), "{name}");
            assert!(findings[0].text.contains(name), "{findings:?}");
            set(name, 0o400);
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
