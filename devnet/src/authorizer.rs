//! Who may use the cores of a development network: the authorizers' code, as it stands on chain.
//!
//! The code is compiled from `guest/authorizer`, outside of the workspace, and committed beside this crate with its hashes and its
//! compiler (`authorizers.toml`).

use alloy_primitives::Bytes;
use jam::{Ed25519Key, Hash, hash::blake2b};

/// What lets a package onto a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Authorizer {
    /// A token that is the configuration, which is empty: any client may use the cores.
    #[default]
    Null,
    /// The builder's signature of the package: no other client may use the cores that are paid for.
    Builder,
}

impl Authorizer {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Null, Self::Builder];

    /// The code.
    pub const fn code(self) -> Bytes {
        Bytes::from_static(match self {
            Self::Null => include_bytes!("../authorizer-null.jam"),
            Self::Builder => include_bytes!("../authorizer-builder.jam"),
        })
    }

    /// The code's hash.
    pub fn code_hash(self) -> Hash {
        blake2b(&[&self.code()])
    }

    /// What it is set up with, for a builder.
    pub fn config(self, builder: &Ed25519Key) -> Bytes {
        match self {
            Self::Null => Bytes::new(),
            Self::Builder => Bytes::copy_from_slice(builder.as_slice()),
        }
    }

    /// What pools and queues know it by.
    pub fn hash(self, builder: &Ed25519Key) -> Hash {
        blake2b(&[self.code_hash().as_slice(), &self.config(builder)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jam::{Ed25519Secret, Params, WorkPackage, codec::Encode, sample::Sample};
    use pvm::{EngineKind, Limits, Machines};

    #[test]
    fn the_committed_code_has_the_committed_hashes() {
        let told = include_str!("../authorizers.toml");
        for (authorizer, name) in [(Authorizer::Null, "null"), (Authorizer::Builder, "builder")] {
            let line = format!("{name} = \"{}\"", alloy_primitives::hex::encode(authorizer.code_hash()));
            assert!(told.lines().any(|other| other == line), "{line} is not in\n{told}");
        }
    }

    fn package(authorizer: Authorizer, builder: &Ed25519Secret) -> WorkPackage {
        let mut source = jam::sample::Source::new(&Params::TINY, 7);
        let mut package = WorkPackage::sample(&mut source);
        package.auth_code_hash = authorizer.code_hash();
        package.authorizer_config = authorizer.config(&builder.public());
        package
    }

    /// The package with a signature of it.
    fn signed(mut package: WorkPackage, secret: &Ed25519Secret) -> WorkPackage {
        package.authorization = vec![0; 64].into();
        let message = [&b"pectin_package"[..], &package.encode()].concat();
        package.authorization = secret.sign_bytes(&message).to_vec().into();
        package
    }

    /// The gas, if the package may pass.
    fn gas(authorizer: Authorizer, package: &WorkPackage) -> Option<u64> {
        let machines = Machines::new(EngineKind::Interpreter).unwrap();
        let code = authorizer.code();
        let said = machines.authorize(&Params::TINY, package, 0, Some(&code), Limits::NONE).unwrap();
        assert!(said.trace.as_ref().is_err() || said.trace.as_ref().is_ok_and(|trace| trace.is_empty()));
        said.trace.ok().map(|_| said.gas_used)
    }

    #[test]
    fn the_null_authorizer_wants_the_configuration() {
        let mut package = package(Authorizer::Null, &Ed25519Secret::trivial(9));
        package.authorization = Bytes::new();
        println!("null: {:?} gas", gas(Authorizer::Null, &package));
        assert!(gas(Authorizer::Null, &package).is_some());
        package.authorization = Bytes::from_static(b"x");
        assert_eq!(gas(Authorizer::Null, &package), None);
        package.authorizer_config = Bytes::from_static(b"x");
        assert!(gas(Authorizer::Null, &package).is_some());
        (package.authorization, package.authorizer_config) = (vec![1; 300].into(), vec![1; 300].into());
        assert!(gas(Authorizer::Null, &package).is_some());
        package.authorization = [&[1; 299][..], &[2]].concat().into();
        assert_eq!(gas(Authorizer::Null, &package), None);
    }

    #[test]
    fn the_builders_authorizer_wants_the_builders_signature_of_this_package() {
        let (builder, stranger) = (Ed25519Secret::trivial(9), Ed25519Secret::trivial(8));
        let good = signed(package(Authorizer::Builder, &builder), &builder);
        println!("builder: {:?} gas, {} bytes", gas(Authorizer::Builder, &good), good.encode().len());
        assert!(gas(Authorizer::Builder, &good).is_some());
        let theirs = signed(package(Authorizer::Builder, &builder), &stranger);
        assert_eq!(gas(Authorizer::Builder, &theirs), None);
        let changes: [fn(&mut WorkPackage); 8] = [
            |package| package.auth_code_host ^= 1,
            |package| package.context.anchor.0[0] ^= 1,
            |package| package.context.lookup_anchor_slot ^= 1,
            |package| package.items[0].refine_gas ^= 1,
            |package| package.items[0].service ^= 1,
            |package| package.authorization = Bytes::new(),
            |package| package.authorization = vec![0; 64].into(),
            |package| package.authorizer_config = Ed25519Secret::trivial(7).public().0.to_vec().into(),
        ];
        for change in changes {
            let mut other = good.clone();
            change(&mut other);
            assert_eq!(gas(Authorizer::Builder, &other), None, "{other:?}");
        }
        for at in 0..64 {
            let mut token = good.authorization.to_vec();
            token[at] ^= 1;
            assert_eq!(
                gas(Authorizer::Builder, &WorkPackage { authorization: token.into(), ..good.clone() }),
                None
            );
        }
    }
}
