//! Two and more endpoints in one process, over loopback.

mod follow;
mod manners;
mod proof;
mod world;
