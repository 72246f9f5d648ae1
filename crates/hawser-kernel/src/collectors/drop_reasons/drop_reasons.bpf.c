/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Counts skb:kfree_skb by place, reason, interface and flow, for one network namespace.
 *
 * The kernel's structures are declared with the few members that are read; where these really
 * are is filled in at load time from the running kernel's type information (CO-RE).
 */
#include "../bpf/bpf.h"

#define kernel_struct __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} kernel_struct;

struct net {
	struct ns_common ns;
} kernel_struct;

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} kernel_struct;

struct sock_common {
	possible_net_t skc_net;
} kernel_struct;

struct sock {
	struct sock_common __sk_common;
} kernel_struct;

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned char *head;
	unsigned int tail;
	unsigned int end;
	u16 mac_header;
	u16 network_header;
} kernel_struct;

struct skb_shared_info {
	unsigned short gso_segs;
} kernel_struct;

#define read(to, from) bpf_probe_read_kernel(&(to), sizeof(to), &(from))

/* The linear part of a packet, from where its network header seems to be. */
struct packet {
	const unsigned char *at;
	u32 length;
};

inlined long load(const struct packet *packet, u32 offset, void *to, u32 length)
{
	if (offset + length > packet->length)
		return -1;
	return bpf_probe_read_kernel(to, length, packet->at + offset);
}

#include "../bpf/flow.h"

/* Set before loading. */
const volatile u32 this_namespace = 0;

enum { SCOPE_THIS_HOST = 1, SCOPE_UNKNOWN = 2 };

struct drop_key {
	u64 location;
	u32 reason;
	u32 ifindex;
	u32 slot;
	u8 role;
	u8 scope;
	u16 epoch;
};

/*
 * Entries are made beforehand: an allocation has no place where a packet is being freed. Whoever reads them begins another
 * epoch before they are all in use, and takes away those of the last one when nobody counts in them any more.
 */
struct {
	map_uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	map_uint(max_entries, 1024);
	map_type(key, struct drop_key);
	map_type(value, u64);
} drops SEC(".maps");

/* 0: whether a window is open. 1: packets for which there was no entry left. 2: the epoch. */
struct {
	map_uint(type, BPF_MAP_TYPE_ARRAY);
	map_uint(max_entries, 3);
	map_type(key, u32);
	map_type(value, u64);
} state SEC(".maps");

/* Network namespaces' numbers start at PROC_DYNAMIC_FIRST, the first one's just below it. */
#define LOWEST_NAMESPACE 0xefffff00

/*
 * The namespace of a net pointer's holder, 0 when it is none. skb->dev shares its place with
 * a scratch word (UDP) and a tree node (TCP, fragments): what was read may be any pointer.
 */
inlined u32 namespace_of(struct net *net)
{
	u32 inum = 0;

	if ((s64)net >= 0 || read(inum, net->ns.inum))
		return 0;
	return inum >= LOWEST_NAMESPACE ? inum : 0;
}

inlined u32 namespace_of_socket(struct sock *sock)
{
	struct net *net = 0;

	if ((s64)sock >= 0 || read(net, sock->__sk_common.skc_net.net))
		return 0;
	return namespace_of(net);
}

inlined u32 namespace_of_device(struct net_device *device)
{
	struct net *net = 0;

	if ((s64)device >= 0 || read(net, device->nd_net.net))
		return 0;
	return namespace_of(net);
}

inlined int is_ip(const unsigned char *head, u32 offset, u32 tail)
{
	u8 first = 0;

	if (offset + 20 > tail || bpf_probe_read_kernel(&first, 1, head + offset))
		return 0;
	/* An IPv4 header has five words at least; IPv6's first byte holds four more bits. */
	return (first >> 4 == 4 && (first & 15) >= 5) || first >> 4 == 6;
}

/*
 * Where the network header is. It is set by the sender's IP layer and, on arrival, by GRO or
 * __netif_receive_skb_core; a packet dropped before that has only a link-layer header.
 */
inlined void find_packet(struct sk_buff *skb, struct packet *packet)
{
	unsigned char *head = 0;
	u32 tail = 0, offset;
	u16 network = 0, mac = 0xffff, type = 0;

	packet->length = 0;
	read(head, skb->head);
	read(tail, skb->tail);
	read(network, skb->network_header);
	read(mac, skb->mac_header);
	offset = network;
	if (mac != 0xffff && (!network || network <= mac || !is_ip(head, network, tail))) {
		offset = mac + 12;
		bpf_probe_read_kernel(&type, 2, head + offset);
		if (type == network16(0x8100) || type == network16(0x88a8)) {
			offset += 4;
			bpf_probe_read_kernel(&type, 2, head + offset);
			if (type == network16(0x8100))
				offset += 4;
		}
		offset += 2;
	}
	if (!is_ip(head, offset, tail))
		return;
	packet->at = head + offset;
	packet->length = tail - offset;
}

/* How many packets it stands for. */
inlined u64 segments(struct sk_buff *skb)
{
	unsigned char *head = 0;
	u32 end = 0;
	u16 count = 0;

	read(head, skb->head);
	read(end, skb->end);
	read(count, ((struct skb_shared_info *)(head + end))->gso_segs);
	return count ? count : 1;
}

inlined void count(const struct drop_key *key, u64 packets)
{
	u64 *value = bpf_map_lookup_elem(&drops, key);
	u32 missed = 1;

	if (!value) {
		u64 none = 0;

		/* Another CPU may be first, or a nested drop may hold the bucket: look again. */
		bpf_map_update_elem(&drops, key, &none, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&drops, key);
	}
	if (value) {
		*value += packets;
		return;
	}
	value = bpf_map_lookup_elem(&state, &missed);
	if (value)
		__sync_fetch_and_add(value, packets);
}

inlined int dropped(struct sk_buff *skb, u64 location, u32 reason, struct sock *rx_sk)
{
	struct drop_key key = { .location = location, .reason = reason };
	struct net_device *device = 0;
	struct sock *sock = 0;
	struct packet packet = {};
	struct match match;
	u32 open = 0, epoch = 2, namespace, device_namespace;
	int ifindex = 0;
	u64 *window = bpf_map_lookup_elem(&state, &open);
	u64 *now = bpf_map_lookup_elem(&state, &epoch);

	if (!window || !*window || !now)
		return 0;
	key.epoch = *now;

	/* The receiving socket is sure, the device nearly, the sending socket is the last word. */
	read(device, skb->dev);
	device_namespace = namespace_of_device(device);
	namespace = namespace_of_socket(rx_sk);
	if (!namespace)
		namespace = device_namespace;
	if (!namespace) {
		read(sock, skb->sk);
		namespace = namespace_of_socket(sock);
	}
	if (namespace && namespace != this_namespace)
		return 0;
	key.scope = namespace ? SCOPE_THIS_HOST : SCOPE_UNKNOWN;

	find_packet(skb, &packet);
	if (packet.length) {
		find_flow(&packet, &match);
		key.slot = match.slot;
		key.role = match.role;
	}
	/* Somebody's packet somewhere on this kernel is nothing to this host. */
	if (!namespace && !key.role)
		return 0;
	if (device_namespace == this_namespace) {
		read(ifindex, device->ifindex);
		key.ifindex = ifindex;
	}
	count(&key, segments(skb));
	return 0;
}

struct arguments {
	u64 argument[4];
};

/* Since Linux 6.11 the tracepoint names the receiving socket. */
SEC("raw_tp/kfree_skb")
int dropped_with_socket(struct arguments *raw)
{
	return dropped((struct sk_buff *)raw->argument[0], raw->argument[1], raw->argument[2],
		       (struct sock *)raw->argument[3]);
}

/* Since Linux 5.17 it names a reason. */
SEC("raw_tp/kfree_skb")
int dropped_with_reason(struct arguments *raw)
{
	return dropped((struct sk_buff *)raw->argument[0], raw->argument[1], raw->argument[2], 0);
}

char LICENSE[] SEC("license") = "GPL";
