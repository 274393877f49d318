//! The binary `pectin`.

fn main() -> std::process::ExitCode {
    node::cli::run()
}
