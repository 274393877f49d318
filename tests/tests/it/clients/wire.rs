//! The wire between a client and the node: passes every byte on, counts the calls among them, and keeps their answers.

use super::count::{Asked, Counted, Reader};
use parking_lot::Mutex;
use std::{net::SocketAddr, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

/// A wire that lasts as long as this.
pub(super) struct Wire {
    address: SocketAddr,
    counted: Arc<Mutex<Counted>>,
    _runtime: Runtime,
}

impl Wire {
    /// Takes connections on a free port and passes them on to the node.
    pub(super) fn start(node: SocketAddr) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let counted = Arc::<Mutex<Counted>>::default();
        let counts = counted.clone();
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, node, counts.clone()));
            }
        });
        Self { address, counted, _runtime: runtime }
    }

    /// Where clients connect.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has passed so far.
    pub(super) fn counted(&self) -> Counted {
        self.counted.lock().clone()
    }
}

/// Passes one connection on in both directions, until either side ends it.
async fn pass(client: TcpStream, node: SocketAddr, counted: Arc<Mutex<Counted>>) {
    let Ok(server) = TcpStream::connect(node).await else { return };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asked = Mutex::new(Asked::default());
    let up = async {
        let (mut reader, mut buffer) = (Reader::default(), vec![0; 64 * 1024]);
        while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
            let was_lost = reader.is_lost();
            for body in reader.take(&buffer[..read]) {
                asked.lock().ask(&body, &mut counted.lock());
            }
            counted.lock().unread += usize::from(!was_lost && reader.is_lost());
            if to_server.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    let down = async {
        let (mut reader, mut buffer) = (Reader::default(), vec![0; 64 * 1024]);
        while let Ok(read @ 1..) = from_server.read(&mut buffer).await {
            for body in reader.take(&buffer[..read]) {
                asked.lock().answer(&body, &mut counted.lock());
            }
            if to_client.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
