/* A receiver that loses what it merged: behind a node's own interface, where segments of TCP have
 * been merged (GRO, LRO) or not. Once a connection has brought so many bytes, merged ones are
 * dropped and single ones pass, as a card does whose receive offload has gone wrong.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* Both addresses and both ports. */
struct connection { __u32 word[9]; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} after SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct connection);
	__type(value, __u64);
} brought SEC(".maps");

/* Zero for anything but TCP. Options of IPv4 are not looked for: no stack sends any here. */
static __always_inline int identify(struct __sk_buff *skb, struct connection *c)
{
	__u8 protocol = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		bpf_skb_load_bytes(skb, ETH_HLEN + 9, &protocol, 1);
		bpf_skb_load_bytes(skb, ETH_HLEN + 12, &c->word[0], 8);
		bpf_skb_load_bytes(skb, ETH_HLEN + 20, &c->word[8], 4);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		bpf_skb_load_bytes(skb, ETH_HLEN + 6, &protocol, 1);
		bpf_skb_load_bytes(skb, ETH_HLEN + 8, &c->word[0], 32);
		bpf_skb_load_bytes(skb, ETH_HLEN + 40, &c->word[8], 4);
	}
	return protocol == IPPROTO_TCP;
}

SEC("classifier")
int lose_merged(struct __sk_buff *skb)
{
	struct connection c = {};
	__u64 *limit, *bytes, none = 0;
	__u32 zero = 0;

	limit = bpf_map_lookup_elem(&after, &zero);
	if (!limit || !identify(skb, &c))
		return TC_ACT_UNSPEC;
	bytes = bpf_map_lookup_elem(&brought, &c);
	if (!bytes) {
		bpf_map_update_elem(&brought, &c, &none, BPF_NOEXIST);
		bytes = bpf_map_lookup_elem(&brought, &c);
		if (!bytes)
			return TC_ACT_UNSPEC;
	}
	if (skb->gso_size && *bytes >= *limit)
		return TC_ACT_SHOT;
	__sync_fetch_and_add(bytes, skb->len);
	return TC_ACT_UNSPEC;
}
