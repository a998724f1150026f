/*
 * accept4 as libzmq finds it: the program's own comes before the C library's.
 *
 * The dynamic linker takes the first definition of a name, and the executable's comes before that
 * of the C library. So every library of this process accepts through here, libzmq above all. The
 * system call is made directly, because the C library's accept4 is hidden by this one.
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

/* Whether the accepting side may say so: there is no connection, and later there may be one. */
static int is_expected(int number)
{
    return number == EAGAIN || number == EINTR || number == ECONNABORTED || number == EPROTO;
}

int accept4(int listener, __SOCKADDR_ARG address, socklen_t *restrict size, int flags)
{
    int accepted = (int)syscall(SYS_accept4, listener, address.__sockaddr__, size, flags);
    if (accepted < 0) {
        /* libzmq ends the process for any error that it does not know of. */
        errno = is_expected(errno) ? errno : ECONNABORTED;
        return -1;
    }
    if ((uint32_t)accepted < atomic_load_explicit(&below, memory_order_relaxed)) {
        return accepted;
    }
    /*
     * Descriptors are given from the lowest on, so this one says that all below the number are
     * taken. The other side sees its connection end before a word was said, which tri_client_next
     * calls TR_BUSY.
     */
    close(accepted);
    errno = ECONNABORTED;
    return -1;
}
