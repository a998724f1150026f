/*
 * A question is eight parts (an empty one from the REQ socket inside ZeroMQ is taken off by REP):
 * version, request id, domain, address, identity, mechanism, and for CURVE the client's public key.
 * An answer is six: version, request id, status, words, user id, metadata.
 *
 * A question of another form, domain or mechanism is refused like an unknown key: ZeroMQ asks for
 * every socket of the context that has a security mechanism or a domain, and only ours have.
 */
#include "runtime/link/zap.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "runtime/memory.h"

#define VERSION "1.0"

enum {
    PART_VERSION,
    PART_REQUEST,
    PART_DOMAIN,
    PART_ADDRESS,
    PART_IDENTITY,
    PART_MECHANISM,
    PART_KEY,
    PART_COUNT
};

/* What we read of a part; longer ones are of no use. */
#define PART_BYTES_MAX 256

struct part {
    uint8_t bytes[PART_BYTES_MAX];
    size_t size;
};

struct tri_zap {
    const struct tri_directory *directory; /* NULL: the gate says */
    struct tri_zap_gate gate;
    char who[TRI_ZAP_WHO_BYTES];
    void *socket;
    uint64_t refused;
    struct part parts[PART_COUNT];
};

static int open_zap(void *context, const struct tri_directory *directory,
                    const struct tri_zap_gate *gate, struct tri_zap **out)
{
    static const char address[] = "inproc://zeromq.zap.01";
    const int linger_ms = 0;
    struct tri_zap *zap = tr_alloc_zero(1, sizeof *zap);
    if (zap == NULL) {
        return TR_MEMORY;
    }
    zap->directory = directory;
    zap->gate = *gate;
    zap->socket = zmq_socket(context, ZMQ_REP);
    int error = zap->socket == NULL ||
                        zmq_setsockopt(zap->socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms) != 0
                    ? TR_SYSTEM
                    : 0;
    if (error == 0 && zmq_bind(zap->socket, address) != 0) {
        error = errno == EADDRINUSE ? TR_EXISTS : TR_SYSTEM;
    }
    if (error != 0) {
        tri_zap_close(zap);
        return error;
    }
    *out = zap;
    return 0;
}

int tri_zap_open(void *context, const struct tri_directory *directory, struct tri_zap **zap)
{
    const struct tri_zap_gate gate = {.domain = TRI_ZAP_DOMAIN};
    return open_zap(context, directory, &gate, zap);
}

int tri_zap_open_gate(void *context, const struct tri_zap_gate *gate, struct tri_zap **zap)
{
    return open_zap(context, NULL, gate, zap);
}

int tri_zap_descriptor(struct tri_zap *zap)
{
    int descriptor = -1;
    size_t size = sizeof descriptor;
    int failed = zmq_getsockopt(zap->socket, ZMQ_FD, &descriptor, &size);
    TR_ASSERT(failed == 0);
    return descriptor;
}

/* Reads one question; false if there is none. `count` gets the number of its parts. */
static bool receive(struct tri_zap *zap, size_t *count)
{
    int is_more = 1;
    for (*count = 0; is_more != 0; (*count)++) {
        struct part unwanted;
        struct part *part = *count < PART_COUNT ? &zap->parts[*count] : &unwanted;
        size_t size = sizeof is_more;
        int got = zmq_recv(zap->socket, part->bytes, sizeof part->bytes, ZMQ_DONTWAIT);
        if (got < 0) {
            return false; /* only the first part can be missing: a message comes whole */
        }
        part->size = (size_t)got;
        int failed = zmq_getsockopt(zap->socket, ZMQ_RCVMORE, &is_more, &size);
        TR_ASSERT(failed == 0);
    }
    return true;
}

static bool is_text(const struct part *part, const char *text)
{
    return part->size == strlen(text) && memcmp(part->bytes, text, part->size) == 0;
}

static bool is_known(struct tri_zap *zap, const struct part *key)
{
    const struct tri_directory *directory = zap->directory;
    if (directory == NULL) {
        return key->size == TR_WIRE_KEY_BYTES &&
               zap->gate.lets_in(zap->gate.self, key->bytes, zap->who);
    }
    for (uint32_t i = 0; key->size == TR_WIRE_KEY_BYTES && i < tri_directory_count(directory);
         i++) {
        const struct tri_neighbour *peer = &directory->peers[i];
        if (peer->has_key && memcmp(peer->key, key->bytes, TR_WIRE_KEY_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

static void send_part(struct tri_zap *zap, const void *bytes, size_t size, int flags)
{
    /* It fails only if the one who asked has gone, who then wants no answer. */
    (void)zmq_send(zap->socket, bytes, size, ZMQ_DONTWAIT | flags);
}

static void send_text(struct tri_zap *zap, const char *text, int flags)
{
    send_part(zap, text, strlen(text), flags);
}

/*
 * A refusal by the directory is one for now (300): a host that has just joined may come before this
 * one has heard of it, and after 400 its socket would never try again. That of a gate is for good.
 */
static void answer(struct tri_zap *zap, bool is_let_in)
{
    const struct part *request = &zap->parts[PART_REQUEST];
    send_text(zap, VERSION, ZMQ_SNDMORE);
    send_part(zap, request->bytes, request->size, ZMQ_SNDMORE);
    send_text(zap, is_let_in ? "200" : zap->directory != NULL ? "300" : "400", ZMQ_SNDMORE);
    send_text(zap, is_let_in ? "known" : "not known", ZMQ_SNDMORE);
    send_text(zap, is_let_in ? zap->who : "", ZMQ_SNDMORE);
    send_text(zap, "", 0);
}

void tri_zap_answer(struct tri_zap *zap)
{
    size_t count = 0;
    while (receive(zap, &count)) {
        zap->who[0] = '\0';
        bool is_ours = count == PART_COUNT && is_text(&zap->parts[PART_VERSION], VERSION) &&
                       is_text(&zap->parts[PART_DOMAIN], zap->gate.domain) &&
                       is_text(&zap->parts[PART_MECHANISM], "CURVE") &&
                       is_known(zap, &zap->parts[PART_KEY]);
        zap->refused += !is_ours;
        answer(zap, is_ours);
    }
}

uint64_t tri_zap_refused(const struct tri_zap *zap)
{
    return zap->refused;
}

void tri_zap_close(struct tri_zap *zap)
{
    if (zap != NULL) {
        if (zap->socket != NULL) {
            zmq_close(zap->socket);
        }
        tr_free(zap);
    }
}
