/*
 * The words that every file of the project uses: results that must be looked at, assertions that
 * stay on, views of bytes, and the names by which actors are known on a wire and on a disk.
 *
 * Nothing here allocates, and everything may be used from any thread.
 */
#ifndef TR_SCHEMAS_CODEC_BASE_H
#define TR_SCHEMAS_CODEC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A result that the caller has to look at. */
#define TR_MUST_USE __attribute__((warn_unused_result))

/* printf-like functions are checked by the compiler: the places of the format and its values. */
#define TR_PRINTF(text_place, first_place) __attribute__((format(printf, text_place, first_place)))

#define TR_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define TR_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The number of elements of an array (not of a pointer). */
#define TR_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Our own mistakes end the process, in release builds too: what goes on after a broken invariant
 * would be written to the store.
 */
#define TR_ASSERT(condition)                                  \
    do {                                                      \
        if (TR_UNLIKELY(!(condition))) {                      \
            tr_assert_failed(#condition, __FILE__, __LINE__); \
        }                                                     \
    } while (false)

/* Prints the condition and its place on stderr, runs the hook if there is one, and aborts. */
_Noreturn void tr_assert_failed(const char *condition, const char *file, int line);

/*
 * Sets what runs between the message and the abort (the flight recorder's dump). One hook per
 * process, set before threads start; NULL takes it away.
 */
void tr_assert_hook_set(void (*hook)(void));

/* A view of bytes that it does not own; they live as long as their owner says. */
struct tr_bytes {
    const uint8_t *data;
    size_t size;
};

/* A view of UTF-8 text that it does not own, without a closing zero. */
struct tr_text {
    const char *data;
    size_t size;
};

/* A view of a string with a closing zero. NULL becomes the empty text. */
struct tr_text tr_text_of(const char *string);

/* Whether two views hold the same bytes. */
bool tr_text_equal(struct tr_text a, struct tr_text b);

/* Whether two texts are the same but for the numbers in them: "line 3" and "line 12". */
bool tr_text_alike(struct tr_text a, struct tr_text b);

/* Less than, equal to or greater than 0, by bytes; of a text and its beginning that comes first. */
int tr_text_order(struct tr_text a, struct tr_text b);

/* The same of two things that begin with a struct tr_text, or are one: for qsort. */
int tr_text_order_at(const void *a, const void *b);

/* The one of `count` such things, sorted like that and `size` bytes large; NULL: there is none. */
const void *tr_text_search(struct tr_text text, const void *items, size_t count, size_t size);

/*
 * The name of an actor that is never given twice: the group it was spawned in and the serial of its
 * spawn there. Serial 0 means no actor.
 */
struct tr_key {
    uint64_t group;
    uint64_t serial;
};

/*
 * A key and the incarnation that is meant; incarnation 0 means whichever lives. A reference is a
 * value: it may be kept in states, sent in messages and compared.
 */
struct tr_ref {
    struct tr_key key;
    uint32_t incarnation;
};

/*
 * What a group's number says:
 *
 *     bit 62         set: the group is a host, and its serials are services, workers and the
 *                    program (enum tr_service); clear: it is of actors
 *     bits 48 to 61  the number of that host, 0: it is alone; of a group of actors: the partition
 *                    of all groups that it is in, by which its host is found
 *     bits 0 to 47   drawn when the host started; of a group of actors: counted, with its worker
 *
 * So it is below 2^63, and no group has the number 0.
 */
#define TR_GROUP_HOST_BIT (1ULL << 62)
#define TR_GROUP_HOST_SHIFT 48
#define TR_GROUP_PARTITION_SHIFT TR_GROUP_HOST_SHIFT
#define TR_HOST_NUMBER_MAX 16383

/* Where a group may be missing: it is. What that means is said there, such as "all groups". */
#define TR_GROUP_NONE 0ULL

/*
 * As a receiver's group: the host on which the sender is, whichever that is. As a sender's group it
 * is only in what older programs have stored, and means a host as well.
 */
#define TR_GROUP_HERE 0ULL

static inline bool tr_group_is_none(uint64_t group)
{
    return group == TR_GROUP_NONE;
}

/* Whether messages to or from this group are those of a host itself, not of an actor. */
static inline bool tr_group_is_host(uint64_t group)
{
    return (group & TR_GROUP_HOST_BIT) != 0 || group == TR_GROUP_HERE;
}

/* How people see a group: a host as its number, so 0/1 is a service of a host that is alone. */
static inline uint64_t tr_group_shown(uint64_t group)
{
    return (group & TR_GROUP_HOST_BIT) == 0 ? group
                                            : group >> TR_GROUP_HOST_SHIFT & TR_HOST_NUMBER_MAX;
}

static inline bool tr_key_equal(struct tr_key a, struct tr_key b)
{
    return a.serial == b.serial && a.group == b.group;
}

static inline bool tr_key_is_none(struct tr_key key)
{
    return key.serial == 0;
}

/* Orders keys as the store does: by group, then by serial. Returns <0, 0 or >0. */
static inline int tr_key_compare(struct tr_key a, struct tr_key b)
{
    if (a.group != b.group) {
        return a.group < b.group ? -1 : 1;
    }
    return a.serial == b.serial ? 0 : a.serial < b.serial ? -1 : 1;
}

#endif
