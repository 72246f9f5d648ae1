/* Faults of one direction of one port of a lab's switch, as tc classifiers.
 *
 * The maps' layouts are repeated in words.rs; every value is an array of 64-bit words.
 * A super-packet (GSO) suffers its fate whole and counts as the packets it holds.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PROTOCOL_ICMPV6 58
#define PROTOCOL_FRAGMENT 44 /* RFC 8200, 4.5 */

char LICENSE[] SEC("license") = "GPL";

#define MILLION 1000000

/* On a packet that has had its fate and comes through once more ("HW"). A mark does not
 * survive into the node's namespace (skb_scrub_packet). */
#define MARK_DONE 0x48570001

/* Packets held at a time whose overtaking can be told (power of two). */
#define RING 4096

/* The kernel's UDP_MAX_SEGMENTS (include/linux/udp.h); TCP has fewer at any usual MTU. */
#define MOST_SEGMENTS 128

enum config_word {
	ONLY, MTU, LOSS, BURST_LOST, BURST_EVERY, GE_WORSE, GE_BETTER, CORRUPT, DUPLICATE,
	REORDER, HOLD_IFINDEX, PORT_IFINDEX, CONFIG_WORDS = 16
};
enum count_word {
	SEEN, LOST, TOO_BIG, CORRUPTED, DUPLICATED, HELD, RELEASED, OVERTAKEN, COUNT_WORDS
};
enum memory_word { POSITION, GE_BAD, PASSED, MEMORY_WORDS };

struct config { __u64 word[CONFIG_WORDS]; };
struct counts { __u64 word[COUNT_WORDS]; };
struct memory { __u64 word[MEMORY_WORDS]; __u64 passed_at[RING]; };

#define SINGLE(name_, type_)                          \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_ARRAY);     \
		__uint(max_entries, 1);               \
		__type(key, __u32);                   \
		__type(value, type_);                 \
	} name_ SEC(".maps")

SINGLE(config, struct config);
SINGLE(counts, struct counts);
SINGLE(memory, struct memory);

struct packet {
	__u8 protocol;
	/* Offset of the transport's payload; later fragments have nothing else. */
	__u32 payload;
};

static __always_inline int hit(__u64 per_million)
{
	return per_million && bpf_get_prandom_u32() % MILLION < per_million;
}

static __always_inline __u32 packets_in(struct __sk_buff *skb)
{
	return skb->gso_segs > 1 ? skb->gso_segs : 1;
}

static __always_inline void transport(struct __sk_buff *skb, struct packet *p, __u32 at)
{
	__u8 byte = 0;

	p->payload = at;
	if (p->protocol == IPPROTO_UDP || p->protocol == IPPROTO_ICMP ||
	    p->protocol == PROTOCOL_ICMPV6) {
		p->payload = at + 8;
	} else if (p->protocol == IPPROTO_TCP) {
		bpf_skb_load_bytes(skb, at + 12, &byte, 1);
		p->payload = at + (byte >> 4) * 4;
	}
}

/* Zero protocol and payload for anything but IP. */
static __always_inline struct packet parse(struct __sk_buff *skb)
{
	struct packet p = {};
	__u8 byte = 0;
	__u16 fragment = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		bpf_skb_load_bytes(skb, ETH_HLEN, &byte, 1);
		bpf_skb_load_bytes(skb, ETH_HLEN + 9, &p.protocol, 1);
		bpf_skb_load_bytes(skb, ETH_HLEN + 6, &fragment, 2);
		__u32 at = ETH_HLEN + (byte & 0xf) * 4;
		if (fragment & bpf_htons(0x1fff))
			p.payload = at;
		else
			transport(skb, &p, at);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		bpf_skb_load_bytes(skb, ETH_HLEN + 6, &p.protocol, 1);
		__u32 at = ETH_HLEN + 40;
		if (p.protocol == PROTOCOL_FRAGMENT) {
			bpf_skb_load_bytes(skb, at, &p.protocol, 1);
			bpf_skb_load_bytes(skb, at + 2, &fragment, 2);
			at += 8;
			if (fragment & bpf_htons(0xfff8)) {
				p.payload = at;
				return p;
			}
		}
		transport(skb, &p, at);
	}
	return p;
}

/* The size of the largest IP packet this will be on a wire. */
static __always_inline __u32 wire_size(struct __sk_buff *skb, const struct packet *p)
{
	if (skb->gso_size && p->payload > ETH_HLEN)
		return p->payload - ETH_HLEN + skb->gso_size;
	return skb->len - ETH_HLEN;
}

static __always_inline int is_lost(struct config *c, struct memory *m)
{
	int lost = hit(c->word[LOSS]);

	if (c->word[BURST_EVERY]) {
		__u64 n = __sync_fetch_and_add(&m->word[POSITION], 1);
		/* The run ends each period, so that the first packets of a flow pass. */
		lost |= n % c->word[BURST_EVERY] >= c->word[BURST_EVERY] - c->word[BURST_LOST];
	}
	if (c->word[GE_WORSE]) {
		if (m->word[GE_BAD])
			m->word[GE_BAD] = !hit(c->word[GE_BETTER]);
		else
			m->word[GE_BAD] = hit(c->word[GE_WORSE]);
		lost |= m->word[GE_BAD] != 0;
	}
	return lost;
}

/* Flips one bit of the payload behind the transport's header, checksums left as they are. */
static __always_inline int corrupt(struct __sk_buff *skb, const struct packet *p)
{
	__u8 byte = 0;

	if (!p->payload || p->payload >= skb->len)
		return 0;
	__u32 at = p->payload + bpf_get_prandom_u32() % (skb->len - p->payload);
	if (bpf_skb_load_bytes(skb, at, &byte, 1))
		return 0;
	byte ^= 1 << (bpf_get_prandom_u32() & 7);
	return bpf_skb_store_bytes(skb, at, &byte, 1, 0) == 0;
}

static __always_inline int impair(struct __sk_buff *skb, __u64 redirect_flags)
{
	__u32 zero = 0;
	struct config *c = bpf_map_lookup_elem(&config, &zero);
	struct counts *n = bpf_map_lookup_elem(&counts, &zero);
	struct memory *m = bpf_map_lookup_elem(&memory, &zero);
	__u32 packets = packets_in(skb);
	struct packet p;

	if (!c || !n || !m)
		return TC_ACT_UNSPEC;
	if (skb->mark == MARK_DONE) {
		skb->mark = 0;
		return TC_ACT_UNSPEC;
	}
	p = parse(skb);
	if (c->word[ONLY] && c->word[ONLY] != p.protocol)
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&n->word[SEEN], packets);

	if (c->word[MTU] && wire_size(skb, &p) > c->word[MTU]) {
		__sync_fetch_and_add(&n->word[TOO_BIG], packets);
		return TC_ACT_SHOT;
	}
	if (is_lost(c, m)) {
		__sync_fetch_and_add(&n->word[LOST], packets);
		return TC_ACT_SHOT;
	}
	if (hit(c->word[CORRUPT]) && corrupt(skb, &p))
		__sync_fetch_and_add(&n->word[CORRUPTED], packets);
	if (hit(c->word[DUPLICATE])) {
		skb->mark = MARK_DONE;
		if (bpf_clone_redirect(skb, skb->ifindex, redirect_flags) == 0)
			__sync_fetch_and_add(&n->word[DUPLICATED], packets);
		skb->mark = 0;
	}
	if (hit(c->word[REORDER]) && c->word[HOLD_IFINDEX]) {
		__u64 held = __sync_fetch_and_add(&n->word[HELD], packets);
		/* A super-packet is cut on its way into the line and comes back in pieces. */
		for (__u32 i = 0; i < MOST_SEGMENTS && i < packets; i++)
			m->passed_at[(held + i) & (RING - 1)] = m->word[PASSED];
		return bpf_redirect(c->word[HOLD_IFINDEX], 0);
	}
	__sync_fetch_and_add(&m->word[PASSED], 1);
	return TC_ACT_UNSPEC;
}

/* Gives a held packet back to the port it was taken from. */
static __always_inline int release(struct __sk_buff *skb, __u64 redirect_flags)
{
	__u32 zero = 0;
	struct config *c = bpf_map_lookup_elem(&config, &zero);
	struct counts *n = bpf_map_lookup_elem(&counts, &zero);
	struct memory *m = bpf_map_lookup_elem(&memory, &zero);

	if (!c || !n || !m || !c->word[PORT_IFINDEX])
		return TC_ACT_SHOT;
	__u64 number = __sync_fetch_and_add(&n->word[RELEASED], 1);
	if (m->word[PASSED] > m->passed_at[number & (RING - 1)])
		__sync_fetch_and_add(&n->word[OVERTAKEN], 1);
	skb->mark = MARK_DONE;
	return bpf_redirect(c->word[PORT_IFINDEX], redirect_flags);
}

/* Towards the node: where the switch sends. */
SEC("classifier")
int to_node(struct __sk_buff *skb)
{
	return impair(skb, 0);
}

SEC("classifier")
int to_node_release(struct __sk_buff *skb)
{
	return release(skb, 0);
}

/* From the node: where the switch receives. */
SEC("classifier")
int from_node(struct __sk_buff *skb)
{
	return impair(skb, BPF_F_INGRESS);
}

SEC("classifier")
int from_node_release(struct __sk_buff *skb)
{
	return release(skb, BPF_F_INGRESS);
}
