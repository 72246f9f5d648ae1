//! A cluster on one machine: nodes as namespaces, switches as bridges, planted faults.
