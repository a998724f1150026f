/*
 * Tests over real processes: a test program runs itself again, in a role, and looks at what is left
 * when that process has ended, however it has ended.
 *
 *     int main(int argc, char **argv)
 *     {
 *         if (child_is_wanted(argc, argv)) {
 *             return play(argv[2], argv[3]);
 *         }
 *         ...
 */
#ifndef TR_TESTS_SUPPORT_CHILD_H
#define TR_TESTS_SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How a child has ended, and the end of what it had to say on stderr. */
struct child {
    pid_t pid;
    int status; /* as of waitpid */
    char text[65536];
};

/* Whether this process is a child: then argv[2] is its role and argv[3] its argument. */
bool child_is_wanted(int argc, char **argv);

/* Runs this program as a child until it has ended; after a minute it is killed. */
void child_run(const char *role, const char *argument, struct child *child);

/* Whether it has ended with status 0. */
bool child_is_well(const struct child *child);

#endif
