//! How validators run authorizers and services: the code that stands on chain, or our service natively.

use crate::guarantor::{Evaluated, PackageRefusal};
use jam::{Bundle, Hash, HeaderHash, PackageHash};
use parking_lot::Mutex;
use pvm::{EngineError, EngineKind, Machines};
use std::{collections::VecDeque, fmt, sync::Arc};
use tokio::sync::OnceCell;

/// Packages of which the validators of a process remember together what they came to.
const SHARED_MAX: usize = 16;

/// How services are refined and accumulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Services {
    /// By the code on chain.
    Code,
    /// Our service by the code in this program, others not at all. That is not what a network of others does.
    Native,
}

/// What validators do unless something else is said.
pub const SERVICES: Services = Services::Code;

/// What runs code, and which part of the work it does. Validators of one process share it.
#[derive(Clone)]
pub struct Execution {
    machines: Arc<Machines>,
    services: Services,
    shared: Option<Arc<Mutex<Shared>>>,
}

/// What an evaluation depends on.
#[derive(Clone, PartialEq, Eq)]
struct Name {
    core: u16,
    package: PackageHash,
    /// The package commits to these too; they stand here because a result is only as good as the code and the state behind it.
    codes: Vec<Hash>,
    lookup_anchor: HeaderHash,
}

/// What packages came to, or will; the newest last.
type Shared = VecDeque<(Name, Cell)>;
/// The place for what a package comes to.
pub(crate) type Cell = Arc<OnceCell<Result<Evaluated, PackageRefusal>>>;

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Execution({:?}, {:?})", self.services, self.machines)
    }
}

impl Execution {
    /// Starts an engine.
    pub fn new(engine: EngineKind, services: Services) -> Result<Self, EngineError> {
        Ok(Self { machines: Arc::new(Machines::new(engine)?), services, shared: None })
    }

    /// The same for validators that trust each other, since one process runs them: each package is refined once. Native refinement is not
    /// shared, so that it measures what validators cost.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = (self.services == Services::Code).then(Arc::default);
        self
    }

    /// What runs code.
    pub const fn machines(&self) -> &Arc<Machines> {
        &self.machines
    }

    /// How services are run.
    pub const fn services(&self) -> Services {
        self.services
    }

    /// The place for what a package comes to, if the validators of this process share it.
    pub(crate) fn place(&self, core: u16, bundle: &Bundle) -> Option<Cell> {
        let mut known = self.shared.as_ref()?.lock();
        let package = &bundle.package;
        let codes = package.items.iter().map(|item| item.code_hash).chain([package.auth_code_hash]);
        let lookup_anchor = package.context.lookup_anchor;
        let name = Name { core, package: package.hash(), codes: codes.collect(), lookup_anchor };
        if let Some((_, cell)) = known.iter().find(|(other, _)| *other == name) {
            return Some(Arc::clone(cell));
        }
        let cell = Cell::default();
        known.push_back((name, Arc::clone(&cell)));
        if known.len() > SHARED_MAX {
            known.pop_front();
        }
        Some(cell)
    }
}
