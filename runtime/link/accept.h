/*
 * How many connections this process takes: libzmq accepts as long as there are descriptors, and
 * ends the process where there are none left. So accept4 is this program's own, for all that is
 * linked into it.
 */
#ifndef TR_RUNTIME_LINK_ACCEPT_H
#define TR_RUNTIME_LINK_ACCEPT_H

#include <stdint.h>

/*
 * From now on a connection whose descriptor would not be below this number is closed at once, and
 * its other side sees that. Descriptors are given from the lowest on, so those above stay free for
 * what else the process opens. UINT32_MAX: all are taken. Any thread.
 */
void tri_accept_below(uint32_t number);

#endif
