/*
 * bench_scan: what the members of a pod that a watch needs cost to be found in an event of 6 kB, by
 * the projecting scanner, and by jansson, which builds all of it. Run by hand; it needs no options:
 * two JSON lines with microseconds for an event.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/sdk/scan.h"

#define EVENT_BYTES 6000
#define ROUNDS 20000

static const char *const paths[] = {
    "/type",
    "/object/metadata/name",
    "/object/metadata/uid",
    "/object/metadata/resourceVersion",
    "/object/metadata/deletionTimestamp",
    "/object/metadata/labels/troupe~1identity",
    "/object/metadata/annotations",
    "/object/status/phase",
    "/object/status/reason",
    "/object/status/message",
    "/object/status/conditions",
    "/object/status/containerStatuses",
    "/object/status/initContainerStatuses",
    "/object/spec/nodeName",
};

/* Of this program's own time. */
static uint64_t used_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A pod as an API server tells it: managed fields are nearly half of that. */
static size_t make_event(char *room, size_t size)
{
    int used = snprintf(
        room, size,
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"name\":\"flow-train-abcdefghijklm\",\"namespace\":\"work\",\"uid\":\"7d1c\","
        "\"resourceVersion\":\"123456\","
        "\"labels\":{\"troupe/identity\":\"abcdefghijklm\"},\"managedFields\":[");
    for (int i = 0; used < EVENT_BYTES / 2; i++) {
        used += snprintf(
            room + used, size - (size_t)used,
            "%s{\"manager\":\"kubelet\",\"fieldsV1\":{\"f:status\":{\"f:podIPs\":{\".\":{},"
            "\"k:{\\\"ip\\\":\\\"10.0.0.%d\\\"}\":{\".\":{},\"f:ip\":{}}}}}}",
            i > 0 ? "," : "", i);
    }
    used += snprintf(room + used, size - (size_t)used,
                     "]},\"spec\":{\"nodeName\":\"a\",\"containers\":[");
    for (int i = 0; used < EVENT_BYTES - 700; i++) {
        used += snprintf(
            room + used, size - (size_t)used,
            "%s{\"name\":\"c%d\",\"image\":\"registry.example/image:1\",\"env\":[{\"name\":"
            "\"TROUPE_NODE\",\"value\":\"train\"}],\"resources\":{\"limits\":{\"cpu\":\"1\"}}}",
            i > 0 ? "," : "", i);
    }
    used += snprintf(
        room + used, size - (size_t)used,
        "]},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},"
        "{\"type\":\"PodScheduled\",\"status\":"
        "\"True\"}],\"hostIP\":\"10.0.0.1\",\"containerStatuses\":[{\"name\":\"task\",\"state\":{"
        "\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}},\"ready\":true,\"restartCount\":0,"
        "\"image\":\"registry.example/image:1\",\"containerID\":\"containerd://00112233\"}]}}}");
    return (size_t)used;
}

static int scan_once(struct tr_bytes event)
{
    struct tr_bytes found[TR_COUNT_OF(paths)];
    return tr_scan(event, paths, TR_COUNT_OF(paths), found);
}

static int build_once(struct tr_bytes event)
{
    json_t *value = json_loadb((const char *)event.data, event.size, 0, NULL);
    json_decref(value);
    return value == NULL ? TR_MALFORMED : 0;
}

static int measure(const char *name, struct tr_bytes event, int (*once)(struct tr_bytes event))
{
    uint64_t begin_ns = used_ns();
    int error = 0;
    for (int i = 0; i < ROUNDS && error == 0; i++) {
        error = once(event);
    }
    double each_us = (double)(used_ns() - begin_ns) / 1000 / ROUNDS;
    printf("{\"name\":\"%s\",\"bytes\":%zu,\"us\":%.2f}\n", name, event.size, each_us);
    return error;
}

int main(void)
{
    static char room[2 * EVENT_BYTES];
    size_t size = make_event(room, sizeof room);
    struct tr_bytes event = {.data = (const uint8_t *)room, .size = size};
    int error = measure("scan", event, scan_once);
    if (error == 0) {
        error = measure("jansson", event, build_once);
    }
    return error == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
