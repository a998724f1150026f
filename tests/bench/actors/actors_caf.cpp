// The actors benchmark on CAF, the C++ Actor Framework, as a yardstick.
//
//     actors_caf WORKLOAD SIZE MILLISECONDS [POLICY [THREADS]]
//
// Workloads and output are those of every yardstick, see ../README.md. The first pass warms up (and
// shows what an idle actor holds); passes are then repeated for MILLISECONDS and their median is
// printed. Everything is timed from inside an actor, so no thread outside the scheduler takes part.
//
// CAF's default policy, "stealing", becomes quadratic when many actors run beside one that they all
// reply to. "sharing" on one thread is the setting for those, "stealing" the faster for one pair.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

#include "caf/all.hpp"

namespace
{

using caf::actor;
using caf::actor_cast;
using caf::behavior;
using caf::event_based_actor;
using caf::stateful_actor;

using child_number = int32_t;
using ask_number = int64_t;

// How many messages a sender may be ahead of its receiver. Wider fills the caches, narrower makes
// the two take turns more often; 256 to 4,096 were alike.
constexpr uint32_t stream_window = 1024;

// How many children the parent of a fan spawns at a time, and how many messages an actor may handle
// in a row. Together they let children run and end while the parent spawns: without a bound (the
// default) the parent goes on until all exist, as fast but with 1.3 GB instead of 19 MB a million.
constexpr uint32_t fan_batch = 100;
constexpr size_t messages_in_a_row_max = 100;

// A round trip between threads costs microseconds, so a large size asks no more often than this.
constexpr uint32_t ask_count_max = 100000;

struct settings {
    std::string workload;
    uint32_t size;
    uint64_t time_ns_min;
};

struct measurement {
    settings wanted;
    std::vector<uint64_t> passes_ns;
    uint64_t idle_bytes = 0;
};

uint64_t now_ns()
{
    using namespace std::chrono;
    return static_cast<uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

uint64_t resident_bytes()
{
    unsigned long total_pages = 0;
    unsigned long resident_pages = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%lu %lu", &total_pages, &resident_pages) != 2) {
        std::perror("actors_caf: /proc/self/statm");
        std::exit(1);
    }
    std::fclose(file);
    return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t resident_bytes_peak()
{
    char line[256];
    unsigned long kibibytes = 0;
    std::FILE *file = std::fopen("/proc/self/status", "r");
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
        if (std::sscanf(line, "VmHWM: %lu kB", &kibibytes) == 1) {
            break;
        }
    }
    if (file != nullptr) {
        std::fclose(file);
    }
    return kibibytes * 1024;
}

// A pass has ended: notes its time, and says whether there is to be another one.
bool wants_another_pass(measurement &taken, uint64_t pass_ns)
{
    taken.passes_ns.push_back(pass_ns);
    uint64_t spent_ns = 0;
    for (size_t i = 1; i < taken.passes_ns.size(); i++) {
        spent_ns += taken.passes_ns[i];
    }
    return taken.passes_ns.size() < 2 || spent_ns < taken.wanted.time_ns_min;
}

behavior child(event_based_actor *self)
{
    return {[self](child_number number) {
        self->quit();
        return number;
    }};
}

struct parent_state {
    std::vector<actor> children;
    uint32_t spawned = 0;
    uint32_t replies = 0;
    int64_t sum = 0;
    uint64_t started_ns = 0;
};

void start_live(stateful_actor<parent_state> *self, measurement &taken)
{
    auto &state = self->state;
    uint32_t size = taken.wanted.size;
    bool first = taken.passes_ns.empty();
    uint64_t bytes_before = first ? resident_bytes() : 0;
    state.started_ns = now_ns();
    state.children.reserve(size);
    for (uint32_t i = 0; i < size; i++) {
        state.children.push_back(self->spawn<caf::lazy_init>(child));
    }
    if (first) {
        taken.idle_bytes = resident_bytes() - bytes_before;
    }
    for (uint32_t i = 0; i < size; i++) {
        actor released_after_this = std::move(state.children[i]);
        self->send(released_after_this, static_cast<child_number>(i));
    }
}

// Spawns the next batch of a fan, and sends the parent a note to go on after it.
void fan_next_batch(stateful_actor<parent_state> *self, uint32_t size)
{
    auto &state = self->state;
    uint32_t end = std::min(size, state.spawned + fan_batch);
    for (; state.spawned < end; state.spawned++) {
        self->send(self->spawn<caf::lazy_init>(child), static_cast<child_number>(state.spawned));
    }
    if (state.spawned < size) {
        self->send(self, caf::unit);
    }
}

void start_parent(stateful_actor<parent_state> *self, measurement &taken)
{
    auto &state = self->state;
    if (taken.wanted.workload == "live") {
        state.children = std::vector<actor>();
        start_live(self, taken);
        return;
    }
    if (state.spawned == 0) {
        state.started_ns = now_ns();
    }
    fan_next_batch(self, taken.wanted.size);
}

behavior parent(stateful_actor<parent_state> *self, measurement *taken)
{
    self->send(self, caf::unit);
    return {
        [=](caf::unit_t) { start_parent(self, *taken); },
        [=](child_number number) {
            self->state.sum += number;
            if (++self->state.replies < taken->wanted.size) {
                return;
            }
            self->state.spawned = 0;
            self->state.replies = 0;
            if (wants_another_pass(*taken, now_ns() - self->state.started_ns)) {
                self->send(self, caf::unit);
            } else {
                self->quit();
            }
        },
    };
}

// The receiving end of the stream: one acknowledgement for each window.
behavior stream_receiver(event_based_actor *self, actor sender)
{
    auto received = std::make_shared<uint32_t>(0);
    return {
        [=](child_number) {
            if (++*received == stream_window) {
                *received = 0;
                self->send(sender, caf::unit);
            }
        },
        [=](caf::unit_t) {
            *received = 0;
            self->send(sender, true);
        },
    };
}

struct sender_state {
    actor receiver;
    uint32_t sent = 0;
    uint64_t started_ns = 0;
};

// Sends a window of messages; at the end of the stream asks for the sign that all are there.
void send_window(stateful_actor<sender_state> *self, uint32_t size)
{
    auto &state = self->state;
    uint32_t end = std::min(size, state.sent + stream_window);
    for (; state.sent < end; state.sent++) {
        self->send(state.receiver, static_cast<child_number>(state.sent));
    }
    if (state.sent == size) {
        self->send(state.receiver, caf::unit);
        state.sent++;
    }
}

behavior stream_sender(stateful_actor<sender_state> *self, measurement *taken)
{
    self->state.receiver = self->spawn(stream_receiver, actor_cast<actor>(self));
    self->send(self, true);
    return {
        [=](caf::unit_t) {
            if (self->state.sent < taken->wanted.size) {
                send_window(self, taken->wanted.size);
            }
        },
        [=](bool) {
            auto &state = self->state;
            if (state.started_ns != 0 && !wants_another_pass(*taken, now_ns() - state.started_ns)) {
                self->send_exit(state.receiver, caf::exit_reason::user_shutdown);
                self->quit();
                return;
            }
            state.sent = 0;
            state.started_ns = now_ns();
            // Two windows under way keep a second thread busy; on one thread they change nothing.
            send_window(self, taken->wanted.size);
            if (state.sent < taken->wanted.size) {
                send_window(self, taken->wanted.size);
            }
        },
    };
}

behavior echo(event_based_actor *)
{
    return {[](ask_number number) { return number; }};
}

behavior asker(stateful_actor<sender_state> *self, measurement *taken)
{
    self->state.receiver = self->spawn(echo);
    self->send(self, caf::unit);
    return {
        [=](caf::unit_t) {
            self->state.sent = 0;
            self->state.started_ns = now_ns();
            self->send(self->state.receiver, ask_number{0});
        },
        [=](ask_number number) {
            auto &state = self->state;
            if (++state.sent < taken->wanted.size) {
                self->send(state.receiver, number + 1);
            } else if (wants_another_pass(*taken, now_ns() - state.started_ns)) {
                self->send(self, caf::unit);
            } else {
                self->send_exit(state.receiver, caf::exit_reason::user_shutdown);
                self->quit();
            }
        },
    };
}

void print_figure(const char *figure, double value, const char *unit, unsigned workers)
{
    std::printf("%s %.2f %s %u %llu\n", figure, value, unit, workers,
                static_cast<unsigned long long>(resident_bytes_peak()));
}

void print_figures(measurement &taken, unsigned workers)
{
    auto &passes = taken.passes_ns;
    std::sort(passes.begin() + 1, passes.end());
    double size = taken.wanted.size;
    double each_ns = static_cast<double>(passes[1 + (passes.size() - 1) / 2]) / size;
    const std::string &workload = taken.wanted.workload;
    if (workload == "live") {
        print_figure("live_actor_ns", each_ns, "ns", workers);
        print_figure("live_actor_bytes", static_cast<double>(taken.idle_bytes) / size, "bytes",
                     workers);
    } else if (workload == "fan") {
        print_figure("fan_actor_ns", each_ns, "ns", workers);
    } else if (workload == "tell") {
        print_figure(workers == 1 ? "tell_same_worker_ns" : "tell_other_worker_ns", each_ns, "ns",
                     workers);
    } else {
        print_figure(workers == 1 ? "ask_same_worker_ns" : "ask_other_worker_ns", each_ns, "ns",
                     workers);
    }
}

bool is_known(const std::string &workload)
{
    return workload == "live" || workload == "fan" || workload == "tell" || workload == "ask";
}

} // namespace

int main(int argc, char **argv)
{
    long size = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 0;
    long time_ms = argc > 3 ? std::strtol(argv[3], nullptr, 10) : -1;
    if (argc < 4 || argc > 6 || !is_known(argv[1]) || size < 1 || size > 100000000 || time_ms < 0) {
        std::fprintf(stderr, "usage: actors_caf live|fan|tell|ask SIZE MILLISECONDS "
                             "[sharing|stealing [THREADS]]\n");
        return 2;
    }
    const char *policy = argc > 4 ? argv[4] : "sharing";
    unsigned workers = argc > 5 ? static_cast<unsigned>(std::strtoul(argv[5], nullptr, 10)) : 1;
    measurement taken;
    taken.wanted = {argv[1], static_cast<uint32_t>(size), static_cast<uint64_t>(time_ms) * 1000000};
    if (taken.wanted.workload == "ask") {
        taken.wanted.size = std::min(taken.wanted.size, ask_count_max);
    }
    {
        caf::actor_system_config config;
        config.set("scheduler.policy", std::strcmp(policy, "stealing") == 0 ? caf::atom("stealing")
                                                                            : caf::atom("sharing"));
        config.set("scheduler.max-threads", workers);
        config.set("scheduler.max-throughput", messages_in_a_row_max);
        caf::actor_system system(config);
        if (taken.wanted.workload == "tell") {
            system.spawn(stream_sender, &taken);
        } else if (taken.wanted.workload == "ask") {
            system.spawn(asker, &taken);
        } else {
            system.spawn(parent, &taken);
        }
        system.await_all_actors_done();
    }
    print_figures(taken, workers);
    return 0;
}
