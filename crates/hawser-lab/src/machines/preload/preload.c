// Stands between a machine's kernel and the C library of the host: the kernel is started with this library preloaded.
//
// The library hands on the registers of a processor that has more of them than the kernel knows, such as one with AMX.
// User-mode Linux sets the floating-point registers of its processes from a buffer as large as AVX-512 and protection keys need
// (FP_SIZE, arch/x86/um/os-Linux/registers.c, 6.1). The host takes a whole XSAVE area of its own size or nothing (EFAULT,
// xstateregs_set, arch/x86/kernel/fpu/regset.c), and the first process of such a machine died by it. What lies behind the
// buffer belongs to components that the area's header calls unused, so it is zero: no process of a machine can ask for AMX.
// Whether 6.12 needs it was not tried on such a processor.
//
// The library also spares the host work that changes nothing: to read registers that are known, to set registers twice, to
// run a signal handler in a process for what its instruction says, to copy the whole kernel for each new process.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "access.h"

// From <linux/ptrace.h>, which does not go with <sys/ptrace.h>.
enum { SYSEMU = 31, SYSEMU_SINGLESTEP = 32 };

typedef long (*ptrace_function)(enum __ptrace_request, pid_t, void *, void *);
typedef void *(*mmap_function)(void *, size_t, int, int, int, off64_t);
typedef int (*begin_function)(void *);
typedef int (*clone_function)(begin_function, void *, int, void *, ...);

static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);
	if (!function)
		errno = ENOSYS;
	return function;
}

// Twice what the largest processor of 2026 has; the kernel's own stacks are small, and one thread of it traces.
static unsigned char area[32768];
static size_t area_size;

// The floating-point registers that the kernel has read or set last. It does so with a buffer of this length, and before
// each step of a process it sets them: nearly always to what it has read after the last one.
static struct {
	pid_t process;
	int has_them;
	size_t length, size;
	unsigned char registers[sizeof(area)];
} known;

static ptrace_function trace;

static void know(pid_t process, size_t length, const struct iovec *registers, int has_them)
{
	known.process = process;
	known.has_them = has_them;
	known.length = length;
	known.size = registers->iov_len;
	memcpy(known.registers, registers->iov_base, registers->iov_len);
}

static long get(pid_t process, struct iovec *into)
{
	// A page fault asks twice.
	if (process == known.process && into->iov_len == known.length) {
		memcpy(into->iov_base, known.registers, known.size);
		into->iov_len = known.size;
		return 0;
	}
	size_t length = into->iov_len;
	long result = trace(PTRACE_GETREGSET, process, (void *)NT_X86_XSTATE, into);
	if (result >= 0)
		know(process, length, into, 1);
	return result;
}

static long set(pid_t process, const struct iovec *given)
{
	if (!area_size) {
		struct iovec all = { area, sizeof(area) };
		if (trace(PTRACE_GETREGSET, process, (void *)NT_X86_XSTATE, &all) < 0)
			return -1;
		area_size = all.iov_len;
		memset(area, 0, sizeof(area));
	}
	if (process == known.process && given->iov_len == known.length &&
	    !memcmp(given->iov_base, known.registers, known.size))
		return 0;
	struct iovec part = *given;
	if (part.iov_len > area_size)
		part.iov_len = area_size;
	know(process, given->iov_len, &part, 0);
	return 0;
}

// The process goes on, with the registers that it was given last.
static long run(pid_t process)
{
	if (!process || process != known.process)
		return 0;
	long result = 0;
	if (!known.has_them && area_size) {
		struct iovec all = { area, area_size };
		memcpy(area, known.registers, known.size);
		result = trace(PTRACE_SETREGSET, process, (void *)NT_X86_XSTATE, &all);
	}
	known.process = 0;
	return result;
}

// A page fault of a process of a machine stops it twice: by its SIGSEGV, and at the end of a handler in it that writes down what
// the kernel must know of it (get_skas_faultinfo, arch/um/os-Linux/skas/process.c; stub_segv_handler, arch/x86/um/stub_segv.c).
// Where its instruction leaves no doubt, the library writes that down in the handler's place.

// The kernel has them read after each stop.
static struct {
	pid_t process;
	struct user_regs_struct registers;
} stopped;

static struct {
	pid_t process;
	siginfo_t signal;
} faulted;

// Where the handler of a process writes, in the kernel's memory. What another one has overwritten is not known.
static struct place {
	pid_t process;
	void *stub;
} places[4096];

static struct place *place_of(pid_t process)
{
	return &places[process % (sizeof(places) / sizeof(*places))];
}

// As if the handler of this process had ended.
static pid_t handled;

// struct faultinfo, arch/x86/um/shared/sysdep/faultinfo_64.h
struct fault {
	int error_code;
	unsigned long address;
	int trap;
};

enum {
	PAGE = 4096,
	LONGEST = 15, // bytes of an instruction
	LONG_MODE = 0x33, // the segment of code in which the tables hold (__USER_CS)
	PAGE_FAULT = 14,
	// Of a page fault's error code, of which the kernel looks at the first:
	WRITE = 2,
	USER = 4,
};

// Has the host write something of a process where the kernel wants it, and keeps a copy.
static long read_of(enum __ptrace_request request, pid_t process, void *into, pid_t *whose, void *copy, size_t size)
{
	long result = trace(request, process, NULL, into);
	*whose = result < 0 ? 0 : process;
	if (result >= 0)
		memcpy(copy, into, size);
	return result;
}

static enum access access_by(pid_t process, unsigned long address)
{
	const struct user_regs_struct *at = &stopped.registers;
	// It cannot be fetched, or not be run, or writes to its own page.
	if (address / PAGE == at->rip / PAGE)
		return faulted.signal.si_code == SEGV_MAPERR ? READS : UNKNOWN;
	// Its end cannot.
	if (address > at->rip && address - at->rip < LONGEST)
		return UNKNOWN;
	if (at->cs != LONG_MODE)
		return UNKNOWN;
	unsigned char code[LONGEST];
	size_t rest = PAGE - at->rip % PAGE;
	struct iovec here = { code, rest < LONGEST ? rest : LONGEST };
	struct iovec there = { (void *)at->rip, here.iov_len };
	ssize_t length = process_vm_readv(process, &here, 1, &there, 1, 0);
	return length < 0 ? UNKNOWN : access_of(code, length, address, at->rsi, at->rdi);
}

// Whether it could do without the handler.
static int handle(pid_t process)
{
	int code = faulted.signal.si_code;
	if (process != stopped.process || process != faulted.process || faulted.signal.si_signo != SIGSEGV ||
	    (code != SEGV_MAPERR && code != SEGV_ACCERR))
		return 0;
	const struct place *place = place_of(process);
	if (place->process != process)
		return 0;
	struct fault *fault = place->stub;
	unsigned long address = (unsigned long)faulted.signal.si_addr;
	enum access access = access_by(process, address);
	// Who cannot read a page that is there may be wrong about its instruction, and must not be so twice.
	if (access == UNKNOWN || (access == READS && code == SEGV_ACCERR))
		return 0;
	fault->error_code = USER | (access == WRITES ? WRITE : 0);
	fault->address = address;
	fault->trap = PAGE_FAULT;
	handled = process;
	return 1;
}

pid_t waitpid(pid_t process, int *status, int options)
{
	if (!handled || process != handled)
		return wait4(process, status, options, NULL);
	handled = 0;
	if (status)
		*status = W_STOPCODE(SIGTRAP);
	return process;
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list rest;
	va_start(rest, request);
	pid_t process = va_arg(rest, pid_t);
	void *address = va_arg(rest, void *);
	void *data = va_arg(rest, void *);
	va_end(rest);
	if (!trace && !(trace = (ptrace_function)next("ptrace")))
		return -1;
	struct iovec *buffer = data;
	switch ((int)request) {
	case PTRACE_GETREGSET:
	case PTRACE_SETREGSET:
		if ((long)address != NT_X86_XSTATE || buffer->iov_len > sizeof(known.registers))
			break;
		return request == PTRACE_GETREGSET ? get(process, buffer) : set(process, buffer);
	case PTRACE_GETREGS:
		return read_of(request, process, data, &stopped.process, &stopped.registers, sizeof(stopped.registers));
	case PTRACE_GETSIGINFO:
		return read_of(request, process, data, &faulted.process, &faulted.signal, sizeof(faulted.signal));
	case PTRACE_SETREGS:
		break;
	case PTRACE_CONT:
		if ((long)data == SIGSEGV && handle(process))
			return 0;
		// The process takes a signal; the host then resets the registers. Without one it runs the kernel's code, which leaves
		// them as they are (`-mno-sse`, arch/x86/Makefile.um).
		if (data)
			known.has_them = 0;
		break;
	case SYSEMU:
	case SYSEMU_SINGLESTEP:
		if (run(process) < 0)
			return -1;
		break;
	default:
		// Among others: a core dump reads them in another form.
		run(process);
	}
	return trace(request, process, address, data);
}

// User-mode Linux copies itself for each new process of a machine (start_userspace, arch/um/os-Linux/skas/process.c), and
// unmaps what the copy has of it (init_new_context, arch/um/kernel/skas/mmu.c). It maps its own memory page by page, so that
// takes long. The library has a small process copied instead: itself a copy of the kernel from before the first process,
// without the memory that the kernel had mapped. The kernel is the parent of both.
enum { STACK = 16384 };

static struct {
	int turn;
	begin_function begin;
	void *with;
	int result;
} *asked;

static clone_function begin_process;
static unsigned char stacks[2][STACK] __attribute__((aligned(16)));
static pid_t small;

static void give_turn(int to)
{
	__atomic_store_n(&asked->turn, to, __ATOMIC_RELEASE);
	syscall(SYS_futex, &asked->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// 0: it has not come within a second.
static int await_turn(int turn)
{
	struct timespec second = { 1, 0 };
	int other;
	while ((other = __atomic_load_n(&asked->turn, __ATOMIC_ACQUIRE)) != turn)
		if (syscall(SYS_futex, &asked->turn, FUTEX_WAIT, other, &second, NULL, 0) < 0 && errno == ETIMEDOUT)
			return 0;
	return 1;
}

enum { KERNEL, SMALL };

static int copy_when_asked(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGWINCH, SIG_IGN);
	// No process of the machine may write there.
	if (madvise(asked, sizeof(*asked), MADV_DONTFORK) < 0)
		_exit(1);
	for (;;) {
		while (!await_turn(SMALL))
			;
		int result = begin_process(asked->begin, stacks[1] + STACK, CLONE_FILES | CLONE_PARENT | SIGCHLD, asked->with);
		asked->result = result < 0 ? -errno : result;
		give_turn(KERNEL);
	}
}

int clone(begin_function begin, void *stack, int flags, void *with, ...)
{
	if (!begin_process && !(begin_process = (clone_function)next("clone")))
		return -1;
	// Helpers of the kernel share its memory; the one that does not is for the size of a terminal, which no machine has.
	if (flags != (CLONE_FILES | SIGCHLD))
		return begin_process(begin, stack, flags, with);
	if (!small) {
		asked = mmap(NULL, sizeof(*asked), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (asked == MAP_FAILED)
			return -1;
		pid_t process = begin_process(copy_when_asked, stacks[0] + STACK, flags, NULL);
		if (process < 0)
			return -1;
		small = process;
	}
	asked->begin = begin;
	asked->with = with;
	give_turn(SMALL);
	while (!await_turn(KERNEL))
		if (waitpid(small, NULL, WNOHANG | __WALL) == small) {
			small = 0;
			errno = EAGAIN;
			return -1;
		}
	if (asked->result < 0) {
		errno = -asked->result;
		return -1;
	}
	*place_of(asked->result) = (struct place){ asked->result, with };
	return asked->result;
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off64_t offset)
{
	static mmap_function map;
	if (!map && !(map = (mmap_function)next("mmap64")))
		return MAP_FAILED;
	void *mapped = map(address, length, protection, flags, file, offset);
	if (mapped != MAP_FAILED && (flags & MAP_SHARED) && (flags & MAP_FIXED))
		madvise(mapped, length, MADV_DONTFORK);
	return mapped;
}
