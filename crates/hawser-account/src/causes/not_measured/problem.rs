//! A problem of a measurement, as an agent words it: `HOST: WHAT: CALL ADDRESS: ERROR (os error N)`.

use std::net::{IpAddr, SocketAddr};

use hawser_model::names::HostName;

/// What could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The call and its error without the port, unless one was asked for: it differs from try to try.
    pub(super) said: String,
    /// `bind`, `connect`.
    pub(super) call: String,
    /// The address of the call.
    pub(super) address: Option<IpAddr>,
    /// Its port; 0 asks for any.
    pub(super) port: Option<u16>,
    /// The number of the error.
    pub(super) errno: Option<i32>,
}

impl Problem {
    /// Of a text, and which of these hosts had it, if it says so.
    pub(super) fn read<'a>(text: &str, hosts: [&'a HostName; 2]) -> (Option<&'a HostName>, Self) {
        let own = hosts.into_iter().find_map(|host| {
            let rest = text.strip_prefix(host.as_str())?.strip_prefix(": ")?;
            Some((host, rest))
        });
        // What was to be done stands before the call: "open receiver".
        let error = own.map_or(text, |(_, rest)| {
            rest.split_once(": ").map_or(rest, |(_, error)| error)
        });
        (own.map(|(host, _)| host), Self::of(error))
    }

    fn of(error: &str) -> Self {
        let errno = error.rsplit_once("(os error ");
        let errno = errno.and_then(|(_, n)| n.strip_suffix(')')?.parse().ok());
        let call = error.split(' ').next().unwrap_or_default().to_owned();
        let object = error
            .split_once(' ')
            .and_then(|(_, rest)| rest.split_once(": "));
        let whole = object.and_then(|(address, _)| address.parse::<SocketAddr>().ok());
        let alone = object.and_then(|(address, _)| address.parse().ok());
        let address = whole.map(|whole| whole.ip()).or(alone);
        let port = whole.map(|whole| whole.port());
        let named = call == "bind" && port > Some(0);
        let said = match (address, object) {
            _ if named => error.to_owned(),
            (Some(address), Some((_, rest))) => format!("{call} {address}: {rest}"),
            _ => error.to_owned(),
        };
        Self {
            said,
            call,
            address,
            port,
            errno,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_who_had_it_and_with_which_call() {
        let (a, b) = (HostName::from("head1"), HostName::from("head2"));
        let text =
            "head2: search path MTU: connect 10.72.1.3:35265: Permission denied (os error 13)";
        let (own, problem) = Problem::read(text, [&a, &b]);
        assert_eq!(own, Some(&b));
        assert_eq!(
            problem.said,
            "connect 10.72.1.3: Permission denied (os error 13)"
        );
        assert_eq!(problem.call, "connect");
        assert_eq!(problem.address, "10.72.1.3".parse().ok());
        assert_eq!((problem.port, problem.errno), (Some(35265), Some(13)));
        let (own, problem) = Problem::read("bind 10.77.0.2:0: EADDRNOTAVAIL", [&a, &b]);
        assert_eq!((own, problem.errno), (None, None));
        assert_eq!(problem.said, "bind 10.77.0.2: EADDRNOTAVAIL");
        let (_, problem) = Problem::read("head1: the agent went away", [&a, &b]);
        assert_eq!(problem.said, "the agent went away");
    }
}
