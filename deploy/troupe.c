/*
 * The program: everything it does stands in deploy/commands/dispatch.c and in a file for each
 * command, so that tests can use them.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "deploy/cli/hide.h"
#include "deploy/commands/dispatch.h"
#include "deploy/common/stream.h"

#define STACK_BYTES (512U << 10)
#define ROOM_BYTES (2U << 20)

/* Uses this much of the stack. */
static __attribute__((noinline)) void touch_stack(void)
{
    volatile char below[STACK_BYTES] __attribute__((unused));
    for (size_t at = STACK_BYTES; at >= 4096; at -= 4096) {
        below[at - 1] = 0;
    }
}

/*
 * Where addresses are bounded the heap may take the last of them, and a stack that cannot grow ends
 * the program by SIGSEGV. So it grows before anything else does, and where there is no room for
 * that nothing begins. Whether it could.
 */
static bool grow_stack(void)
{
    struct rlimit addresses;
    struct rlimit stack;
    if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur == RLIM_INFINITY ||
        getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur < 2 * STACK_BYTES) {
        return true; /* nothing bounds them, or the stack may not grow so far (`ulimit -s`) */
    }
    void *room = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return false;
    }
    munmap(room, ROOM_BYTES);
    touch_stack();
    return true;
}

int main(int argc, char **argv)
{
    if (!grow_stack()) {
        fputs("troupe: the program needs 2 MiB more of memory than it has (`ulimit -v`)\n", stderr);
        return TR_EXIT_ENGINE;
    }
    if (tr_arguments_hide(argc, argv) != 0) {
        fputs("troupe: there is no memory\n", stderr);
        return TR_EXIT_ENGINE;
    }
    tr_streams_open();
    enum tr_exit_status status = tr_program_run(argc, argv);
    tr_streams_close();
    return (int)status;
}
