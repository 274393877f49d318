//! The product: the binary `pectin` as it ships, for tests and judges that run it as a process.
//!
//! Cargo unifies features over everything that one command builds, and tests turn some on that no product has (planted
//! bugs, failing disks). So `pectin` beside the tests is another program than the one that ships. The product is built
//! alone, into a directory where no build of the workspace writes:
//!
//! ```text
//!   cargo build -p node --bin pectin --target-dir target/product [--profile P]
//! ```
//!
//! [`binary`] takes what the variable `PECTIN_BINARY` names; otherwise it runs that command for the profile of the
//! running test if the binary is missing or older than one of its sources.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::SystemTime,
};

/// Names another binary to test, whatever its age.
const VARIABLE: &str = "PECTIN_BINARY";

/// Variables that cargo and nextest set for tests. A cargo below a test that saw them would build again what a cargo in a
/// shell has built, since build scripts of dependencies ask for some of them.
const VARIABLES_OF_TESTS: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_", "NEXTEST"];

/// The product; see the [module](self).
pub fn binary() -> io::Result<PathBuf> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOUND.get_or_init(|| find().map_err(|why| why.to_string())).clone().map_err(io::Error::other)
}

fn find() -> io::Result<PathBuf> {
    if let Some(given) = env::var_os(VARIABLE) {
        let given = PathBuf::from(given);
        let missing = || io::Error::other(format!("{VARIABLE} names {}: no such file", given.display()));
        return if given.is_file() { given.canonicalize() } else { Err(missing()) };
    }
    let build = Build::beside(&env::current_exe()?)?;
    if !build.is_fresh() {
        build.run()?;
    }
    Ok(build.binary())
}

/// A build of the product with one profile.
#[derive(Debug)]
struct Build {
    /// Where all its files are.
    target: PathBuf,
    /// The directory of its profile in there.
    folder: String,
}

impl Build {
    /// The build that belongs to a program of the workspace, which lies in `target/PROFILE` or below.
    fn beside(program: &Path) -> io::Result<Self> {
        let directory = program.ancestors().skip(1).find(|directory| !directory.ends_with("deps"));
        let names = directory.and_then(|directory| Some((directory.parent()?, directory.file_name()?)));
        let (target, folder) = names.ok_or_else(|| io::Error::other("the program lies in no directory"))?;
        Ok(Self { target: target.join("product"), folder: folder.to_string_lossy().into_owned() })
    }

    fn binary(&self) -> PathBuf {
        self.target.join(&self.folder).join("pectin")
    }

    /// Its time says when cargo was asked last.
    fn asked(&self) -> PathBuf {
        self.binary().with_extension("asked")
    }

    /// Whether nothing that the binary is made from has changed since cargo was asked. To ask cargo takes a second, and
    /// with nextest every test is a process of its own.
    fn is_fresh(&self) -> bool {
        let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        let Some(asked) = changed(&self.asked()).filter(|_| self.binary().is_file()) else { return false };
        let Ok(sources) = fs::read_to_string(self.binary().with_extension("d")) else { return false };
        let is_older = |path: PathBuf| changed(&path).is_some_and(|at: SystemTime| at <= asked);
        sources_of(&sources).chain(manifests()).all(is_older)
    }

    fn command(&self) -> Command {
        // The profile `dev` has a directory of another name.
        let profile = if self.folder == "debug" { "dev" } else { &self.folder };
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["build", "--quiet", "--locked", "-p", "node", "--bin", "pectin", "--profile", profile]);
        command.arg("--target-dir").arg(&self.target).current_dir(repository());
        let is_of_tests = |name: &str| VARIABLES_OF_TESTS.iter().any(|begin| name.starts_with(begin));
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        names.filter(|name| is_of_tests(name)).for_each(|name| {
            command.env_remove(name);
        });
        command
    }

    fn run(&self) -> io::Result<()> {
        let mut command = self.command();
        eprintln!("building the product: {command:?}");
        // A source that changes during the build is newer than this.
        let begun = SystemTime::now();
        match command.status()?.success() {
            true => fs::File::create(self.asked())?.set_modified(begun),
            false => Err(io::Error::other(format!("the product cannot be built: {command:?}"))),
        }
    }
}

/// The files that cargo's list of a binary's sources names: a line `binary: one two`, spaces in names behind a backslash.
fn sources_of(list: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let names = list.lines().filter_map(|line| line.split_once(": ")).flat_map(|(_, names)| {
        let names = names.replace("\\ ", "\0");
        names.split(' ').map(|name| PathBuf::from(name.replace('\0', " "))).collect::<Vec<_>>()
    });
    names.filter(|name| !name.as_os_str().is_empty())
}

/// What chooses versions, features and profiles.
fn manifests() -> impl Iterator<Item = PathBuf> {
    let folders = fs::read_dir(repository()).into_iter().flatten().flatten();
    let of_crates = folders.map(|folder| folder.path().join("Cargo.toml")).filter(|file| file.is_file());
    ["Cargo.toml", "Cargo.lock"].map(|name| repository().join(name)).into_iter().chain(of_crates)
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_lies_below_the_directory_of_the_tests() {
        for program in ["/t/debug/deps/it-1", "/t/debug/kill"] {
            let build = Build::beside(Path::new(program)).unwrap();
            assert_eq!(build.binary(), Path::new("/t/product/debug/pectin"));
            let command = format!("{:?}", build.command());
            assert!(command.contains("\"--profile\" \"dev\" \"--target-dir\" \"/t/product\""), "{command}");
        }
        let build = Build::beside(Path::new("/t/dist/ratios")).unwrap();
        assert!(format!("{:?}", build.command()).contains("\"dist\""));
    }

    #[test]
    fn names_of_sources_may_have_spaces() {
        let list = "/t/pectin: /a/one.rs /a/two\\ words.rs\n\n";
        let names = sources_of(list).collect::<Vec<_>>();
        assert_eq!(names, [Path::new("/a/one.rs"), Path::new("/a/two words.rs")]);
    }

    #[test]
    fn a_product_is_stale_when_a_source_is_newer_or_gone() {
        let directory = tempfile::tempdir().unwrap();
        let build = Build { target: directory.path().to_owned(), folder: "debug".to_owned() };
        let folder = directory.path().join("debug");
        fs::create_dir(&folder).unwrap();
        let (binary, source) = (build.binary(), folder.join("lib.rs"));
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert!(!build.is_fresh(), "nothing is there");
        fs::write(&source, "").unwrap();
        fs::write(&binary, "").unwrap();
        fs::File::create(build.asked()).unwrap().set_modified(later).unwrap();
        assert!(!build.is_fresh(), "the list of sources is missing");
        fs::write(folder.join("pectin.d"), format!("{}: {}\n", binary.display(), source.display())).unwrap();
        assert!(build.is_fresh());
        fs::File::open(&source).unwrap().set_modified(later + std::time::Duration::from_secs(1)).unwrap();
        assert!(!build.is_fresh(), "a source is newer");
        fs::remove_file(&source).unwrap();
        assert!(!build.is_fresh(), "a source is gone");
    }
}
