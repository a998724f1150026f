/*
 * accept4 as libzmq finds it: the program's own definition comes before the C library's.
 *
 * The dynamic linker takes the first definition of a name, and the executable's comes before that
 * of the C library. So every library of this process accepts through this function. It makes the
 * system call directly, because it hides the C library's accept4.
 */
#include "runtime/link/accept.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint_fast32_t below = UINT32_MAX;

void tri_accept_below(uint32_t number)
{
    atomic_store_explicit(&below, number, memory_order_relaxed);
}

/* Whether an error of accept is one that callers expect: no connection now, maybe later. */
static int is_expected(int number)
{
    return number == EAGAIN || number == EINTR || number == ECONNABORTED || number == EPROTO;
}

int accept4(int listener, __SOCKADDR_ARG address, socklen_t *restrict size, int flags)
{
    int accepted = (int)syscall(SYS_accept4, listener, address.__sockaddr__, size, flags);
    if (accepted < 0) {
        /* libzmq aborts the process for any error that it does not expect. */
        errno = is_expected(errno) ? errno : ECONNABORTED;
        return -1;
    }
    if ((uint32_t)accepted < atomic_load_explicit(&below, memory_order_relaxed)) {
        return accepted;
    }
    /*
     * Descriptors are assigned from the lowest on, so this one shows that all below the limit are
     * in use. The peer sees its connection end without data, which tri_client_next reports as
     * TR_BUSY.
     */
    close(accepted);
    errno = ECONNABORTED;
    return -1;
}
