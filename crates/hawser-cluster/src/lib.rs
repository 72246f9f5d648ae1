//! From hawser.toml to Corosync and Pacemaker: generate, plan, apply, status.
