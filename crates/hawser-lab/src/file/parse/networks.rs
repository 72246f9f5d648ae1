//! The networks of a link.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::super::reader::{Source, Table, Wrong};
use crate::spec::{LinkSpec, default_ipv4, default_ipv6};

pub(super) fn networks(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    index: usize,
    others: &[LinkSpec],
) -> Result<(Option<Ipv4Net>, Option<Ipv6Net>), Wrong> {
    let ipv4 = network(source, table, "ipv4", "10.72.0.0/24", default_ipv4(index))?;
    let ipv6 = network(
        source,
        table,
        "ipv6",
        "fd48:6177:7365::/64",
        default_ipv6(index),
    )?;
    for other in others {
        // A node would send to one link's address over the other link.
        let both = [
            ("ipv4", ipv4.map(IpNet::V4), other.ipv4.map(IpNet::V4)),
            ("ipv6", ipv6.map(IpNet::V6), other.ipv6.map(IpNet::V6)),
        ];
        for (key, ours, theirs) in both {
            let (Some(ours), Some(theirs)) = (ours, theirs) else {
                continue;
            };
            if ours.contains(&theirs) || theirs.contains(&ours) {
                let at = table
                    .text(key)?
                    .map_or(table.span.clone(), |text| text.span);
                let field = format!("{}.{key}", table.field);
                let found = format!("{ours} overlaps {theirs} of link {}", other.name);
                return Err(source.wrong(at, &field, found, "a network of its own"));
            }
        }
    }
    if ipv4.is_none() && ipv6.is_none() {
        let field = &table.field;
        let found = "neither IPv4 nor IPv6";
        return Err(source.wrong(table.span.clone(), field, found, "at least one of the two"));
    }
    Ok((ipv4, ipv6))
}

fn network<N>(
    source: &Source<'_>,
    table: &Table<'_, '_>,
    key: &str,
    example: &str,
    default: N,
) -> Result<Option<N>, Wrong>
where
    N: std::str::FromStr + Into<IpNet> + Copy,
{
    let Some(text) = table.text(key)? else {
        return Ok(Some(default));
    };
    if text.value == "none" {
        return Ok(None);
    }
    let allowed = format!("a network such as \"{example}\", or \"none\"");
    match text.value.parse::<N>() {
        Ok(net) if net.into().trunc() == net.into() => Ok(Some(net)),
        Ok(net) => {
            let found = format!("\"{}\" is an address in {}", text.value, net.into().trunc());
            Err(source.wrong(text.span, &text.field, found, allowed))
        }
        Err(_) => {
            let found = format!("\"{}\" is no network", text.value);
            Err(source.wrong(text.span, &text.field, found, allowed))
        }
    }
}
