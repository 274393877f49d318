//! The binary `pectin`.

/// A transaction is allocated on the thread that reads the request and freed, block by block, on others.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    node::cli::run()
}
