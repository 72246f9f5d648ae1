// Whether an instruction that cannot go on reads or writes: what a processor tells in the error code of a page fault, and
// ptrace(2) does not hand on. Only instructions of which each access to memory is of one kind are known here, by the opcode
// maps of Intel's manual (SDM, volume 2, appendix A).

#include <stddef.h>

enum access { READS, WRITES, UNKNOWN };

// R, W: it reads, or writes, what its ModR/M byte names in memory. r, w: it has no such byte. c: of the ModR/M byte's middle
// number 7 is a comparison, and all others write. t: 0 and 1 are a test, 2 and 3 write, the rest read. i: 0 and 1 write.
// b: 4 is a test of a bit, 5 and above write. m: it reads at RSI and writes at RDI. A dot: not known.
static const char one_byte[256 + 1] =
	"WWRR....WWRR...." // 00: add, or
	"WWRR....WWRR...." // 10: adc, sbb
	"WWRR....WWRR...." // 20: and, sub
	"WWRR....RRRR...." // 30: xor, cmp
	"................"
	"wwwwwwwwrrrrrrrr" // 50: push, pop
	"...R....wRwR...." // 60: movsxd, push, imul
	"................"
	"cc.cRRWWWWRR...." // 80: the first group, test, xchg, mov
	"............wr.." // 90: pushf, popf
	"....mmrr..wwrrrr" // a0: movs, cmps, stos, lods, scas
	"................"
	"WW.r..WW........" // c0: shifts, ret, mov
	"WWWW............" // d0: shifts
	"........w......." // e0: call
	"......tt......ii"; // f0: the third group, inc, dec

static const char two_bytes[256 + 1] =
	"................"
	"RWRWRRRW........" // 10: movups, movlps, unpack, movhps
	"........RWRWRRRR" // 20: movaps, convert, movntps, compare
	"................"
	"RRRRRRRRRRRRRRRR" // 40: cmov
	".RRRRRRRRRRRRRRR" // 50: arithmetic
	"RRRRRRRRRRRRRRRR" // 60: unpack, compare, movd, movdqa
	"R...RRR........W" // 70: shuffle, compare, movdqa
	"................"
	"WWWWWWWWWWWWWWWW" // 90: set
	"...R.......W...R" // a0: bt, bts, imul
	"WW.W..RR..bWRRRR" // b0: cmpxchg, btr, movzx, the eighth group, btc, bsf, bsr, movsx
	"WWRW..R........." // c0: xadd, compare, movnti, shuffle
	"RRRRRRWRRRRRRRRR" // d0: arithmetic, movq
	"RRRRRRRWRRRRRRRR" // e0: arithmetic, movntdq
	"RRRRRR..RRRRRRR."; // f0: arithmetic

// Of vector instructions (VEX, EVEX) these rows of the second map mean what they do without that prefix.
static int is_vector_row(unsigned char code)
{
	switch (code >> 4) {
	case 0x1:
	case 0x2:
	case 0x5:
	case 0x6:
	case 0x7:
	case 0xd:
	case 0xe:
	case 0xf:
		return 1;
	default:
		return 0;
	}
}

static int is_prefix(unsigned char byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return 1;
	default:
		return 0;
	}
}

static int is_near(unsigned long address, unsigned long begin)
{
	enum { ELEMENT = 8 };
	return address >= begin && address - begin < ELEMENT;
}

// What the instruction of these bytes does at an address; of a string it moves, RSI and RDI.
static enum access access_of(const unsigned char *code, size_t length, unsigned long address, unsigned long rsi,
			     unsigned long rdi)
{
	size_t at = 0;
	int map = 1, vector = 0;
	while (at < length && is_prefix(code[at]))
		at++;
	if (at + 2 > length)
		return UNKNOWN;
	if ((code[at] & 0xf0) == 0x40) { // REX
		at += 1;
	} else if (code[at] == 0xc5) { // VEX
		vector = 1;
		map = 2;
		at += 2;
	} else if (code[at] == 0xc4 || code[at] == 0x62) { // VEX, EVEX
		vector = 1;
		map = (code[at + 1] & (code[at] == 0x62 ? 0x07 : 0x1f)) + 1;
		at += code[at] == 0x62 ? 4 : 3;
	}
	if (!vector && at < length && code[at] == 0x0f) {
		map = 2;
		at++;
	}
	if (at + 2 > length || (map != 1 && map != 2) || (vector && (map == 1 || !is_vector_row(code[at]))))
		return UNKNOWN;
	int in_memory = code[at + 1] >> 6 != 3, middle = code[at + 1] >> 3 & 7;
	switch (map == 1 ? one_byte[code[at]] : two_bytes[code[at]]) {
	case 'r':
		return READS;
	case 'w':
		return WRITES;
	case 'm': {
		int reads = is_near(address, rsi), writes = is_near(address, rdi);
		return reads == writes ? UNKNOWN : writes ? WRITES : READS;
	}
	case 'R':
		return in_memory ? READS : UNKNOWN;
	case 'W':
		return in_memory ? WRITES : UNKNOWN;
	case 'c':
		return !in_memory ? UNKNOWN : middle == 7 ? READS : WRITES;
	case 't':
		return !in_memory ? UNKNOWN : middle == 2 || middle == 3 ? WRITES : READS;
	case 'i':
		return in_memory && middle < 2 ? WRITES : UNKNOWN;
	case 'b':
		return !in_memory || middle < 4 ? UNKNOWN : middle == 4 ? READS : WRITES;
	default:
		return UNKNOWN;
	}
}
