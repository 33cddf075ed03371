/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Perfetto's packets, by the numbers of fields in its public schema (perfetto_trace.proto). A trace
 * is a list of packets; here each is an event on a track, or describes a track. Strings are
 * written out in each: such a file is a few times larger than it could be, and can be cut anywhere.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/trace.h"

#include <time.h>
#include <unistd.h>

enum { TRACE_PACKET = 1 };
enum { /* TracePacket */
    CLOCK_SNAPSHOT = 6, TIMESTAMP = 8, SEQUENCE = 10, TRACK_EVENT = 11, SEQUENCE_FLAGS = 13,
    TIMESTAMP_CLOCK = 58, TRACK_DESCRIPTOR = 60, FIRST_ON_SEQUENCE = 87
};
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };
enum { CLOCKS = 1, PRIMARY_CLOCK = 2, CLOCK_ID = 1, CLOCK_TIME = 2 }; /* ClockSnapshot, its Clock */
enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum { /* TrackEvent */
    NOTE = 4, TYPE = 9, TRACK = 11, CATEGORY = 22, NAME = 23, VALUE = 30, LOCATION = 33, FLOW = 47,
    FLOW_END = 48
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { NOTE_NAME = 10, NOTE_NUMBER = 3, NOTE_TEXT = 6 };  /* DebugAnnotation */
enum { LOCATION_FILE = 2, LOCATION_LINE = 4 };            /* SourceLocation */
enum { /* TrackDescriptor */
    UUID = 1, TRACK_NAME = 2, PROCESS = 3, THREAD = 4, PARENT = 5, TRACK_COUNTER = 8
};
enum { PID = 1, PROCESS_NAME = 6, TID = 2, THREAD_NAME = 5 }; /* Process-, ThreadDescriptor */
enum { UNIT = 3, UNIT_COUNT = 2, UNIT_BYTES = 3 };            /* CounterDescriptor */

static size_t open_packet(acui_pb *pb, uint64_t at)
{
    size_t packet = acui_pb_open(pb, TRACE_PACKET);
    acui_pb_uint(pb, SEQUENCE, 1);
    if (at) {
        acui_pb_uint(pb, TIMESTAMP, at);
        acui_pb_uint(pb, TIMESTAMP_CLOCK, MONOTONIC);
    }
    return packet;
}

static void put_clock(acui_pb *pb, clockid_t clock, unsigned id)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return;
    size_t entry = acui_pb_open(pb, CLOCKS);
    acui_pb_uint(pb, CLOCK_ID, id);
    acui_pb_uint(pb, CLOCK_TIME, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
    acui_pb_close(pb, entry);
}

void acui_trace_head(acui_trace_out *out)
{
    acui_pb *pb = &out->pb;
    char name[64];
    size_t packet = open_packet(pb, 0);
    acui_pb_uint(pb, SEQUENCE_FLAGS, STATE_CLEARED);
    acui_pb_uint(pb, FIRST_ON_SEQUENCE, 1);
    size_t clocks = acui_pb_open(pb, CLOCK_SNAPSHOT);
    put_clock(pb, CLOCK_MONOTONIC, MONOTONIC);
    put_clock(pb, CLOCK_BOOTTIME, BOOTTIME);
    put_clock(pb, CLOCK_REALTIME, REALTIME);
    acui_pb_uint(pb, PRIMARY_CLOCK, MONOTONIC);
    acui_pb_close(pb, clocks);
    acui_pb_close(pb, packet);
    packet = open_packet(pb, 0);
    size_t track = acui_pb_open(pb, TRACK_DESCRIPTOR);
    acui_pb_uint(pb, UUID, acui_track(ACUI_TRACK_PROCESS, 0));
    size_t process = acui_pb_open(pb, PROCESS);
    acui_pb_uint(pb, PID, (uint64_t)getpid());
    acui_trace_read_line("/proc/self/comm", name, sizeof name);
    acui_pb_text(pb, PROCESS_NAME, name);
    acui_pb_close(pb, process);
    acui_pb_close(pb, track);
    acui_pb_close(pb, packet);
}

/* ---- tracks ---- */

/* And from now on it is, until another one takes its place. */
static bool is_known(acui_trace_out *out, uint64_t track)
{
    uint64_t *place = &out->known[acui_hash_with(0, track) % ACUI_TRACKS];
    bool known = *place == track;
    *place = track;
    return known;
}

uint64_t acui_trace_track(acui_trace_out *out, uint64_t track, const char *name, bool once)
{
    if (!once && is_known(out, track))
        return track;
    acui_pb *pb = &out->pb;
    size_t packet = open_packet(pb, 0);
    size_t body = acui_pb_open(pb, TRACK_DESCRIPTOR);
    acui_pb_uint(pb, UUID, track);
    acui_pb_uint(pb, PARENT, acui_track(ACUI_TRACK_PROCESS, 0));
    acui_pb_text(pb, TRACK_NAME, name);
    acui_pb_close(pb, body);
    acui_pb_close(pb, packet);
    return track;
}

uint64_t acui_trace_thread(acui_trace_out *out, pid_t thread)
{
    uint64_t track = acui_track(ACUI_TRACK_THREAD, (uint64_t)thread);
    if (is_known(out, track))
        return track;
    acui_pb *pb = &out->pb;
    char name[64];
    acui_trace_thread_name(thread, name, sizeof name);
    size_t packet = open_packet(pb, 0);
    size_t body = acui_pb_open(pb, TRACK_DESCRIPTOR);
    acui_pb_uint(pb, UUID, track);
    size_t inner = acui_pb_open(pb, THREAD);
    acui_pb_uint(pb, PID, (uint64_t)getpid());
    acui_pb_uint(pb, TID, (uint64_t)thread);
    if (name[0])
        acui_pb_text(pb, THREAD_NAME, name);
    acui_pb_close(pb, inner);
    acui_pb_close(pb, body);
    acui_pb_close(pb, packet);
    return track;
}

/* ---- events ---- */

static void put_note(acui_pb *pb, const acui_trace_note *note)
{
    size_t body = acui_pb_open(pb, NOTE);
    acui_pb_text(pb, NOTE_NAME, note->name);
    if (note->text)
        acui_pb_text(pb, NOTE_TEXT, note->text);
    else
        acui_pb_uint(pb, NOTE_NUMBER, note->number);
    acui_pb_close(pb, body);
}

static void put_event(acui_trace_out *out, const acui_trace_event *event, unsigned type)
{
    acui_pb *pb = &out->pb;
    size_t packet = open_packet(pb, event->at);
    size_t body = acui_pb_open(pb, TRACK_EVENT);
    acui_pb_uint(pb, TYPE, type);
    acui_pb_uint(pb, TRACK, event->track);
    if (event->name) {
        acui_pb_text(pb, CATEGORY, "acuda");
        acui_pb_text(pb, NAME, event->name);
    }
    for (size_t i = 0; i < event->note_count; i++)
        put_note(pb, &event->notes[i]);
    if (event->file) {
        size_t location = acui_pb_open(pb, LOCATION);
        acui_pb_text(pb, LOCATION_FILE, event->file);
        acui_pb_uint(pb, LOCATION_LINE, (uint64_t)event->line);
        acui_pb_close(pb, location);
    }
    if (event->flow)
        acui_pb_fixed64(pb, FLOW, event->flow);
    if (event->flow_to)
        acui_pb_fixed64(pb, FLOW_END, event->flow_to);
    acui_pb_close(pb, body);
    acui_pb_close(pb, packet);
}

void acui_trace_begin(acui_trace_out *out, const acui_trace_event *event)
{
    put_event(out, event, SLICE_BEGIN);
}

void acui_trace_end(acui_trace_out *out, uint64_t track, uint64_t at)
{
    put_event(out, &(acui_trace_event){.track = track, .at = at}, SLICE_END);
}

void acui_trace_instant(acui_trace_out *out, const acui_trace_event *event)
{
    put_event(out, event, INSTANT);
}

static void describe_counter(acui_trace_out *out, uint64_t track, const char *name, bool bytes)
{
    acui_pb *pb = &out->pb;
    size_t packet = open_packet(pb, 0);
    size_t body = acui_pb_open(pb, TRACK_DESCRIPTOR);
    acui_pb_uint(pb, UUID, track);
    acui_pb_uint(pb, PARENT, acui_track(ACUI_TRACK_PROCESS, 0));
    acui_pb_text(pb, TRACK_NAME, name);
    size_t counter = acui_pb_open(pb, TRACK_COUNTER);
    acui_pb_uint(pb, UNIT, bytes ? UNIT_BYTES : UNIT_COUNT);
    acui_pb_close(pb, counter);
    acui_pb_close(pb, body);
    acui_pb_close(pb, packet);
}

void acui_trace_count(acui_trace_out *out, const char *name, unsigned number, bool bytes,
                      uint64_t at, uint64_t value)
{
    acui_pb *pb = &out->pb;
    uint64_t track = acui_track(ACUI_TRACK_COUNTER, number);
    if (!is_known(out, track))
        describe_counter(out, track, name, bytes);
    size_t packet = open_packet(pb, at);
    size_t body = acui_pb_open(pb, TRACK_EVENT);
    acui_pb_uint(pb, TYPE, COUNTER);
    acui_pb_uint(pb, TRACK, track);
    acui_pb_uint(pb, VALUE, value);
    acui_pb_close(pb, body);
    acui_pb_close(pb, packet);
}
