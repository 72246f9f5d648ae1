// Lets the kernel of machines run on a processor whose register state is larger than it knows, such as one with AMX: preloaded into it.
//
// User-mode Linux 6.1 sets the floating-point registers of its processes from a buffer as large as AVX-512 and protection keys
// need (FP_SIZE, arch/x86/um/os-Linux/registers.c). The host takes a whole XSAVE area of its own size or nothing (EFAULT,
// xstateregs_set, arch/x86/kernel/fpu/regset.c), and the first process of such a machine died by it. What lies behind the
// buffer belongs to components that the area's header calls unused, so it is zero: no process of a machine can ask for AMX.
// Whether 6.12 needs it was not tried on such a processor.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*ptrace_function)(enum __ptrace_request, pid_t, void *, void *);

// Twice what the largest processor of 2026 has; the kernel's own stacks are small, and one thread of it traces.
static unsigned char area[32768];
static size_t area_size;

static long set(ptrace_function next, pid_t process, void *kind, struct iovec *given)
{
	if (!area_size) {
		struct iovec all = { area, sizeof(area) };
		if (next(PTRACE_GETREGSET, process, kind, &all) < 0)
			return -1;
		area_size = all.iov_len;
		memset(area, 0, sizeof(area));
	}
	if (given->iov_len >= area_size)
		return next(PTRACE_SETREGSET, process, kind, given);
	memcpy(area, given->iov_base, given->iov_len);
	struct iovec all = { area, area_size };
	return next(PTRACE_SETREGSET, process, kind, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_function next;
	va_list rest;
	va_start(rest, request);
	pid_t process = va_arg(rest, pid_t);
	void *address = va_arg(rest, void *);
	void *data = va_arg(rest, void *);
	va_end(rest);
	if (!next)
		next = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");
	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE)
		return set(next, process, address, data);
	return next(request, process, address, data);
}
