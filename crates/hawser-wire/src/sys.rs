//! The only unsafe code of the crate: batched datagrams, socket options and scheduling calls
//! for which `nix` and `socket2` have no wrapper that allocates nothing and fits.
#![allow(unsafe_code)]

pub(crate) mod link;
pub(crate) mod option;
pub(crate) mod receive;
pub(crate) mod schedule;
pub(crate) mod send;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What the kernel wrote into an address buffer; absent for other families than IP.
fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: ss_family says the storage, which is large and aligned enough for
            // every address type, holds a sockaddr_in.
            let v4 = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above, for sockaddr_in6.
            let v6 = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// A zeroed C structure for which that is a valid value.
macro_rules! zeroed {
    ($type:ty) => {
        // SAFETY: a plain C structure of integers and pointers; all zero is a valid value.
        unsafe { std::mem::zeroed::<$type>() }
    };
}
use zeroed;
