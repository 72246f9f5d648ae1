//! The causes, each a folder with the name of its code, and the lists in which they are asked.
//!
//! Every lost packet is claimed by one cause. Causes are asked in the order of the list, the
//! specific before the general, so that one root cause makes one finding and not five: what a
//! dead link lost is not also a neighbour that cannot be resolved.

use crate::cause::{CheckFind, ClientFind, CopyFind, FanoutFind, LadderFind, Listed, OutageFind};

mod bonds;
pub(crate) mod claims;
pub(crate) mod knet;
pub(crate) mod pattern;
mod tcp_option;

pub(crate) mod pages;

mod address_rewritten;
mod backlog_overflow;
mod bond_member_down;
mod bond_member_silent;
mod bond_not_watched;
mod bond_one_member;
pub(crate) mod buffer_not_granted;
mod cables_swapped;
mod carrier_flaps;
mod certificate_expires;
mod check_stopped;
mod checksum_errors;
mod conntrack_table_full;
mod corosync_buffer_halved;
mod corosync_without_priority;
mod disk_not_running;
mod duplicate_address;
mod duplicated_path;
mod emulated_network_card;
mod fence_device_fails;
mod firewall_drop;
mod foreign_socket_dropping;
mod full_size_lost;
mod group_not_forwarded;
mod half_duplex;
mod igmp_no_querier;
mod igmp_version_mixed;
mod interface_down;
mod ip_layer_drop;
mod ipsec_policy_drop;
mod knet_link_not_active;
mod knet_mtu_too_small;
mod lacp_not_aggregated;
mod link_down;
mod link_slower_than_sibling;
mod loss_between_hosts;
mod lro_on_forwarder;
mod mtu_black_hole;
mod mtu_mismatch;
mod multicast_join_refused;
mod multicast_ttl_scope;
mod multipath_path_lost;
mod needless_fragmentation;
mod neighbour_unresolved;
mod nic_errors;
mod nic_ring_overflow;
mod no_listener;
mod not_measured;
mod other_family_dead;
mod pause_storm;
mod pool_at_boot;
mod reader_stalled;
mod reader_too_slow;
mod reassembly_failure;
mod receive_buffer_too_small;
mod reordered_path;
mod reverse_path_filter;
mod send_refused;
mod sender_queue_drops;
mod shared_failure_domain;
mod size_band_dropped;
mod slot_too_narrow;
mod socket_drain;
mod socket_filter_drop;
mod speed_below_file;
mod tc_or_xdp_drop;
mod token_too_short;
mod tunnel_mtu_too_large;
mod udp_memory_pressure;
mod unattributed_loss;
mod unicast_misdirected;
mod vlan_filtered;
mod vlan_mismatch;
mod wrong_interface;

mod bridge_group_limit;
pub(crate) mod cipher_below_link;
pub(crate) mod cipher_chained;
pub(crate) mod cipher_without_instructions;
mod client_back_off;
mod client_gives_up_early;
mod client_one_path;
mod client_path_held;
mod client_pools_share_nfs;
mod client_portal_of_head;
pub(crate) mod congestion_control;
pub(crate) mod copy_retransmits;
pub(crate) mod cpu_limit;
mod disk_stall;
mod engine_throttled;
mod failed_start_kept;
mod fanout_in_hypervisor;
mod fanout_not_measured;
pub(crate) mod fanout_not_spread;
mod fanout_one_context;
mod fencing_duel;
mod kernel_cipher_slow;
mod monitor_interval;
mod nfs_grace;
mod no_gratuitous_arp;
pub(crate) mod path_mtu_below_interface;
pub(crate) mod policer;
mod power_wait;
pub(crate) mod processors_taken;
mod rate_after_burst;
pub(crate) mod rate_limit;
mod receive_merging_stall;
mod receive_window;
mod rung_not_measured;
mod sack_off;
mod secret_exposed;
pub(crate) mod segment_size_clamped;
mod serial_exports;
pub(crate) mod single_stream;
mod slow_import;
pub(crate) mod small_frames;
mod socket_group_limit;
pub(crate) mod softirq_core_saturated;
pub(crate) mod speed_below_peer;
mod start_failed;
mod static_fence_delay;
pub(crate) mod storage_below_link;
mod storage_segments_resent;
mod takeover_waited_for_human;
mod token_longer_than_needed;
mod unattributed_outage;
mod unexplained_slow_direction;
mod unit_below_link;
pub(crate) mod window_not_scaled;
pub(crate) mod window_too_small;
mod zpool_degraded;

pub use socket_drain::disturbed;

/// What a client of the storage does not bear: it is not served after a takeover, or sees an error in one.
pub(crate) const CLIENTS: &[Listed<ClientFind>] = &[
    Listed::client::<client_gives_up_early::ClientGivesUpEarly>(),
    Listed::client::<client_portal_of_head::ClientPortalOfHead>(),
    Listed::client::<client_one_path::ClientOnePath>(),
    Listed::client::<client_path_held::ClientPathHeld>(),
    Listed::client::<client_pools_share_nfs::ClientPoolsShareNfs>(),
];

/// Why a copy was slow, in the order in which they are asked: those with direct evidence before those that are seen by
/// their effect on the rate alone.
pub(crate) const COPY: &[Listed<CopyFind>] = &[
    Listed::copy::<disk_stall::DiskStall>(),
    Listed::copy::<window_not_scaled::WindowNotScaled>(),
    Listed::copy::<receive_window::ReceiveWindow>(),
    Listed::copy::<receive_merging_stall::ReceiveMergingStall>(),
    Listed::copy::<rate_after_burst::RateAfterBurst>(),
    Listed::copy::<copy_retransmits::CopyRetransmits>(),
];

/// What takes the rate of a path away, in the order in which they are asked.
pub(crate) const LADDER: &[Listed<LadderFind>] = &[
    Listed::ladder::<rung_not_measured::RungNotMeasured>(),
    Listed::ladder::<cpu_limit::CpuLimit>(),
    Listed::ladder::<processors_taken::ProcessorsTaken>(),
    Listed::ladder::<speed_below_peer::SpeedBelowPeer>(),
    Listed::ladder::<path_mtu_below_interface::PathMtuBelowInterface>(),
    Listed::ladder::<segment_size_clamped::SegmentSizeClamped>(),
    Listed::ladder::<window_not_scaled::WindowNotScaled>(),
    Listed::ladder::<window_too_small::WindowTooSmall>(),
    Listed::ladder::<policer::Policer>(),
    Listed::ladder::<rate_limit::RateLimit>(),
    Listed::ladder::<small_frames::SmallFrames>(),
    Listed::ladder::<softirq_core_saturated::SoftirqCoreSaturated>(),
    Listed::ladder::<congestion_control::CongestionControl>(),
    Listed::ladder::<single_stream::SingleStream>(),
    Listed::ladder::<copy_retransmits::ladder::LadderRetransmits>(),
    Listed::ladder::<storage_below_link::StorageBelowLink>(),
    Listed::ladder::<unit_below_link::UnitBelowLink>(),
    Listed::ladder::<cipher_without_instructions::CipherWithoutInstructions>(),
    Listed::ladder::<cipher_chained::CipherChained>(),
    Listed::ladder::<cipher_below_link::CipherBelowLink>(),
    Listed::ladder::<kernel_cipher_slow::KernelCipherSlow>(),
    Listed::ladder::<rung_not_measured::unsteady::UnsteadyRung>(),
];

/// For what a host serves few receivers of one flow, in the order in which they are asked.
pub(crate) const FANOUT: &[Listed<FanoutFind>] = &[
    Listed::fanout::<fanout_not_measured::FanoutNotMeasured>(),
    Listed::fanout::<fanout_one_context::FanoutOneContext>(),
    Listed::fanout::<fanout_not_spread::FanoutNotSpread>(),
    Listed::fanout::<fanout_in_hypervisor::FanoutInHypervisor>(),
    Listed::fanout::<socket_group_limit::SocketGroupLimit>(),
    Listed::fanout::<bridge_group_limit::BridgeGroupLimit>(),
];

/// What makes an outage longer than it has to be, in the order of an outage.
pub(crate) const OUTAGE: &[Listed<OutageFind>] = &[
    Listed::outage::<fencing_duel::FencingDuel>(),
    Listed::outage::<takeover_waited_for_human::TakeoverWaitedForHuman>(),
    Listed::outage::<monitor_interval::MonitorInterval>(),
    Listed::outage::<token_longer_than_needed::TokenLongerThanNeeded>(),
    Listed::outage::<static_fence_delay::StaticFenceDelay>(),
    Listed::outage::<power_wait::PowerWait>(),
    Listed::outage::<slow_import::SlowImport>(),
    Listed::outage::<serial_exports::SerialExports>(),
    Listed::outage::<start_failed::StartFailed>(),
    Listed::outage::<failed_start_kept::FailedStartKept>(),
    Listed::outage::<engine_throttled::EngineThrottled>(),
    Listed::outage::<no_gratuitous_arp::NoGratuitousArp>(),
    Listed::outage::<nfs_grace::NfsGrace>(),
    Listed::outage::<client_back_off::ClientBackOff>(),
    Listed::outage::<unattributed_outage::UnattributedOutage>(),
];

/// All causes, in the order in which they are asked.
pub(crate) const CAUSES: &[Listed<CheckFind>] = &[
    Listed::check::<check_stopped::CheckStopped>(),
    Listed::check::<fence_device_fails::FenceDeviceFails>(),
    Listed::check::<pool_at_boot::PoolAtBoot>(),
    Listed::check::<not_measured::NotMeasured>(),
    Listed::check::<multicast_join_refused::MulticastJoinRefused>(),
    Listed::check::<interface_down::InterfaceDown>(),
    Listed::check::<duplicate_address::DuplicateAddress>(),
    Listed::check::<cables_swapped::CablesSwapped>(),
    Listed::check::<carrier_flaps::CarrierFlaps>(),
    Listed::check::<vlan_filtered::VlanFiltered>(),
    Listed::check::<vlan_mismatch::VlanMismatch>(),
    Listed::check::<bond_member_silent::BondMemberSilent>(),
    Listed::check::<link_down::LinkDown>(),
    Listed::check::<wrong_interface::WrongInterface>(),
    Listed::check::<address_rewritten::AddressRewritten>(),
    Listed::check::<tunnel_mtu_too_large::TunnelMtuTooLarge>(),
    Listed::check::<mtu_mismatch::MtuMismatch>(),
    Listed::check::<mtu_black_hole::MtuBlackHole>(),
    Listed::check::<size_band_dropped::SizeBandDropped>(),
    Listed::check::<needless_fragmentation::NeedlessFragmentation>(),
    Listed::check::<ipsec_policy_drop::IpsecPolicyDrop>(),
    Listed::check::<socket_filter_drop::SocketFilterDrop>(),
    Listed::check::<conntrack_table_full::ConntrackTableFull>(),
    Listed::check::<firewall_drop::FirewallDrop>(),
    Listed::check::<firewall_drop::stream::FilteredStream>(),
    Listed::check::<reverse_path_filter::ReversePathFilter>(),
    Listed::check::<neighbour_unresolved::NeighbourUnresolved>(),
    Listed::check::<tc_or_xdp_drop::TcOrXdpDrop>(),
    Listed::check::<pause_storm::PauseStorm>(),
    Listed::check::<sender_queue_drops::SenderQueueDrops>(),
    Listed::check::<softirq_core_saturated::flow::SaturatedCore>(),
    Listed::check::<nic_ring_overflow::NicRingOverflow>(),
    Listed::check::<nic_ring_overflow::counted::CountedOverflow>(),
    Listed::check::<nic_errors::NicErrors>(),
    Listed::check::<nic_errors::counted::CountedErrors>(),
    Listed::check::<storage_segments_resent::StorageSegmentsResent>(),
    Listed::check::<backlog_overflow::BacklogOverflow>(),
    Listed::check::<checksum_errors::ChecksumErrors>(),
    Listed::check::<reassembly_failure::ReassemblyFailure>(),
    Listed::check::<no_listener::NoListener>(),
    Listed::check::<ip_layer_drop::IpLayerDrop>(),
    Listed::check::<send_refused::SendRefused>(),
    Listed::check::<udp_memory_pressure::UdpMemoryPressure>(),
    Listed::check::<buffer_not_granted::BufferNotGranted>(),
    Listed::check::<reader_too_slow::ReaderTooSlow>(),
    Listed::check::<reader_stalled::ReaderStalled>(),
    Listed::check::<receive_buffer_too_small::ReceiveBufferTooSmall>(),
    Listed::check::<corosync_buffer_halved::CorosyncBufferHalved>(),
    Listed::check::<corosync_without_priority::CorosyncWithoutPriority>(),
    Listed::check::<token_too_short::TokenTooShort>(),
    Listed::check::<token_longer_than_needed::check::LongToken>(),
    Listed::check::<link_slower_than_sibling::LinkSlowerThanSibling>(),
    Listed::check::<knet_link_not_active::KnetLinkNotActive>(),
    Listed::check::<knet_mtu_too_small::KnetMtuTooSmall>(),
    Listed::check::<foreign_socket_dropping::ForeignSocketDropping>(),
    Listed::check::<duplicated_path::DuplicatedPath>(),
    Listed::check::<reordered_path::ReorderedPath>(),
    Listed::check::<multicast_ttl_scope::MulticastTtlScope>(),
    Listed::check::<igmp_no_querier::IgmpNoQuerier>(),
    Listed::check::<group_not_forwarded::GroupNotForwarded>(),
    Listed::check::<igmp_version_mixed::IgmpVersionMixed>(),
    Listed::check::<unicast_misdirected::UnicastMisdirected>(),
    Listed::check::<loss_between_hosts::LossBetweenHosts>(),
    Listed::check::<other_family_dead::OtherFamilyDead>(),
    Listed::check::<receive_merging_stall::stream::StalledStream>(),
    Listed::check::<rate_after_burst::stream::LimitedStream>(),
    Listed::check::<sack_off::SackOff>(),
    Listed::check::<window_not_scaled::WindowNotScaled>(),
    Listed::check::<window_too_small::WindowTooSmall>(),
    Listed::check::<segment_size_clamped::SegmentSizeClamped>(),
    Listed::check::<bond_member_down::BondMemberDown>(),
    Listed::check::<lacp_not_aggregated::LacpNotAggregated>(),
    Listed::check::<bond_not_watched::BondNotWatched>(),
    Listed::check::<bond_one_member::BondOneMember>(),
    Listed::check::<lro_on_forwarder::LroOnForwarder>(),
    Listed::check::<speed_below_file::SpeedBelowFile>(),
    Listed::check::<speed_below_peer::SpeedBelowPeer>(),
    Listed::check::<half_duplex::HalfDuplex>(),
    Listed::check::<slot_too_narrow::SlotTooNarrow>(),
    Listed::check::<emulated_network_card::EmulatedNetworkCard>(),
    Listed::check::<shared_failure_domain::SharedFailureDomain>(),
    Listed::check::<certificate_expires::CertificateExpires>(),
    Listed::check::<secret_exposed::SecretExposed>(),
    Listed::check::<disk_not_running::DiskNotRunning>(),
    Listed::check::<multipath_path_lost::MultipathPathLost>(),
    Listed::check::<zpool_degraded::ZpoolDegraded>(),
    Listed::check::<full_size_lost::FullSizeLost>(),
    Listed::check::<unattributed_loss::UnattributedLoss>(),
    Listed::check::<unexplained_slow_direction::UnexplainedSlowDirection>(),
];
