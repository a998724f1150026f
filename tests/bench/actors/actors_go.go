// The actors benchmark on goroutines and channels, as a yardstick.
//
//	actors_go WORKLOAD SIZE MILLISECONDS
//
// Workloads and output are those of every yardstick, see ../README.md. The first pass warms up (and
// shows what an idle actor holds); passes are then repeated for MILLISECONDS and their median is
// printed. GOMAXPROCS and GOGC come from the environment, as for any Go program.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// How many messages a sender may be ahead of its receiver. Without room the two switch at every
// message; from 128 on, wider was no faster.
const streamWindow = 1024

// How many children the parent of a fan spawns before it lets them run. Left alone it is stopped
// only every 10 ms, and pays for stacks that the ended ones could have handed on.
const fanBatch = 256

// A round trip between threads costs microseconds, so a large size asks no more often than this.
const askCountMax = 100000

func fail(err error) {
	fmt.Fprintln(os.Stderr, "actors_go:", err)
	os.Exit(1)
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		fail(err)
	}
	return float64(pages) * float64(os.Getpagesize())
}

func residentBytesPeak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "VmHWM:" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				fail(err)
			}
			return kibibytes * 1024
		}
	}
	return 0
}

func child(mailbox chan int, parent chan int) {
	parent <- <-mailbox
}

// awaitGone returns when no goroutine but those counted is left.
func awaitGone(count int) {
	for runtime.NumGoroutine() > count {
		runtime.Gosched()
	}
}

func gather(replies chan int, size int) {
	sum := 0
	for i := 0; i < size; i++ {
		sum += <-replies
	}
	if sum != size*(size-1)/2 {
		fail(fmt.Errorf("replies add up to %d", sum))
	}
}

// live spawns all children, then sends each one message and takes one reply of each. What the idle
// children hold is measured in the first pass only: later passes reuse its memory.
func live(size int, idleBytes *float64) time.Duration {
	before := 0.0
	if *idleBytes == 0 {
		before = residentBytes()
	}
	count := runtime.NumGoroutine()
	start := time.Now()
	replies := make(chan int, size)
	mailboxes := make([]chan int, size)
	for i := range mailboxes {
		mailboxes[i] = make(chan int)
		go child(mailboxes[i], replies)
	}
	if *idleBytes == 0 {
		runtime.Gosched()
		*idleBytes = residentBytes() - before
	}
	for i, mailbox := range mailboxes {
		mailbox <- i
	}
	gather(replies, size)
	awaitGone(count)
	return time.Since(start)
}

// fan lets children end as they reply, while the parent goes on spawning.
func fan(size int) time.Duration {
	count := runtime.NumGoroutine()
	start := time.Now()
	replies := make(chan int, size)
	for i := 0; i < size; i++ {
		mailbox := make(chan int, 1)
		mailbox <- i
		go child(mailbox, replies)
		if i%fanBatch == fanBatch-1 {
			runtime.Gosched()
		}
	}
	gather(replies, size)
	awaitGone(count)
	return time.Since(start)
}

func tell(size int) time.Duration {
	messages := make(chan int, streamWindow)
	done := make(chan int)
	start := time.Now()
	go func() {
		sum := 0
		for message := range messages {
			sum += message
		}
		done <- sum
	}()
	for i := 0; i < size; i++ {
		messages <- i
	}
	close(messages)
	<-done
	return time.Since(start)
}

func ask(size int) time.Duration {
	requests := make(chan int)
	replies := make(chan int)
	go func() {
		for request := range requests {
			replies <- request
		}
	}()
	start := time.Now()
	for i := 0; i < size; i++ {
		requests <- i
		<-replies
	}
	elapsed := time.Since(start)
	close(requests)
	return elapsed
}

func printFigure(figure string, value float64, unit string) {
	fmt.Printf("%s %.2f %s %d %d\n", figure, value, unit, runtime.GOMAXPROCS(0),
		residentBytesPeak())
}

func main() {
	idleBytes := 0.0
	size := 0
	figure := ""
	worker := "same"
	if runtime.GOMAXPROCS(0) > 1 {
		worker = "other"
	}
	workloads := map[string]func() time.Duration{
		"live": func() time.Duration { figure = "live_actor_ns"; return live(size, &idleBytes) },
		"fan":  func() time.Duration { figure = "fan_actor_ns"; return fan(size) },
		"tell": func() time.Duration { figure = "tell_" + worker + "_worker_ns"; return tell(size) },
		"ask":  func() time.Duration { figure = "ask_" + worker + "_worker_ns"; return ask(size) },
	}
	budgetMs := -1
	var workload func() time.Duration
	if len(os.Args) == 4 {
		workload = workloads[os.Args[1]]
		size, _ = strconv.Atoi(os.Args[2])
		budgetMs, _ = strconv.Atoi(os.Args[3])
	}
	if size > askCountMax && os.Args[1] == "ask" {
		size = askCountMax
	}
	if workload == nil || size < 1 || budgetMs < 0 {
		fmt.Fprintln(os.Stderr, "usage: actors_go live|fan|tell|ask SIZE MILLISECONDS")
		os.Exit(2)
	}
	workload()
	passes := []time.Duration{}
	spent := time.Duration(0)
	for len(passes) == 0 || spent < time.Duration(budgetMs)*time.Millisecond {
		pass := workload()
		passes = append(passes, pass)
		spent += pass
	}
	sort.Slice(passes, func(i, j int) bool { return passes[i] < passes[j] })
	printFigure(figure, float64(passes[len(passes)/2].Nanoseconds())/float64(size), "ns")
	if os.Args[1] == "live" {
		printFigure("live_actor_bytes", idleBytes/float64(size), "bytes")
	}
}
