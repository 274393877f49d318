//! Child processes that end with this process, however it ends.
//!
//! `Drop` ends a child when its owner is dropped, but a process that is killed drops nothing, and its nodes would go on
//! and take ports and processors from whatever runs next. On Linux the kernel can kill a child when its parent ends
//! (`PR_SET_PDEATHSIG`). To ask for that between `fork` and `exec` needs `unsafe`; `setpriv` of util-linux asks for it and
//! then becomes the program, with the same process id. (A parent that ends within that millisecond leaves the child behind.)
//! Where there is no `setpriv` the program is started as it is.

use std::{
    ffi::OsStr,
    io,
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        mpsc::{Sender, channel},
    },
};

/// A command that is to be started with [`spawn`].
pub fn command(program: impl AsRef<OsStr>) -> Command {
    if !has_setpriv() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Whether there is a `setpriv` that can do it.
pub fn has_setpriv() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let mut probe = Command::new("setpriv");
        probe.args(["--pdeathsig", "KILL", "--", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    })
}

/// A command, and where its child is waited for.
type Order = (Command, Sender<io::Result<Child>>);

/// Starts a child. For the kernel the parent is the thread that started it, and a thread of a test may end long before the
/// process does; so one thread starts all children, and ends with the process.
pub fn spawn(command: Command) -> io::Result<Child> {
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (sender, orders) = channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                // Who ordered waits for it.
                let _ = answer.send(command.spawn());
            }
        });
        sender
    });
    let gone = || io::Error::other("the thread that starts children has ended");
    let (answer, child) = channel();
    orders.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}
