//! Packets: their form, their pace, and what becomes of them between two sockets of this machine.

mod common;
mod counting;
mod echo;
mod hello;
mod judgement;
mod loss;
mod multicast;
mod packet;
mod path_mtu;
mod search;
mod sequence;
mod stream;
mod timing;
mod unicast;
