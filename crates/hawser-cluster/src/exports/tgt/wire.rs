//! What tgtd's management socket is told and answers: `struct tgtadm_req` and `tgtadm_rsp` of tgt's
//! `usr/tgtadm.h`, the same in every version from 1.0.60 to 1.0.97.
//!
//! `tgtadm` fills the same structure from its command line. Going past it keeps secrets out of every
//! argument list, and a hundred units need no two hundred processes.

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    New = 0,
    Delete = 1,
    Show = 2,
    Bind = 3,
    Unbind = 4,
    Update = 5,
    Stats = 6,
}

/// To what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mode {
    Target = 1,
    Unit = 2,
    Portal = 3,
    Session = 5,
    Connection = 6,
    Account = 7,
}

/// A request. It may hold a secret, so it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    op: Op,
    mode: Mode,
    tid: i32,
    session: u64,
    unit: u64,
    connection: u32,
    outgoing: bool,
    parameters: String,
}

/// Bytes of `struct tgtadm_req` where integers are aligned to their size.
const HEADER: usize = 120;

/// Bytes of `struct tgtadm_rsp`.
pub const ANSWER: usize = 8;

/// The number of all targets.
const ALL: i32 = -1;

impl Request {
    /// A request about a target.
    pub fn new(op: Op, mode: Mode, tid: u32) -> Self {
        Self {
            op,
            mode,
            tid: i32::try_from(tid).unwrap_or(i32::MAX),
            session: 0,
            unit: u64::MAX,
            connection: 0,
            outgoing: false,
            parameters: String::new(),
        }
    }

    /// Asks what is counted of something. The answer has numbers and nothing else, so no client can write
    /// into it (`tgt_stat_line`, `_stat_iscsi_conn`).
    pub fn count(mode: Mode, tid: u32) -> Self {
        Self::new(Op::Stats, mode, tid)
    }

    /// Asks for everything of a kind.
    pub fn show(mode: Mode) -> Self {
        Self {
            tid: ALL,
            ..Self::new(Op::Show, mode, 0)
        }
    }

    /// About this unit.
    #[must_use]
    pub fn unit(mut self, lun: u16) -> Self {
        self.unit = lun.into();
        self
    }

    /// About this connection.
    #[must_use]
    pub fn connection(mut self, session: u64, connection: u32) -> Self {
        self.session = session;
        self.connection = connection;
        self
    }

    /// About the account with which the target proves itself.
    #[must_use]
    pub fn outgoing(mut self, outgoing: bool) -> Self {
        self.outgoing = outgoing;
        self
    }

    /// With these parameters.
    #[must_use]
    pub fn with(mut self, parameters: String) -> Self {
        self.parameters = parameters;
        self
    }

    /// What is sent.
    pub fn bytes(&self) -> Vec<u8> {
        // The text ends with a zero byte, and is left out when there is none.
        let text = match self.parameters.is_empty() {
            true => Vec::new(),
            false => [self.parameters.as_bytes(), &[0]].concat(),
        };
        let length = u32::try_from(HEADER + text.len()).unwrap_or(u32::MAX);
        let mut driver = [0_u8; 64];
        driver[..5].copy_from_slice(b"iscsi");
        let mut bytes = Vec::with_capacity(HEADER + text.len());
        bytes.extend((self.mode as u32).to_ne_bytes());
        bytes.extend((self.op as u32).to_ne_bytes());
        bytes.extend(driver);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(self.tid.to_ne_bytes());
        bytes.extend(self.session.to_ne_bytes());
        bytes.extend(self.unit.to_ne_bytes());
        bytes.extend(self.connection.to_ne_bytes());
        // Host number, device type (0 is a disk), direction of an account, pack, force.
        for word in [0, 0, u32::from(self.outgoing), 0, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        debug_assert_eq!(bytes.len(), HEADER);
        bytes.extend(text);
        bytes
    }
}

/// The error and the length of the text of an answer.
pub fn answer(bytes: [u8; ANSWER]) -> (u32, usize) {
    let word =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let length = usize::try_from(word(4)).unwrap_or(usize::MAX);
    (word(0), length.saturating_sub(ANSWER))
}

/// There is no such target.
pub const NO_TARGET: u32 = 4;
/// There is no such unit, or not even its target.
pub const NO_UNIT: u32 = 5;
/// There is no such session.
pub const NO_SESSION: u32 = 6;
/// There is no such connection.
pub const NO_CONNECTION: u32 = 7;
/// A target of this number or name exists.
pub const TARGET_EXISTS: u32 = 9;
/// A unit of this number exists.
pub const UNIT_EXISTS: u32 = 10;
/// The access rule exists.
pub const RULE_EXISTS: u32 = 12;
/// There is no such access rule.
pub const NO_RULE: u32 = 13;
/// The account exists, or is bound to the target.
pub const ACCOUNT_EXISTS: u32 = 14;
/// There is no such account, or it is not bound to the target.
pub const NO_ACCOUNT: u32 = 15;
/// Clients are still connected.
pub const CONNECTED: u32 = 19;
/// Commands of a client are being worked on, or it is still connected.
pub const BUSY: [u32; 2] = [CONNECTED, 20];

/// tgtd's error numbers (`usr/tgtadm_error.h`) in words.
pub fn error(number: u32) -> &'static str {
    match number {
        2 => "tgtd is out of memory",
        3 => "tgtd has no iSCSI driver",
        4 => "there is no such target",
        5 => "there is no such unit",
        6 => "there is no such session",
        7 => "there is no such connection",
        8 => "it is not bound",
        9 => "the target exists",
        10 => "the unit exists",
        11 => "it is bound already",
        12 => "the access rule exists",
        13 => "there is no such access rule",
        14 => "the account exists",
        15 => "there is no such account",
        16 => "tgtd has too many accounts",
        17 => "tgtd finds the request invalid; its log says why",
        18 => "the target proves itself with another account",
        19 => "clients are still connected to the target",
        20 => "clients' commands are still being worked on",
        21 => "the driver is active",
        22 => "tgtd cannot do this",
        23 => "tgtd does not know a parameter",
        24 => "a client prevents the removal",
        _ => "tgtd does not say why; its log does (can the volume be opened?)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_laid_out_as_tgtadm_h_says() {
        let request = Request::new(Op::Bind, Mode::Account, 7)
            .outgoing(true)
            .with("user=joe".into());
        let bytes = request.bytes();
        assert_eq!(bytes.len(), 120 + 9);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4)), (7, 3));
        assert_eq!(&bytes[8..14], b"iscsi\0");
        assert_eq!((word(72), word(76)), (129, 7));
        assert_eq!(word(108), 1, "the direction of the account");
        assert_eq!(&bytes[120..], b"user=joe\0");
        assert_eq!(Request::show(Mode::Target).bytes().len(), 120);
    }

    #[test]
    fn an_answer_without_text_has_its_own_length() {
        let bytes = [20, 0, 0, 0, 8, 0, 0, 0];
        assert_eq!(answer(bytes), (20, 0));
    }
}
