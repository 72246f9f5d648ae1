//! Who may come to a watch that listens where others are: the web configuration of Prometheus' exporters, TLS, passwords.

mod config;
mod credentials;
mod door;
mod tls;
#[cfg(feature = "aws-lc")]
mod yaml;

pub use config::{Clients, DEAREST, TlsConfig, WebConfig, Wrong, parse};
pub use credentials::{Credentials, PasswordVerdict};
pub(crate) use door::no_others;
pub use door::{Door, Doors, WebError};
