#!/usr/bin/env python3
"""A reference for cron: cases as expression|zone|after|time,time,... for the test to compare.

It knows nothing of how Troupe counts: a clock ticks minute by minute, and at each tick its date and
time are held against the expression. Only days that cannot match, and on which the clock runs as on
the days around, are passed over. cron_reference.py COUNT [SEED]
"""
import datetime
import random
import sys
import zoneinfo

ZONES = """UTC Europe/Berlin Europe/London Europe/Dublin America/New_York America/Los_Angeles
America/Sao_Paulo America/Santiago America/St_Johns America/Havana Asia/Kolkata Asia/Kathmandu
Asia/Tehran Asia/Gaza Asia/Tokyo Africa/Cairo Africa/Casablanca Australia/Sydney
Australia/Lord_Howe Pacific/Auckland Pacific/Chatham Pacific/Apia Antarctica/Troll""".split()
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
TIMES_EACH = 4
DAYS_MAX = 400
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Cron:
    def __init__(self, text):
        fields = text.split()
        self.sets = [self.values(field, *BOUNDS[i]) for i, field in enumerate(fields)]
        self.sets[4] = {day % 7 for day in self.sets[4]}
        self.is_loose = fields[2][0] not in "*?" and fields[4][0] not in "*?"
        self.is_hourly = len(self.sets[1]) == 24

    @staticmethod
    def values(field, low, high):
        found = set()
        for item in field.split(","):
            span, _, step = item.partition("/")
            if span in "*?":
                first, last = low, high
            elif "-" in span:
                first, last = map(int, span.split("-"))
            else:
                first = int(span)
                last = high if step else first
            found.update(range(first, last + 1, int(step or 1)))
        return found

    def has_day(self, date):
        if date.month not in self.sets[3]:
            return False
        day = date.day in self.sets[2]
        weekday = date.isoweekday() % 7 in self.sets[4]
        return (day or weekday) if self.is_loose else (day and weekday)

    def has(self, clock):
        return (clock.minute in self.sets[0] and clock.hour in self.sets[1]
                and self.has_day(clock))


def clock_at(zone, minute):
    return (EPOCH + datetime.timedelta(minutes=minute)).astimezone(zone).replace(tzinfo=None)


MINUTE = datetime.timedelta(minutes=1)
DAY = datetime.timedelta(days=1)


def fires(cron, now, reached):
    """Whether it fires when the clock shows `now`; before, it had shown up to `reached`."""
    if cron.is_hourly:
        return cron.has(now)
    skipped = reached + MINUTE
    while skipped < now:
        if cron.has(skipped):
            return True
        skipped += MINUTE
    return now > reached and cron.has(now)


def is_plain(cron, zone, minute):
    """Whether nothing can fire in the 24 hours from a tick on."""
    begin, end = clock_at(zone, minute - 1440), clock_at(zone, minute + 2880)
    if end - begin != 3 * DAY:
        return False
    now = clock_at(zone, minute)
    return not cron.has_day(now) and not cron.has_day(now + DAY)


def times(cron, zone, after):
    """The first few minutes behind `after` (seconds) at which it fires; none in time: too few."""
    found = []
    minute = after // 60 + 1
    reached = max(clock_at(zone, minute - 1 - back) for back in range(240))
    end = minute + DAYS_MAX * 1440
    while minute < end and len(found) < TIMES_EACH:
        if minute % 60 == 0 and is_plain(cron, zone, minute):
            minute += 1440
            reached = max(reached, clock_at(zone, minute - 1))
            continue
        now = clock_at(zone, minute)
        if fires(cron, now, reached):
            found.append(minute * 60)
        reached = max(reached, now)
        minute += 1
    return found


def draw_field(chance, low, high):
    kind = chance.random()
    if kind < 0.3:
        return "*"
    if kind < 0.45:
        return f"*/{chance.randint(1, max(2, (high - low) // 2))}"
    items = []
    for _ in range(1 if kind < 0.8 else chance.randint(2, 4)):
        first = chance.randint(low, high)
        if chance.random() < 0.3:
            item = f"{first}-{chance.randint(first, high)}"
            item += f"/{chance.randint(1, 5)}" if chance.random() < 0.3 else ""
        else:
            item = str(first)
        items.append(item)
    return ",".join(items)


def draw_expression(chance):
    fields = [draw_field(chance, *bounds) for bounds in BOUNDS]
    if chance.random() < 0.6:  # most expressions of people are about every day
        fields[2:] = ["*", "*", "*"]
    elif chance.random() < 0.7:
        fields[3] = "*"
    if chance.random() < 0.5:  # hours in which clocks are changed
        fields[1] = chance.choice(["0", "1", "2", "3", "0-3", "1,2", "*", "23,0", "*/2"])
    return " ".join(fields)


def changes_of(zone):
    """The days, by their number, on which the clock of a zone is changed."""
    days = range(9000, 24000)  # 1994 to 2035
    ahead = [clock_at(zone, day * 1440) - EPOCH.replace(tzinfo=None) for day in days]
    return [day for i, day in enumerate(days[1:], 1) if ahead[i] - ahead[i - 1] != DAY]


def main():
    count = int(sys.argv[1])
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    changes = {}
    while count > 0:
        name = chance.choice(ZONES)
        zone = zoneinfo.ZoneInfo(name)
        expression = draw_expression(chance)
        if name not in changes:
            changes[name] = changes_of(zone)
        if changes[name] and chance.random() < 0.8:
            after = (chance.choice(changes[name]) - 1) * 86400 + chance.randint(-86400, 86400)
        else:
            after = chance.randint(9000 * 86400, 24000 * 86400)
        found = times(Cron(expression), zone, after)
        if found:
            print(f"{expression}|{name}|{after}|{','.join(map(str, found))}")
            count -= 1


if __name__ == "__main__":
    main()
