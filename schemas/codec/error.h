/*
 * Every error of the project, once: its number, its name and what it means to a person.
 *
 * Functions that can fail return 0 or one of these negative numbers. The numbers cross wires and
 * reach disks (a DOWN's reason, a dead letter's reason), so they are never given a second meaning.
 */
#ifndef TR_SCHEMAS_CODEC_ERROR_H
#define TR_SCHEMAS_CODEC_ERROR_H

#include <stdbool.h>

#define TR_ERRORS(E)                                                              \
    E(MEMORY, 1, "out of memory")                                                 \
    E(INVALID, 2, "an argument that makes no sense")                              \
    E(LIMIT, 3, "a named limit is reached")                                       \
    E(BUSY, 4, "busy: try again later")                                           \
    E(TRUNCATED, 5, "the bytes end too early")                                    \
    E(MALFORMED, 6, "the bytes are not what their schema says")                   \
    E(VERSION, 7, "a version that this program does not know")                    \
    E(UNKNOWN_TYPE, 8, "a type that no schema declares")                          \
    E(NO_ACTOR, 9, "no such actor")                                               \
    E(STALE_INCARNATION, 10, "meant for another incarnation of the actor")        \
    E(STALE_EPOCH, 11, "sent by a host that no longer owns the group")            \
    E(TIMEOUT, 12, "the deadline passed")                                         \
    E(LATE_REPLY, 13, "a reply that nobody waits for any more")                   \
    E(OVERFLOW, 14, "the mailbox or its worker is full")                          \
    E(POISON, 15, "the message failed its actor twice")                           \
    E(QUARANTINED, 16, "the actor is quarantined")                                \
    E(FAILED, 17, "the handler failed")                                           \
    E(KILLED, 18, "its parent has ended")                                         \
    E(NO_CONNECTION, 19, "the connection to the other host is down")              \
    E(EXISTS, 20, "exists already")                                               \
    E(NOT_FOUND, 21, "not found")                                                 \
    E(STORE_FULL, 22, "the disk is full")                                         \
    E(STORE_FAILED, 23, "the store failed to write or to read")                   \
    E(STORE_DAMAGED, 24, "the store is damaged")                                  \
    E(STORE_FOREIGN, 25, "the file is no store of Troupe's")                      \
    E(STORE_NEWER, 26, "the store was written by a newer version")                \
    E(STORE_LOCKED, 27, "another engine uses the store")                          \
    E(FENCED, 28, "another host has taken over: this one may not write any more") \
    E(CLOSED, 29, "closed")                                                       \
    E(HOPS, 30, "forwarded too often")                                            \
    E(SYSTEM, 31, "the operating system refused")                                 \
    E(OUTSIDE, 33, "it lies outside of where it may lie")                         \
    E(NO_FILE, 34, "it is a folder or a device, not a file")                      \
    E(DENIED, 35, "permission denied")                                            \
    E(MISMATCH, 36, "a file where a folder is expected, or the other way round")

enum tr_error {
#define TRI_ERROR_ENUM(name, number, text) TR_##name = -(number),
    TR_ERRORS(TRI_ERROR_ENUM)
#undef TRI_ERROR_ENUM
};

/* Whether the machine has too little of something, so that trying again later may help. */
bool tr_error_is_shortage(int error);

/* The error's name, such as "NO_ACTOR"; "ok" for 0, "UNKNOWN" for what is none of them. */
const char *tr_error_name(int error);

/* What the error means, for a person; "success" for 0. Never NULL. */
const char *tr_error_text(int error);

#endif
