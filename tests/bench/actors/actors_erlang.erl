%% The actors benchmark on Erlang processes, as a yardstick.
%%
%%     erl +S 1 ... -run actors_erlang main WORKLOAD SIZE MILLISECONDS
%%
%% Workloads and output are those of every yardstick, see ../README.md. The first pass warms up (and
%% shows what an idle actor holds); passes are then repeated for MILLISECONDS and their median is
%% printed. Each pass has a parent of its own, so that none inherits another's heap. The parent's
%% queue lies off its heap: on the heap, the default, every collection copies the waiting replies,
%% and the cost becomes quadratic.
-module(actors_erlang).
-export([main/1]).

%% How many messages a sender may be ahead of its receiver.
-define(STREAM_WINDOW, 1000).
%% A round trip between threads costs microseconds, so a large size asks no more often than this.
-define(ASK_COUNT_MAX, 100000).
-define(TIMEOUT_MS, 600000).

main([Workload, SizeText, TimeText]) ->
    Size = size_of(Workload, list_to_integer(SizeText)),
    Time = list_to_integer(TimeText) * 1000000,
    {_, IdleBytes} = pass(Workload, Size, true),
    Passes = passes(Workload, Size, Time, []),
    EachNs = lists:nth(length(Passes) div 2 + 1, lists:sort(Passes)) / Size,
    Workers = erlang:system_info(schedulers_online),
    print(figure(Workload, Workers), EachNs, "ns", Workers),
    Workload =:= "live" andalso print("live_actor_bytes", IdleBytes / Size, "bytes", Workers),
    erlang:halt(0);
main(_) ->
    io:put_chars(standard_error, "usage: actors_erlang main live|fan|tell|ask SIZE MILLISECONDS\n"),
    erlang:halt(2).

size_of("ask", Size) -> min(Size, ?ASK_COUNT_MAX);
size_of(_, Size) -> Size.

figure("live", _) -> "live_actor_ns";
figure("fan", _) -> "fan_actor_ns";
figure(Workload, 1) -> Workload ++ "_same_worker_ns";
figure(Workload, _) -> Workload ++ "_other_worker_ns".

print(Figure, Value, Unit, Workers) ->
    io:format("~s ~.2f ~s ~b ~b~n", [Figure, float(Value), Unit, Workers, resident_bytes_peak()]).

passes(_, _, Left, Done) when Left =< 0, Done =/= [] ->
    Done;
passes(Workload, Size, Left, Done) ->
    {Pass, _} = pass(Workload, Size, false),
    passes(Workload, Size, Left - Pass, [Pass | Done]).

%% One pass in a process of its own: {nanoseconds, growth of resident memory or 0}.
pass(Workload, Size, Measured) ->
    Self = self(),
    Parent = spawn_opt(fun() -> Self ! {self(), work(Workload, Size, Measured)} end,
                       [link, {message_queue_data, off_heap}, {scheduler, 1}]),
    receive
        {Parent, Result} -> Result
    after ?TIMEOUT_MS ->
        io:put_chars(standard_error, "actors_erlang: a pass did not end\n"),
        erlang:halt(1)
    end.

work("live", Size, Measured) ->
    Before = resident_bytes(Measured),
    Count = erlang:system_info(process_count),
    Start = now_ns(),
    Children = spawn_children(Size, []),
    Idle = resident_bytes(Measured) - Before,
    send_children(Children, self()),
    gather(Size, 0),
    await_gone(Count),
    {now_ns() - Start, Idle};
work("fan", Size, _) ->
    Count = erlang:system_info(process_count),
    Start = now_ns(),
    fan(Size, self()),
    gather(Size, 0),
    await_gone(Count),
    {now_ns() - Start, 0};
work("tell", Size, _) ->
    Sender = self(),
    Receiver = spawn_opt(fun() -> stream_receiver(Sender, 0) end, on_the_last_worker()),
    Start = now_ns(),
    stream(Receiver, Size),
    Receiver ! {done, Sender},
    done = receive_done(),
    {now_ns() - Start, 0};
work("ask", Size, _) ->
    Echo = spawn_opt(fun echo/0, on_the_last_worker()),
    Start = now_ns(),
    ask(Echo, Size, self()),
    Elapsed = now_ns() - Start,
    unlink(Echo),
    exit(Echo, kill),
    {Elapsed, 0}.

%% With two workers the pair is kept apart; left alone, the scheduler may put both on one.
on_the_last_worker() ->
    [link, {message_queue_data, off_heap}, {scheduler, erlang:system_info(schedulers_online)}].

child() ->
    receive
        {Parent, Number} -> Parent ! Number
    end.

spawn_children(0, Children) ->
    Children;
spawn_children(Left, Children) ->
    spawn_children(Left - 1, [spawn(fun child/0) | Children]).

send_children([], _) ->
    ok;
send_children([Child | Children], Self) ->
    Child ! {Self, 1},
    send_children(Children, Self).

fan(0, _) ->
    ok;
fan(Left, Self) ->
    spawn(fun child/0) ! {Self, 1},
    fan(Left - 1, Self).

gather(0, Sum) ->
    Sum;
gather(Left, Sum) ->
    receive
        Number when is_integer(Number) -> gather(Left - 1, Sum + Number)
    end.

await_gone(Count) ->
    case erlang:system_info(process_count) =< Count of
        true -> ok;
        false -> erlang:yield(), await_gone(Count)
    end.

stream(_, 0) ->
    ok;
stream(Receiver, Left) when Left rem ?STREAM_WINDOW =:= 0 ->
    Receiver ! {window, self()},
    Receiver ! Left,
    receive_window(),
    stream(Receiver, Left - 1);
stream(Receiver, Left) ->
    Receiver ! Left,
    stream(Receiver, Left - 1).

receive_window() ->
    receive
        window -> ok
    end.

receive_done() ->
    receive
        done -> done
    end.

stream_receiver(Sender, Sum) ->
    receive
        Number when is_integer(Number) -> stream_receiver(Sender, Sum + Number);
        {window, Sender} -> Sender ! window, stream_receiver(Sender, Sum);
        {done, Sender} -> unlink(Sender), Sender ! done
    end.

echo() ->
    receive
        {From, Number} -> From ! Number, echo()
    end.

ask(_, 0, _) ->
    ok;
ask(Echo, Left, Self) ->
    Echo ! {Self, Left},
    receive
        Left -> ask(Echo, Left - 1, Self)
    end.

now_ns() ->
    erlang:monotonic_time(nanosecond).

resident_bytes(false) ->
    0;
resident_bytes(true) ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = binary:split(Text, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.

resident_bytes_peak() ->
    {ok, Text} = file:read_file("/proc/self/status"),
    {match, [Kibibytes]} = re:run(Text, "VmHWM:\\s+(\\d+)", [{capture, all_but_first, list}]),
    list_to_integer(Kibibytes) * 1024.
