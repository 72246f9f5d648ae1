//! The page of a cause on a terminal.

/// Without the targets of links: they are files of the sources. A link to another cause has its code as text.
pub fn plain(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("](") {
        let target = after.split_once(')');
        let text = before.rfind('[').filter(|at| !before[*at..].contains('\n'));
        let (Some(at), Some((_, behind))) = (text, target) else {
            out.push_str(before);
            out.push_str("](");
            rest = after;
            continue;
        };
        out.push_str(&before[..at]);
        out.push_str(&before[at + 1..]);
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_their_text() {
        assert_eq!(
            plain("See [a-b](../a_b/page.md): `x[0]` and [c](d.md).\n"),
            "See a-b: `x[0]` and c.\n"
        );
        assert_eq!(plain("no ]( link"), "no ]( link");
    }
}
