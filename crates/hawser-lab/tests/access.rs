//! What the library that is loaded before a machine's kernel makes of instructions that cannot go on
//! (`src/machines/preload/access.h`): told as the processor tells it, or not at all.

use std::fmt::Write as _;

use hawser_tool::Tool;

/// Reads lines of an address, RSI, RDI and the bytes of an instruction, and says what that does there.
const PROGRAM: &str = r#"
#include <stdio.h>
#include "access.h"

int main(void)
{
	unsigned long address, rsi, rdi;
	while (scanf("%lx %lx %lx", &address, &rsi, &rdi) == 3) {
		unsigned char code[15];
		unsigned int byte;
		size_t length = 0;
		while (length < sizeof(code) && scanf("%*[ ]%2x", &byte) == 1)
			code[length++] = byte;
		puts((const char *[]){ "reads", "writes", "unknown" }[access_of(code, length, address, rsi, rdi)]);
	}
}
"#;

/// Where the instructions cannot go on; RSI and RDI are elsewhere.
const ADDRESS: u64 = 0x7000;
/// What stands behind an instruction in memory.
const BEHIND: &str = "90 90 90 90 90 90 90 90 90 90 90 90 90 90 90";

/// As an assembler writes them (GNU as 2.40).
const READS: [(&str, &str); 27] = [
    ("48 8b 07", "mov (%rdi),%rax"),
    ("64 48 8b 04 25 28 00 00 00", "mov %fs:0x28,%rax"),
    ("0f b6 07", "movzbl (%rdi),%eax"),
    ("48 63 07", "movslq (%rdi),%rax"),
    ("80 3f 00", "cmpb $0x0,(%rdi)"),
    ("48 03 07", "add (%rdi),%rax"),
    ("f6 07 01", "testb $0x1,(%rdi)"),
    ("48 f7 27", "mulq (%rdi)"),
    ("58", "pop %rax"),
    ("c3", "ret"),
    ("f2 ae", "repnz scas %es:(%rdi),%al"),
    ("f3 a6", "repz cmpsb %es:(%rdi),%ds:(%rsi)"),
    ("ac", "lods %ds:(%rsi),%al"),
    ("0f ba 27 03", "btl $0x3,(%rdi)"),
    ("48 0f 45 07", "cmovne (%rdi),%rax"),
    ("48 0f af 07", "imul (%rdi),%rax"),
    ("0f 10 07", "movups (%rdi),%xmm0"),
    ("f3 44 0f 6f 07", "movdqu (%rdi),%xmm8"),
    ("66 0f 74 07", "pcmpeqb (%rdi),%xmm0"),
    ("66 0f d4 0f", "paddq (%rdi),%xmm1"),
    ("c5 fe 6f 07", "vmovdqu (%rdi),%ymm0"),
    ("c5 fd 74 0f", "vpcmpeqb (%rdi),%ymm0,%ymm1"),
    ("62 e1 fe 48 6f 07", "vmovdqu64 (%rdi),%zmm16"),
    ("c4 41 7e 6f 09", "vmovdqu (%r9),%ymm9"),
    ("48 3b 07", "cmp (%rdi),%rax"),
    ("84 07", "test %al,(%rdi)"),
    ("6b 07 05", "imul $0x5,(%rdi),%eax"),
];

const WRITES: [(&str, &str); 33] = [
    ("48 89 07", "mov %rax,(%rdi)"),
    ("64 48 89 04 25 28 00 00 00", "mov %rax,%fs:0x28"),
    ("c6 07 01", "movb $0x1,(%rdi)"),
    ("c7 44 cb 10 00 00 00 00", "movl $0x0,0x10(%rbx,%rcx,8)"),
    ("48 83 07 01", "addq $0x1,(%rdi)"),
    ("48 f7 17", "notq (%rdi)"),
    ("ff 07", "incl (%rdi)"),
    ("50", "push %rax"),
    ("6a 05", "push $0x5"),
    ("e8 fb ff ff ff", "call"),
    ("f3 48 ab", "rep stos %rax,%es:(%rdi)"),
    ("48 87 07", "xchg %rax,(%rdi)"),
    ("f0 48 0f b1 0f", "lock cmpxchg %rcx,(%rdi)"),
    ("f0 48 0f c1 0f", "lock xadd %rcx,(%rdi)"),
    ("f0 0f ba 2f 03", "lock btsl $0x3,(%rdi)"),
    ("c1 27 02", "shll $0x2,(%rdi)"),
    ("0f 94 07", "sete (%rdi)"),
    ("0f 11 07", "movups %xmm0,(%rdi)"),
    ("0f 29 47 e0", "movaps %xmm0,-0x20(%rdi)"),
    ("66 45 0f 7f 01", "movdqa %xmm8,(%r9)"),
    ("66 0f d6 07", "movq %xmm0,(%rdi)"),
    ("48 0f c3 07", "movnti %rax,(%rdi)"),
    ("66 0f e7 07", "movntdq %xmm0,(%rdi)"),
    ("0f 17 07", "movhps %xmm0,(%rdi)"),
    ("c5 fe 7f 07", "vmovdqu %ymm0,(%rdi)"),
    ("c4 41 7e 7f 09", "vmovdqu %ymm9,(%r9)"),
    ("62 e1 7c 48 11 07", "vmovups %zmm16,(%rdi)"),
    ("62 e1 7f 28 7f 0f", "vmovdqu8 %ymm17,(%rdi)"),
    ("62 f1 7d 48 e7 07", "vmovntdq %zmm0,(%rdi)"),
    ("00 07", "add %al,(%rdi)"),
    ("48 31 07", "xor %rax,(%rdi)"),
    ("d1 27", "shll (%rdi)"),
    ("9c", "pushf"),
];

/// They do both, or are not worth a line of the tables, or touch no memory.
const UNKNOWN: [(&str, &str); 19] = [
    ("ff 17", "call *(%rdi)"),
    ("ff 37", "push (%rdi)"),
    ("8f 07", "pop (%rdi)"),
    ("c9", "leave"),
    ("c8 10 00 00", "enter $0x10,$0x0"),
    ("f3 0f 7e 07", "movq (%rdi),%xmm0"),
    ("66 0f 7e 07", "movd %xmm0,(%rdi)"),
    ("c4 e1 f8 90 0f", "kmovq (%rdi),%k1"),
    ("c4 e1 f8 91 0f", "kmovq %k1,(%rdi)"),
    ("62 f3 7d 20 3e 0f 00", "vpcmpequb (%rdi),%ymm16,%k1"),
    ("c4 e2 7d 78 07", "vpbroadcastb (%rdi),%ymm0"),
    ("dd 07", "fldl (%rdi)"),
    ("dd 1f", "fstpl (%rdi)"),
    ("0f ae 27", "xsave (%rdi)"),
    ("48 89 c3", "mov %rax,%rbx"),
    ("48 01 c3", "add %rax,%rbx"),
    ("66 0f f7 c1", "maskmovdqu %xmm1,%xmm0"),
    ("0f 05", "syscall"),
    (
        "a2 88 77 66 55 44 33 22 11",
        "movabs %al,0x1122334455667788",
    ),
];

#[test]
fn instructions_are_told_as_the_processor_tells_them_or_not_at_all() {
    let mut asked = String::new();
    let mut expected = Vec::new();
    let mut ask = |address: u64, rsi: u64, rdi: u64, code: &str, answer: &'static str| {
        writeln!(asked, "{address:x} {rsi:x} {rdi:x} {code}").unwrap();
        expected.push((code.to_owned(), answer));
    };
    let all = READS.iter().map(|it| (it, "reads"));
    let all = all.chain(WRITES.iter().map(|it| (it, "writes")));
    for ((code, _), answer) in all.chain(UNKNOWN.iter().map(|it| (it, "unknown"))) {
        let in_memory = format!("{code} {BEHIND}");
        ask(ADDRESS, 0, 0, &in_memory[..15 * 3 - 1], answer);
    }
    // A string is moved from one place to another.
    for (rsi, rdi, answer) in [
        (ADDRESS, 0, "reads"),
        (0, ADDRESS, "writes"),
        (ADDRESS - 1, ADDRESS + 64, "reads"),
        (ADDRESS, ADDRESS, "unknown"),
        (0, 0, "unknown"),
    ] {
        ask(ADDRESS, rsi, rdi, "f3 a4 90 90", answer);
    }
    // The rest of it lies in a page that cannot be read, or there is none.
    for cut in [
        "",
        "48",
        "48 89",
        "66 66 66",
        "c5 fe 7f",
        "62 e1 7c 48 11",
        "0f",
    ] {
        ask(ADDRESS, 0, 0, cut, "unknown");
    }
    assert_eq!(told(&asked), expected);
}

/// What the header says of these lines, each beside its bytes.
fn told(asked: &str) -> Vec<(String, &'static str)> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("access");
    let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/src/machines/preload");
    let words = [
        "-O2", "-Wall", "-Wextra", "-Werror", headers, "-x", "c", "-", "-o",
    ];
    let compiler = Tool::new("clang").args(words).args([&program]);
    compiler.input(PROGRAM).text().unwrap();
    let said = Tool::new(&program).input(asked).text().unwrap();
    let known = ["reads", "writes", "unknown"];
    let answers = said
        .lines()
        .map(|line| *known.iter().find(|it| **it == line).unwrap());
    let bytes = asked
        .lines()
        .map(|line| line.splitn(4, ' ').last().unwrap());
    bytes.map(str::to_owned).zip(answers).collect()
}
