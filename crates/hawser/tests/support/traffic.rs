//! Counted UDP traffic between two nodes, made by perl, which every Debian system has: lab tests
//! must not depend on Hawser's own traffic engine to judge the lab.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use super::Lab;

/// The port that is sent to.
const PORT: u16 = 5001;

/// Every word of a packet is its number, so that a flipped bit is seen and outvoted.
const RECEIVE: &str = r#"
use Socket;
my ($port, $group) = @ARGV;
socket(my $s, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
setsockopt($s, SOL_SOCKET, 33, pack("i", 1 << 28)) or die "SO_RCVBUFFORCE: $!";
bind($s, sockaddr_in($port, INADDR_ANY)) or die "bind: $!";
$| = 1; print "ready\n";
my ($got, $again, $late, $damaged, $last, %seen) = (0, 0, 0, 0, -1);
my $patience = 3;
while (1) {
    my $r = ''; vec($r, fileno($s), 1) = 1;
    last unless select($r, undef, undef, $patience);
    $patience = 0.7;
    defined recv($s, my $data, 65536, 0) or die "recv: $!";
    my @words = unpack("N*", $data);
    my $n = $words[0] == $words[1] ? $words[0] : $words[2];
    $damaged++ if grep { $_ != $n } @words;
    if ($seen{$n}++) { $again++; next }
    $got++;
    $late++ if $n < $last;
    $last = $n if $n > $last;
}
print "$got $again $late $damaged\n";
"#;

const SEND: &str = r#"
use Socket;
my ($address, $port, $count, $size, $gap) = @ARGV;
socket(my $s, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
my $to = sockaddr_in($port, inet_aton($address));
for my $n (0 .. $count - 1) {
    defined send($s, pack("N", $n) x ($size / 4), 0, $to) or die "send: $!";
    select(undef, undef, undef, $gap) if $gap > 0;
}
"#;

/// What became of packets that one node sent to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub sent: u64,
    /// Distinct packets that arrived.
    pub received: u64,
    /// Further copies.
    pub duplicates: u64,
    /// Arrived after a later one.
    pub reordered: u64,
    /// Arrived with a changed payload, copies included.
    pub damaged: u64,
}

impl Traffic {
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }
}

impl Lab {
    /// Sends `count` UDP packets of `size` payload bytes (a multiple of four, at least twelve) as
    /// fast as perl can.
    #[track_caller]
    pub fn send_udp(&self, from: &str, to: &str, address: &str, count: u64, size: u32) -> Traffic {
        self.send_udp_paced(from, to, address, count, size, Duration::ZERO)
    }

    /// As [`Self::send_udp`], with a pause after each packet.
    #[track_caller]
    pub fn send_udp_paced(
        &self,
        from: &str,
        to: &str,
        address: &str,
        count: u64,
        size: u32,
        gap: Duration,
    ) -> Traffic {
        let port = PORT.to_string();
        let mut receiver = self
            .command(&["exec", to, "--", "perl", "-e", RECEIVE, &port])
            .stdout(Stdio::piped())
            .spawn()
            .expect("hawser runs");
        let mut output = BufReader::new(receiver.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("the receiver speaks");
        assert_eq!(line, "ready\n");
        self.fire_udp(from, address, count, size, gap);
        let mut result = String::new();
        output
            .read_to_string(&mut result)
            .expect("the receiver reports");
        assert!(receiver.wait().expect("the receiver ends").success());
        let numbers: Vec<u64> = result
            .split_whitespace()
            .map(|n| n.parse().expect("a number"))
            .collect();
        let [received, duplicates, reordered, damaged] = numbers[..] else {
            panic!("the receiver said {result:?}");
        };
        Traffic {
            sent: count,
            received,
            duplicates,
            reordered,
            damaged,
        }
    }

    /// Sends UDP packets, whoever may receive them.
    #[track_caller]
    pub fn fire_udp(&self, from: &str, address: &str, count: u64, size: u32, gap: Duration) {
        let numbers = [
            PORT.to_string(),
            count.to_string(),
            size.to_string(),
            gap.as_secs_f64().to_string(),
        ];
        let mut command = vec!["exec", from, "--", "perl", "-e", SEND, address];
        command.extend(numbers.iter().map(String::as_str));
        self.ok(&command);
    }
}
