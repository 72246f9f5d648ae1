/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Which watched flow does a packet belong to? Shared by the drop collector and the tap, so
 * that both mean the same by "a packet of the flow".
 *
 * The includer provides load(packet, offset, to, length): zero when the bytes were there.
 * Offsets count from the network header.
 */
#pragma once

/* Names shared with flows.rs. */
enum role {
	ROLE_NONE,
	ROLE_FLOW,		/* addresses, ports and magic */
	ROLE_DAMAGED,		/* addresses and both ports, another magic */
	ROLE_FRAGMENT,		/* a later fragment between the addresses */
	ROLE_ECHO,		/* the way back, whole or a fragment */
};

/* Port 0 stands for later fragments, which carry none. IPv4 addresses are mapped (::ffff:0:0/96). */
struct flow_key {
	u32 source[4];
	u32 destination[4];
	u32 port;		/* destination port, network order */
};

struct flow_value {
	u32 slot;
	u16 role;		/* what a packet found by this key is */
	u16 source_port;	/* network order; 0: any */
	u32 ifindex;		/* the interface that carries it on this host */
};

struct {
	map_uint(type, BPF_MAP_TYPE_HASH);
	map_uint(max_entries, 128);
	map_type(key, struct flow_key);
	map_type(value, struct flow_value);
} flows SEC(".maps");

struct match {
	u32 slot;
	u32 role;
	u32 ifindex;
};

struct ports {
	u16 source;
	u16 destination;
};

#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_UDPLITE 136
#define UDP_HEADER 8

struct ipv4 {
	u8 version_ihl;
	u8 tos;
	u16 length;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 checksum;
	u32 source;
	u32 destination;
};

struct ipv6 {
	u8 version;
	u8 label[3];
	u16 length;
	u8 next;
	u8 hops;
	u32 source[4];
	u32 destination[4];
};

/* Where the transport header is, and what the addresses are. */
struct parsed {
	struct flow_key key;
	u32 transport;
	u8 protocol;
	u8 later_fragment;
};

inlined int parse4(const struct packet *packet, struct parsed *out)
{
	struct ipv4 ip;
	u32 header;

	if (load(packet, 0, &ip, sizeof(ip)))
		return -1;
	header = (ip.version_ihl & 15) * 4;
	if (ip.version_ihl >> 4 != 4 || header < sizeof(ip))
		return -1;
	out->key.source[2] = network32(0xffff);
	out->key.source[3] = ip.source;
	out->key.destination[2] = network32(0xffff);
	out->key.destination[3] = ip.destination;
	out->transport = header;
	out->protocol = ip.protocol;
	out->later_fragment = (ip.fragment & network16(0x1fff)) != 0;
	return 0;
}

inlined int parse6(const struct packet *packet, struct parsed *out)
{
	struct ipv6 ip;
	u32 at = sizeof(ip);
	u8 next, extension[4];

	if (load(packet, 0, &ip, sizeof(ip)) || ip.version >> 4 != 6)
		return -1;
	__builtin_memcpy(out->key.source, ip.source, 16);
	__builtin_memcpy(out->key.destination, ip.destination, 16);
	next = ip.next;
	/* Hop-by-hop and destination options, routing and fragment headers; more is not ours. */
#pragma unroll
	for (int i = 0; i < 3; i++) {
		if (next != 0 && next != 43 && next != 44 && next != 60)
			break;
		if (load(packet, at, extension, sizeof(extension)))
			return -1;
		if (next == 44) {
			u16 offset = extension[2] << 8 | extension[3];

			out->later_fragment = offset >> 3 != 0;
			at += 8;
		} else {
			at += (extension[1] + 1) * 8;
		}
		next = extension[0];
	}
	out->transport = at;
	out->protocol = next;
	return 0;
}

/* The first eight bytes of a probe's payload; set before loading. */
const volatile u64 probe_magic = 0;

inlined int magic_is_other(const struct packet *packet, u32 payload)
{
	u64 found;

	/*
	 * A super-packet being sent keeps its payload in pages that a tracepoint cannot read;
	 * both ports have matched by then, and that must do.
	 */
	if (load(packet, payload, &found, 8))
		return 0;
	return found != probe_magic;
}

/* Finds the flow of a packet; match->role stays ROLE_NONE when there is none. */
inlined void find_flow(const struct packet *packet, struct match *match)
{
	struct parsed parsed = {};
	struct ports ports = {};
	struct flow_value *flow;
	u8 version;

	match->slot = 0;
	match->role = ROLE_NONE;
	match->ifindex = 0;
	if (load(packet, 0, &version, 1))
		return;
	if (version >> 4 == 4) {
		if (parse4(packet, &parsed))
			return;
	} else if (parse6(packet, &parsed)) {
		return;
	}
	if (parsed.protocol != IPPROTO_UDP && parsed.protocol != IPPROTO_TCP &&
	    parsed.protocol != IPPROTO_UDPLITE)
		return;
	if (!parsed.later_fragment) {
		if (load(packet, parsed.transport, &ports, sizeof(ports)))
			return;
		parsed.key.port = ports.destination;
		if (!parsed.key.port)
			return;
	}
	flow = bpf_map_lookup_elem(&flows, &parsed.key);
	if (!flow)
		return;
	match->slot = flow->slot;
	match->ifindex = flow->ifindex;
	if (parsed.later_fragment) {
		match->role = flow->role;
		return;
	}
	if (flow->source_port && flow->source_port != ports.source)
		return;
	if (parsed.protocol == IPPROTO_TCP) {
		/* A segment has no magic; a connection's two ports are nobody else's. */
		if (flow->source_port)
			match->role = flow->role;
		return;
	}
	if (!magic_is_other(packet, parsed.transport + UDP_HEADER))
		match->role = flow->role;
	else if (flow->role == ROLE_FLOW && flow->source_port)
		match->role = ROLE_DAMAGED;
}
