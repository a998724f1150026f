/*
 * Reads the kernel's counters of OOM kills.
 *
 * The kernel counts a kill before the process is gone, so the counter includes every reaped
 * process. Each kill is attributed once: if two processes ended by SIGKILL and the counter rose by
 * one, only one of them is reported as killed by the kernel; which one is unknown.
 */
#include "runtime/keeper/keeper_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "schemas/runtime/process.h"

/*
 * Bytes read of a counter file. Only the machine's is larger, and its line is within the first
 * pages.
 */
#define FILE_BYTES_MAX 16384

/* ---- Where the counts are. ------------------------------------------------------------------ */

/* This process's path in the hierarchy whose line in /proc/self/cgroup begins with `head`. */
static bool find_own(const char *head, char own[PATH_MAX])
{
    char line[PATH_MAX + 64];
    bool is_found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *controllers = strchr(line, ':');
        is_found = controllers != NULL && strncmp(controllers, head, strlen(head)) == 0;
        if (is_found) {
            (void)snprintf(own, PATH_MAX, "%s", controllers + strlen(head));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_found;
}

/* Mount point of a whole hierarchy: of type `type`, with `option` among its options. */
static bool find_mount(const char *type, const char *option, char place[PATH_MAX])
{
    char line[2 * PATH_MAX];
    char root[PATH_MAX];
    bool is_found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        const char *behind = strstr(line, type);
        is_found = behind != NULL && strstr(behind, option) != NULL &&
                   sscanf(line, "%*d %*d %*s %4095s %4095s", root, place) == 2 &&
                   strcmp(root, "/") == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_found;
}

/* Opens `name` of the nearest cgroup that has it, from this process's own upwards; -1: none has. */
static int open_nearest(const char *mount, char own[PATH_MAX], const char *name)
{
    char path[3 * PATH_MAX];
    int file = -1;
    char *slash = own + strlen(own);
    while (file < 0 && slash != NULL) {
        *slash = '\0';
        (void)snprintf(path, sizeof path, "%s%s/%s", mount, own, name);
        file = open(path, O_RDONLY | O_CLOEXEC);
        slash = strrchr(own, '/');
    }
    return file;
}

static int open_cgroup(void)
{
    char mount[PATH_MAX];
    char own[PATH_MAX];
    int file = -1;
    if (find_own("::", own) && find_mount(" - cgroup2 ", "", mount)) {
        file = open_nearest(mount, own, "memory.events");
    }
    if (file < 0 && find_own(":memory:", own) && find_mount(" - cgroup ", "memory", mount)) {
        file = open_nearest(mount, own, "memory.oom_control");
    }
    return file;
}

/* ---- Counts. -------------------------------------------------------------------------------- */

/* The number behind the word oom_kill at the beginning of a line; 0 without. */
static uint64_t read_kills(int file)
{
    char text[FILE_BYTES_MAX];
    uint64_t kills = 0;
    ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    text[size < 0 ? 0 : size] = '\0';
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (sscanf(line, "oom_kill %" SCNu64, &kills) == 1) {
            return kills;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return 0;
}

void tri_keeper_memory_init(struct tri_keeper_memory *memory, const char *cgroup_path,
                            const char *machine_path)
{
    int cgroup = cgroup_path == NULL ? open_cgroup() : open(cgroup_path, O_RDONLY | O_CLOEXEC);
    int machine = open(machine_path == NULL ? "/proc/vmstat" : machine_path, O_RDONLY | O_CLOEXEC);
    *memory = (struct tri_keeper_memory){.cgroup = cgroup,
                                         .machine = machine,
                                         .cgroup_kills = read_kills(cgroup),
                                         .machine_kills = read_kills(machine)};
}

void tri_keeper_memory_fini(struct tri_keeper_memory *memory)
{
    if (memory->cgroup >= 0) {
        close(memory->cgroup);
    }
    if (memory->machine >= 0) {
        close(memory->machine);
    }
    *memory = (struct tri_keeper_memory){.cgroup = -1, .machine = -1};
}

/* Attributes one kill, if there is one more than were attributed. */
static bool take(uint64_t kills, uint64_t *taken)
{
    bool is_more = kills > *taken;
    *taken += is_more ? 1 : 0;
    return is_more;
}

uint8_t tri_keeper_memory_take(struct tri_keeper_memory *memory)
{
    bool is_machines = take(read_kills(memory->machine), &memory->machine_kills);
    if (take(read_kills(memory->cgroup), &memory->cgroup_kills)) {
        return TR_MEMORY_KILL_CGROUP;
    }
    return is_machines ? TR_MEMORY_KILL_MACHINE : TR_MEMORY_KILL_NONE;
}

void tri_keeper_memory_pass(struct tri_keeper_memory *memory)
{
    memory->cgroup_kills = read_kills(memory->cgroup);
    memory->machine_kills = read_kills(memory->machine);
}
