/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What an eBPF program needs of its environment: section and map notation, helper functions
 * by number (linux/bpf.h). Written out so that the build needs clang and nothing else.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define inlined static inline __attribute__((always_inline))

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_HASH 5
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_NOEXIST 1

#define map_uint(name, value) int (*name)[value]
#define map_type(name, value) typeof(value) *name

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
				   u64 flags) = (void *)2;
static long (*bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 len) = (void *)26;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define network16(x) __builtin_bswap16(x)
#define network32(x) __builtin_bswap32(x)
#else
#define network16(x) (x)
#define network32(x) (x)
#endif
