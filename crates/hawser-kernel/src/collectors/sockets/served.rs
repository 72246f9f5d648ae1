//! What TCP counts of the connections of clients to the storage of this host (`INET_DIAG_INFO`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use hawser_model::served::{SentSegments, ServedClient};
use hawser_model::units::Packets;

use super::{DIAG_MESSAGE, LOCAL, SOCK_DIAG_BY_FAMILY, SocketDiag, address_at, request};
use crate::KernelError;
use crate::netlink::{find, u32_at, u64_at};

const INET_DIAG_INFO: u16 = 2;
/// `TCP_ESTABLISHED` (`include/net/tcp_states.h`).
const ESTABLISHED: u32 = 1;
/// Where `struct inet_diag_msg` has the client's address, and the socket's cookie, which no other has until the next boot.
const PEER: usize = 24;
const COOKIE: usize = 44;

/// Connections that are read; on a host with so many nothing is told of them.
const MOST: usize = 4096;

/// Clients that a window tells of: those that lost most, and then those that were sent most.
const TOLD: usize = 1024;

/// A segment that was sent again so often without an answer, 1.4 s at least with a retransmission timeout of 0.2 s
/// (`TCP_RTO_MIN`), goes to a client that is off or not reached at all. What it does not get, and what it gets again once it is
/// back, is no loss on a way that works.
const SILENT: u8 = 3;

/// Of `tcpi_options`: both ends have agreed on selective acknowledgements, without which no client says what it had already
/// (`TCPI_OPT_SACK`).
const SACK: u8 = 2;

/// One connection.
#[derive(Debug, PartialEq)]
struct Connection {
    at: IpAddr,
    port: u16,
    client: IpAddr,
    /// How often the oldest segment under way was sent again at its timeout.
    unanswered: u8,
    sent: SentSegments,
    /// Segments with data that were sent again at least, by their bytes. What the kernel had to send again to answer the client's
    /// first packet is among `sent.resent`, has no data, and is no loss: a busy server does so too.
    resent_data: Packets,
}

impl Connection {
    /// All that was sent since there is the connection.
    fn whole(&self) -> SentSegments {
        SentSegments {
            resent: self.sent.resent.min(self.resent_data),
            ..self.sent
        }
    }

    fn is_silent(&self) -> bool {
        self.unanswered >= SILENT
    }
}

type Connections = BTreeMap<u64, Connection>;

/// By the host's address and the client's.
pub(crate) type ByClient = BTreeMap<(IpAddr, IpAddr), SentSegments>;

/// What was sent to clients since they were seen first.
#[derive(Default)]
pub(crate) struct Served {
    /// The ports that were read last: a connection to another one is not new because it was not seen before.
    ports: BTreeSet<u16>,
    /// As they were read last, and the time before: a dump may miss one while others of its place in the kernel's table go.
    before: Option<[Connections; 2]>,
    /// Of the clients that have a connection.
    clients: ByClient,
    /// By the host's address, of all clients that there were.
    totals: BTreeMap<IpAddr, SentSegments>,
}

impl Served {
    /// Reads all connections to these ports. What one has sent before the first reading counts for nothing; one that was not there at the last
    /// two readings is new, and all of it counts: where packets are lost, clients begin anew again and again.
    pub(crate) fn read(
        &mut self,
        diag: &mut SocketDiag,
        ports: &BTreeSet<u16>,
    ) -> Result<ByClient, KernelError> {
        self.take(diag.connections(ports)?);
        self.ports.clone_from(ports);
        Ok(self.clients.clone())
    }

    /// What was sent from each address of the host.
    pub(crate) fn totals(&self) -> &BTreeMap<IpAddr, SentSegments> {
        &self.totals
    }

    fn take(&mut self, now: Connections) {
        let mut clients = ByClient::new();
        for (cookie, connection) in &now {
            let key = (connection.at, connection.client);
            let before = self.clients.get(&key).copied().unwrap_or_default();
            let sum = clients.entry(key).or_insert(before);
            let gain = self.before.as_ref().and_then(|before| {
                match before.iter().find_map(|then| then.get(cookie)) {
                    Some(known) if known.is_silent() => None,
                    Some(known) => connection.sent.since(&known.sent),
                    None => self
                        .ports
                        .contains(&connection.port)
                        .then(|| connection.whole()),
                }
            });
            if let Some(gain) = gain.filter(|_| !connection.is_silent()) {
                *sum += gain;
                *self.totals.entry(connection.at).or_default() += gain;
            }
        }
        self.clients = clients;
        let [last, _] = self.before.take().unwrap_or_default();
        // Where there are more than are counted, it is not known which is new.
        let is_whole = now.len() < MOST;
        self.before = is_whole.then_some([now, last]);
    }
}

/// What each client was sent between two readings.
pub(crate) fn sent_between(before: &ByClient, after: &ByClient) -> Vec<ServedClient> {
    let sent = after.iter().filter_map(|((at, client), sent)| {
        let before = before.get(&(*at, *client)).copied().unwrap_or_default();
        let sent = sent.since(&before)?;
        (!sent.segments.is_zero()).then_some(ServedClient {
            at: *at,
            client: *client,
            sent,
        })
    });
    let mut all: Vec<ServedClient> = sent.collect();
    if all.len() > TOLD {
        all.sort_by_key(|it| std::cmp::Reverse((it.sent.lost(), it.sent.segments)));
        all.truncate(TOLD);
        all.sort_by_key(|it| (it.at, it.client));
    }
    all
}

impl SocketDiag {
    /// The connections to the ports of storage, by their cookies. A kernel without `tcp_diag` refuses.
    fn connections(&mut self, ports: &BTreeSet<u16>) -> Result<Connections, KernelError> {
        let mut all = Connections::new();
        // A server that listens for both families has its clients of IPv4 among those of IPv6.
        for family in [libc::AF_INET, libc::AF_INET6] {
            let request = request(
                family as u8,
                libc::IPPROTO_TCP as u8,
                INET_DIAG_INFO,
                1 << ESTABLISHED,
            );
            let found = self.netlink.dump(
                "SOCK_DIAG_BY_FAMILY",
                SOCK_DIAG_BY_FAMILY,
                &request,
                Connections::new,
                |found, message| {
                    if found.len() < MOST {
                        found.extend(decode(message, ports));
                    }
                },
            )?;
            all.extend(found);
        }
        Ok(all.into_iter().take(MOST).collect())
    }
}

fn decode(message: &[u8], ports: &BTreeSet<u16>) -> Option<(u64, Connection)> {
    let port = u16::from_be_bytes(*message.get(4..)?.first_chunk()?);
    if !ports.contains(&port) {
        return None;
    }
    // struct tcp_info (include/uapi/linux/tcp.h): the kernel only ever adds at the end.
    let info = find(message.get(DIAG_MESSAGE..)?, INET_DIAG_INFO)?;
    let packets = |offset: usize| Some(Packets(u32_at(info, offset)?.into()));
    if info.get(5)? & SACK == 0 {
        return None;
    }
    let segment = u64::from(u32_at(info, 16)?).max(1);
    let connection = Connection {
        at: address_at(message, LOCAL)?.to_canonical(),
        port,
        client: address_at(message, PEER)?.to_canonical(),
        unanswered: *info.get(2)?,
        sent: SentSegments {
            segments: packets(156)?,
            resent: packets(100)?,
            needless: packets(216)?,
        },
        resent_data: Packets(u64_at(info, 208)?.div_ceil(segment)),
    };
    Some((u64_at(message, COOKIE)?, connection))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const PORT: u16 = 3260;
    const HEAD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 72, 2, 207));

    fn client(number: u8) -> IpAddr {
        IpAddr::from([10, 72, 2, number])
    }

    fn sent([segments, resent, needless]: [u64; 3]) -> SentSegments {
        SentSegments {
            segments: Packets(segments),
            resent: Packets(resent),
            needless: Packets(needless),
        }
    }

    fn connection(of: u8, counted: [u64; 3]) -> Connection {
        Connection {
            at: HEAD,
            port: PORT,
            client: client(of),
            unanswered: 0,
            sent: sent(counted),
            resent_data: Packets(counted[1]),
        }
    }

    /// One that has read the port before.
    fn known() -> Served {
        Served {
            ports: [PORT].into(),
            ..Served::default()
        }
    }

    #[test]
    fn each_connection_is_compared_with_itself_and_a_new_one_counts_as_a_whole() {
        let mut served = known();
        served.take([(1, connection(31, [5_000, 900, 3]))].into());
        let first = served.clients.clone();
        assert_eq!(sent_between(&first, &first), []);
        // Both of one client; the second is new.
        let both = [
            (1, connection(31, [5_100, 907, 5])),
            (2, connection(31, [70, 4, 0])),
        ];
        served.take(both.into());
        let then = served.clients.clone();
        let told = |counted| ServedClient {
            at: HEAD,
            client: client(31),
            sent: sent(counted),
        };
        assert_eq!(sent_between(&first, &then), [told([170, 11, 2])]);
        // The first one is not there, and no other has lost what it lost.
        served.take([(2, connection(31, [120, 5, 0]))].into());
        let last = served.clients.clone();
        assert_eq!(sent_between(&then, &last), [told([50, 1, 0])]);
        // It was only missed.
        let both = [
            (1, connection(31, [5_110, 907, 5])),
            (2, connection(31, [120, 5, 0])),
        ];
        served.take(both.into());
        assert_eq!(sent_between(&last, &served.clients), [told([10, 0, 0])]);
        assert_eq!(served.totals(), &[(HEAD, sent([230, 12, 2]))].into());
    }

    #[test]
    fn what_fell_is_no_gain_and_a_client_that_is_gone_is_forgotten() {
        let mut served = known();
        served.take([(1, connection(31, [5_000, 9, 0]))].into());
        served.take([(1, connection(31, [3, 1, 0]))].into());
        assert_eq!(served.totals(), &[].into());
        served.take([(1, connection(31, [103, 2, 0]))].into());
        let before = served.clients.clone();
        served.take(Connections::new());
        assert_eq!(
            served.clients,
            ByClient::new(),
            "no client is remembered for ever"
        );
        served.take([(4, connection(31, [2, 0, 0]))].into());
        assert_eq!(sent_between(&before, &served.clients), []);
        assert_eq!(served.totals(), &[(HEAD, sent([102, 1, 0]))].into());
    }

    #[test]
    fn where_there_are_too_many_nothing_is_taken_for_new() {
        let mut served = Served::default();
        let many = (0..MOST as u64).map(|cookie| (cookie, connection(31, [1, 0, 0])));
        served.take(many.collect());
        served.take([(u64::MAX, connection(31, [9, 9, 0]))].into());
        assert_eq!(served.totals(), &[].into());
    }

    #[test]
    fn a_client_that_is_off_loses_nothing() {
        let mut served = known();
        served.take([(1, connection(31, [100, 0, 0]))].into());
        let silent = Connection {
            unanswered: SILENT,
            ..connection(31, [108, 7, 0])
        };
        served.take([(1, silent)].into());
        // It is back, and gets what it had not got.
        served.take([(1, connection(31, [120, 12, 0]))].into());
        assert_eq!(served.totals(), &[].into());
        served.take([(1, connection(31, [132, 13, 0]))].into());
        assert_eq!(served.totals(), &[(HEAD, sent([12, 1, 0]))].into());
    }

    #[test]
    fn what_a_login_was_answered_again_is_no_loss_of_data() {
        let mut served = known();
        served.take(Connections::new());
        let accepted_late = Connection {
            resent_data: Packets(1),
            ..connection(31, [9, 5, 0])
        };
        served.take([(7, accepted_late)].into());
        assert_eq!(served.totals(), &[(HEAD, sent([9, 1, 0]))].into());
    }

    #[test]
    fn of_many_clients_those_that_lost_are_told() {
        let many = 0..=TOLD as u32;
        let of = |number: u32, lost: u64| {
            let client = IpAddr::from((0x0a00_0000 | number).to_be_bytes());
            (
                (HEAD, client),
                sent([1_000 - u64::from(number) / 2, lost, 0]),
            )
        };
        let last = TOLD as u32;
        let after: ByClient = many.map(|n| of(n, u64::from(n == last))).collect();
        let told = sent_between(&ByClient::new(), &after);
        assert_eq!(told.len(), TOLD);
        assert_eq!(told[TOLD - 1].sent.resent, Packets(1));
    }

    #[test]
    fn a_connection_to_a_port_of_storage_is_counted_and_no_other() {
        let mut diag = SocketDiag::open().unwrap();
        let other = TcpListener::bind("127.77.7.8:0").unwrap();
        let _other = TcpStream::connect(other.local_addr().unwrap()).unwrap();
        let listener = TcpListener::bind("127.77.7.7:0").unwrap();
        let ports = BTreeSet::from([listener.local_addr().unwrap().port()]);
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, from) = listener.accept().unwrap();
        let mut served = Served::default();
        let before = served.read(&mut diag, &ports).unwrap();
        for _ in 0..3 {
            server.write_all(&[7; 100]).unwrap();
            client.read_exact(&mut [0; 100]).unwrap();
        }
        let after = served.read(&mut diag, &ports).unwrap();
        let told = sent_between(&before, &after);
        let own = told
            .iter()
            .find(|it| it.at == listener.local_addr().unwrap().ip());
        let own = own.expect("its own connection");
        assert_eq!(own.client, from.ip());
        assert!(own.sent.segments.0 >= 3, "{own:?}");
        let at_other = |it: &Connection| it.at == other.local_addr().unwrap().ip();
        assert!(!diag.connections(&ports).unwrap().values().any(at_other));
        // One that was there before its port was read counts from then on.
        let both = ports
            .into_iter()
            .chain([other.local_addr().unwrap().port()]);
        let before = served.totals().clone();
        let after = served.read(&mut diag, &both.collect()).unwrap();
        assert!(
            after
                .keys()
                .any(|(at, _)| *at == other.local_addr().unwrap().ip())
        );
        assert_eq!(*served.totals(), before);
    }
}
