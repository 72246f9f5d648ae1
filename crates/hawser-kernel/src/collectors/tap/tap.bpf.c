/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A packet-socket filter that counts the packets of watched flows and lets none in.
 *
 * The socket is of type SOCK_DGRAM, so that packets begin with their network header.
 */
#include "../bpf/bpf.h"

struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 data_meta;
	u64 flow_keys;
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
};

struct packet {
	const struct __sk_buff *skb;
	u32 start;
};

inlined long load(const struct packet *packet, u32 offset, void *to, u32 length)
{
	return bpf_skb_load_bytes(packet->skb, packet->start + offset, to, length);
}

#include "../bpf/flow.h"

#define PACKET_OUTGOING 4
#define SLOTS 16

struct seen {
	u64 intact;
	u64 damaged;
	u64 later_fragments;
};

/* By slot, received first, then sent. */
struct {
	map_uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	map_uint(max_entries, SLOTS * 2);
	map_type(key, u32);
	map_type(value, struct seen);
} taps SEC(".maps");

/*
 * The network header is where the packet begins, except that a VLAN tag which no device took
 * off may come first: type and version must agree, since a tag can look like an address byte.
 */
inlined int find_start(const struct __sk_buff *skb, struct packet *packet)
{
	u16 protocol = skb->protocol;
	struct {
		u16 tag;
		u16 type;
		u8 first;
	} inner;

	if (protocol == network16(0x0800) || protocol == network16(0x86dd))
		return 1;
	if (protocol != network16(0x8100) && protocol != network16(0x88a8))
		return 0;
	if (bpf_skb_load_bytes(skb, 0, &inner, 5))
		return 0;
	if ((inner.type == network16(0x0800) && inner.first >> 4 == 4) ||
	    (inner.type == network16(0x86dd) && inner.first >> 4 == 6))
		packet->start = 4;
	return 1;
}

SEC("socket")
int tap(struct __sk_buff *skb)
{
	struct packet packet = { .skb = skb };
	struct match match;
	struct seen *seen;
	u64 packets = skb->gso_segs ? skb->gso_segs : 1;
	u32 index;

	if (!find_start(skb, &packet))
		return 0;
	find_flow(&packet, &match);
	if (match.role == ROLE_NONE || match.role == ROLE_ECHO || match.ifindex != skb->ifindex)
		return 0;
	index = match.slot * 2 + (skb->pkt_type == PACKET_OUTGOING);
	seen = bpf_map_lookup_elem(&taps, &index);
	if (!seen)
		return 0;
	if (match.role == ROLE_FLOW)
		seen->intact += packets;
	else if (match.role == ROLE_DAMAGED)
		seen->damaged += packets;
	else
		seen->later_fragments += packets;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
