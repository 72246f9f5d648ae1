//! Reading a host: counters, drop reasons, sockets, interfaces. It does not judge.
