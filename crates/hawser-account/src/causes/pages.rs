//! The page of every cause, as `hawser explain CODE` prints it.

/// The folders of all causes.
macro_rules! pages {
    ($($folder:ident),* $(,)?) => {
        /// Each page, by the name of its folder.
        const PAGES: &[(&str, &str)] = &[
            $((stringify!($folder), include_str!(concat!(stringify!($folder), "/page.md")))),*
        ];
    };
}

pages! {
    backlog_overflow,
    bond_one_member,
    buffer_not_granted,
    check_stopped,
    checksum_errors,
    cipher_below_link,
    cipher_chained,
    cipher_without_instructions,
    client_back_off,
    congestion_control,
    conntrack_table_full,
    copy_retransmits,
    corosync_buffer_halved,
    cpu_limit,
    disk_stall,
    duplicate_address,
    duplicated_path,
    engine_throttled,
    failed_start_kept,
    fanout_in_hypervisor,
    fanout_not_measured,
    fanout_not_spread,
    fanout_one_context,
    fence_device_fails,
    firewall_drop,
    foreign_socket_dropping,
    group_not_forwarded,
    half_duplex,
    igmp_no_querier,
    igmp_version_mixed,
    interface_down,
    ip_layer_drop,
    kernel_cipher_slow,
    link_down,
    loss_between_hosts,
    lro_on_forwarder,
    monitor_interval,
    mtu_black_hole,
    mtu_mismatch,
    multicast_join_refused,
    multicast_ttl_scope,
    needless_fragmentation,
    neighbour_unresolved,
    nic_errors,
    nic_ring_overflow,
    no_gratuitous_arp,
    no_listener,
    not_measured,
    path_mtu_below_interface,
    pause_storm,
    policer,
    pool_at_boot,
    power_wait,
    rate_after_burst,
    rate_limit,
    reader_stalled,
    reader_too_slow,
    reassembly_failure,
    receive_buffer_too_small,
    receive_merging_stall,
    receive_window,
    reordered_path,
    reverse_path_filter,
    rung_not_measured,
    send_refused,
    sender_queue_drops,
    serial_exports,
    shared_failure_domain,
    single_stream,
    slow_import,
    small_frames,
    softirq_core_saturated,
    speed_below_file,
    speed_below_peer,
    static_fence_delay,
    storage_below_link,
    takeover_waited_for_human,
    tc_or_xdp_drop,
    token_longer_than_needed,
    udp_memory_pressure,
    unattributed_loss,
    unattributed_outage,
    unit_below_link,
    window_too_small,
    wrong_interface,
}

/// The page of the cause with this code, in Markdown. `None`: there is no such cause.
pub fn page(code: &str) -> Option<&'static str> {
    let folder = code.replace('-', "_");
    let mut pages = PAGES.iter();
    let (_, page) = pages.find(|(name, _)| *name == folder)?;
    Some(page)
}

/// The code of every cause that has a page.
pub fn pages() -> impl Iterator<Item = String> {
    PAGES.iter().map(|(folder, _)| folder.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_folder_with_a_page_is_named_and_its_page_begins_with_its_code() {
        let causes = concat!(env!("CARGO_MANIFEST_DIR"), "/src/causes");
        let folders = fs::read_dir(causes).unwrap().map(|entry| entry.unwrap());
        let mut folders: Vec<String> = folders
            .filter(|entry| entry.path().join("page.md").exists())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        folders.sort();
        let named: Vec<&str> = PAGES.iter().map(|(folder, _)| *folder).collect();
        assert_eq!(named, folders);
        for code in pages() {
            let title = format!("# {code}\n");
            assert!(page(&code).unwrap().starts_with(&title), "{code}");
        }
        assert_eq!(page("no-such-cause"), None);
    }
}
