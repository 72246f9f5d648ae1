//! What a client asks for, as far as it matters here. Pure but for the reading.

use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;

/// A request is no longer, in bytes.
const REQUEST: usize = 8 << 10;

/// Headers of a request.
const HEADERS: usize = 64;

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub asked: Asked,
    /// It is asked in another name than this machine's own. A page from elsewhere can have its own name lead to this
    /// machine, and its reader's browser ask here in that name (DNS rebinding); it cannot have an address for a name.
    pub elsewhere: bool,
    /// What it says of who asks.
    pub authorization: Option<Vec<u8>>,
}

/// What is asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// The thing at this path.
    Get(String),
    /// What is said before it.
    Head(String),
    /// Something that is not answered.
    Other,
    /// Nothing that can be understood.
    #[default]
    Bad,
}

/// Reads one.
///
/// # Errors
/// The connection is gone, or its time is over.
pub fn request(stream: &mut impl Read) -> io::Result<Request> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let came = match stream.read(&mut part) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            came => came?,
        };
        if came == 0 {
            return Ok(Request::default());
        }
        bytes.extend_from_slice(&part[..came]);
        if let Some(request) = parsed(&bytes) {
            return Ok(request);
        }
        if bytes.len() > REQUEST {
            return Ok(Request::default());
        }
    }
}

/// The request, once its head is whole. Absent: more has to come.
fn parsed(bytes: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(status) if status.is_partial() => None,
        Ok(_) => {
            let path = request.path.unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default().to_owned();
            let headers = || request.headers.iter();
            let mut said = headers().filter(|header| is(header, "authorization"));
            let authorization = said.next().map(|header| header.value.to_vec());
            Some(Request {
                asked: match request.method {
                    _ if said.next().is_some() => Asked::Bad,
                    Some("GET") => Asked::Get(path),
                    Some("HEAD") => Asked::Head(path),
                    _ => Asked::Other,
                },
                elsewhere: !headers().filter(|header| is(header, "host")).all(is_ours),
                authorization,
            })
        }
        Err(_) => Some(Request::default()),
    }
}

fn is(header: &httparse::Header<'_>, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

/// Whether a `Host` is an address or this machine by its own name for itself.
fn is_ours(header: &httparse::Header<'_>) -> bool {
    let Ok(host) = std::str::from_utf8(header.value) else {
        return false;
    };
    let host = host.trim();
    let without_port = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let bare = |text: &str| {
        text.trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned()
    };
    [host, without_port]
        .iter()
        .any(|name| name.eq_ignore_ascii_case("localhost") || bare(name).parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn who_asks_is_said_once() {
        let said = |headers: &str| parsed(format!("GET / HTTP/1.1\r\n{headers}\r\n").as_bytes());
        let one = said("authorization: Basic YTpi\r\n").unwrap();
        assert_eq!(one.authorization.as_deref(), Some(&b"Basic YTpi"[..]));
        assert_eq!(one.asked, Asked::Get("/".into()));
        assert_eq!(said("").unwrap().authorization, None);
        let two = said("Authorization: Basic YTpi\r\nAuthorization: Basic YTpi\r\n");
        assert_eq!(two.unwrap().asked, Asked::Bad);
    }

    proptest! {
        #[test]
        fn no_request_makes_it_fall(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            let _asked = parsed(&bytes);
        }
    }
}
