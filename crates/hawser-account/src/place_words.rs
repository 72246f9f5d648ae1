//! Where something is, in words.

use hawser_model::finding::Place;

/// `head1`, `head1 and head2`, `head1, head2 and head3`.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [all @ .., one, last] => {
            let all: String = all.iter().map(|name| format!("{name}, ")).collect();
            format!("{all}{one} and {last}")
        }
        few => few.concat(),
    }
}

/// The peer of a place, by its name if there is one.
pub(crate) fn peer(at: &Place) -> &str {
    at.peer.as_ref().map_or("its peers", |host| host.as_str())
}

/// `head2, interface ring0 (link ring0)`.
pub(crate) fn at_interface(at: &Place) -> String {
    let mut text = host(at).to_owned();
    if let Some(interface) = &at.interface {
        text.push_str(&format!(", interface {interface}"));
    }
    if let Some(link) = &at.link {
        text.push_str(&format!(" (link {link})"));
    }
    text
}

/// `from head1 to head2 on ring0`.
pub(crate) fn way(at: &Place) -> String {
    format!("from {} to {}{}", host(at), peer(at), on_link(at))
}

/// ` on ring0`, or nothing for several links.
pub(crate) fn on_link(at: &Place) -> String {
    let link = at.link.as_ref();
    link.map_or(String::new(), |link| format!(" on {link}"))
}

/// `head1 and head2 on ring0`.
pub(crate) fn between(at: &Place) -> String {
    format!("{} and {}{}", host(at), peer(at), on_link(at))
}

/// The interface of a place, by its name if there is one.
pub(crate) fn interface(at: &Place) -> &str {
    let name = at.interface.as_ref();
    name.map_or("the interface", |name| name.as_str())
}

/// The host of a place, by its name if there is one.
pub(crate) fn host(at: &Place) -> &str {
    at.host.as_ref().map_or("a host", |host| host.as_str())
}
