//! Experiments on two hosts in network namespaces: what is planted is what is told.

mod collectors;
mod cost;
mod faults;
mod lab;
mod shapes;
