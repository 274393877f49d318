//! The wire between the node and the validators: datagrams pass, until it is cut.
//!
//! The node knows each validator by an address of the judge's, who passes datagrams on in both directions. So the judge
//! can cut the node off from everybody while the validators go on among themselves, which no fault of theirs can do.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::net::UdpSocket;

/// The longest datagram there is.
const DATAGRAM_BYTES_MAX: usize = 65_536;
/// A node that was killed is forgotten after this long without a datagram for it.
const IDLE: Duration = Duration::from_secs(60);

/// All wires of a node. They end with the runtime.
#[derive(Clone, Debug, Default)]
pub(super) struct Wires(Arc<Cut>);

#[derive(Debug, Default)]
struct Cut {
    is_cut: AtomicBool,
    lost: AtomicU64,
}

impl Cut {
    /// Whether a datagram passes; counts those that do not.
    fn passes(&self) -> bool {
        let is_cut = self.is_cut.load(Ordering::Relaxed);
        self.lost.fetch_add(is_cut.into(), Ordering::Relaxed);
        !is_cut
    }
}

impl Wires {
    /// Lays a wire to a validator; gives the address at which the node finds it.
    pub(super) async fn lay(&self, validator: SocketAddr) -> io::Result<SocketAddr> {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = front.local_addr()?;
        tokio::spawn(run(Arc::new(front), validator, self.0.clone()));
        Ok(address)
    }

    /// Cuts all wires, or mends them.
    pub(super) fn cut(&self, is_cut: bool) {
        self.0.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// How many datagrams were lost at a cut so far.
    pub(super) fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

/// Passes on what comes from nodes. Each has a socket of its own towards the validator, as it would have at home.
async fn run(front: Arc<UdpSocket>, validator: SocketAddr, cut: Arc<Cut>) {
    let mut nodes = HashMap::<SocketAddr, Arc<UdpSocket>>::new();
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        // An error here is about an earlier datagram whose receiver is gone.
        let Ok((length, node)) = front.recv_from(&mut buffer).await else { continue };
        if !cut.passes() {
            continue;
        }
        nodes.retain(|_, back| Arc::strong_count(back) > 1);
        let back = match nodes.get(&node) {
            Some(back) => back.clone(),
            None => {
                let Ok(back) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await else { continue };
                let back = Arc::new(back);
                tokio::spawn(return_way(back.clone(), front.clone(), node, cut.clone()));
                nodes.insert(node, back.clone());
                back
            }
        };
        // A lost datagram is nothing new to QUIC.
        let _ = back.send_to(&buffer[..length], validator).await;
    }
}

async fn return_way(back: Arc<UdpSocket>, front: Arc<UdpSocket>, node: SocketAddr, cut: Arc<Cut>) {
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    while let Ok(received) = tokio::time::timeout(IDLE, back.recv_from(&mut buffer)).await {
        let Ok((length, _)) = received else { continue };
        if cut.passes() {
            let _ = front.send_to(&buffer[..length], node).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn datagrams_pass_both_ways_until_the_wire_is_cut() {
        let validator = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let node = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let wires = Wires::default();
        let address = wires.lay(validator.local_addr().unwrap()).await.unwrap();
        let mut buffer = [0; 9];
        node.send_to(b"there", address).await.unwrap();
        let (length, from) = validator.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"there");
        validator.send_to(b"back", from).await.unwrap();
        let (length, from) = node.recv_from(&mut buffer).await.unwrap();
        assert_eq!((&buffer[..length], from), (&b"back"[..], address));

        wires.cut(true);
        node.send_to(b"lost", address).await.unwrap();
        while wires.lost() == 0 {
            tokio::task::yield_now().await;
        }
        wires.cut(false);
        node.send_to(b"again", address).await.unwrap();
        let (length, _) = validator.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"again");
    }
}
