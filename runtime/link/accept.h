/*
 * Limits the connections that this process accepts: libzmq accepts as long as there are
 * descriptors, and aborts the process when there are none. So this program defines its own accept4,
 * for all libraries linked into it.
 */
#ifndef TR_RUNTIME_LINK_ACCEPT_H
#define TR_RUNTIME_LINK_ACCEPT_H

#include <stdint.h>

/*
 * From now on a connection whose descriptor would not be below this number is closed at once, which
 * its peer notices. Descriptors are assigned from the lowest on, so those above stay free for other
 * files. UINT32_MAX: no limit. Any thread.
 */
void tri_accept_below(uint32_t number);

#endif
