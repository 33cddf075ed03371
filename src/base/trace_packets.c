/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Perfetto's packets, by the numbers of fields in its public schema (perfetto_trace.proto). A trace
 * is a list of packets; here each is an event on a track, or describes a track. Strings are
 * written out in each: such a file is a few times larger than it could be, and can be cut anywhere.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/trace.h"

#include <string.h>
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
    NOTE = 4, TYPE = 9, TRACK = 11, CATEGORY = 22, EVENT_NAME = 23, VALUE = 30, LOCATION = 33,
    FLOW = 47, FLOW_END = 48
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { NOTE_NAME = 10, NOTE_NUMBER = 3, NOTE_TEXT = 6 };  /* DebugAnnotation */
enum { LOCATION_FILE = 2, LOCATION_LINE = 4 };            /* SourceLocation */
enum { /* TrackDescriptor */
    UUID = 1, TRACK_NAME = 2, PROCESS = 3, THREAD = 4, PARENT = 5, TRACK_COUNTER = 8
};
enum { PID = 1, PROCESS_NAME = 6, TID = 2, THREAD_NAME = 5 }; /* Process-, ThreadDescriptor */
enum { UNIT = 3, UNIT_COUNT = 2, UNIT_BYTES = 3 };            /* CounterDescriptor */

/* A packet that is being written: HEAD, and a message in it that says what it is. */
typedef struct packet {
    unsigned char *at, *whole, *body;
} packet;
enum { HEAD = 2 * ACUI_PB_HEAD + 3 * ACUI_PB_UINT, NAME = 64 };

/* The body takes `bytes` at most. False: there is no memory. */
static bool open_packet(acui_trace_out *out, packet *p, uint64_t time, unsigned body, size_t bytes)
{
    unsigned char *at = acui_pb_room(&out->pb, HEAD + bytes);
    if (!at)
        return false;
    p->whole = at = acui_pb_open(at, TRACE_PACKET);
    at = acui_pb_uint(at, SEQUENCE, 1);
    if (time) {
        at = acui_pb_uint(at, TIMESTAMP, time);
        at = acui_pb_uint(at, TIMESTAMP_CLOCK, MONOTONIC);
    }
    p->body = p->at = acui_pb_open(at, body);
    return true;
}

static void close_packet(acui_trace_out *out, const packet *p, const unsigned char *at)
{
    acui_pb_close(p->body, p->at);
    acui_pb_close(p->whole, at);
    acui_pb_wrote(&out->pb, at);
}

/* ---- what a file begins with ---- */

static unsigned char *put_clock(unsigned char *at, clockid_t clock, unsigned id)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return at;
    unsigned char *entry = at = acui_pb_open(at, CLOCKS);
    at = acui_pb_uint(at, CLOCK_ID, id);
    at = acui_pb_uint(at, CLOCK_TIME, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
    acui_pb_close(entry, at);
    return at;
}

static void put_clocks(acui_trace_out *out)
{
    packet p;
    if (!open_packet(out, &p, 0, CLOCK_SNAPSHOT, 3 * (ACUI_PB_HEAD + 2 * ACUI_PB_UINT) +
                                                     3 * ACUI_PB_UINT))
        return;
    p.at = put_clock(p.at, CLOCK_MONOTONIC, MONOTONIC);
    p.at = put_clock(p.at, CLOCK_BOOTTIME, BOOTTIME);
    p.at = put_clock(p.at, CLOCK_REALTIME, REALTIME);
    p.at = acui_pb_uint(p.at, PRIMARY_CLOCK, MONOTONIC);
    unsigned char *at = acui_pb_uint(p.at, SEQUENCE_FLAGS, STATE_CLEARED);
    close_packet(out, &p, acui_pb_uint(at, FIRST_ON_SEQUENCE, 1));
}

void acui_trace_head(acui_trace_out *out)
{
    packet p;
    char name[NAME];
    put_clocks(out);
    acui_trace_read_line("/proc/self/comm", name, sizeof name);
    if (!open_packet(out, &p, 0, TRACK_DESCRIPTOR, 2 * ACUI_PB_UINT + 2 * ACUI_PB_HEAD + NAME))
        return;
    p.at = acui_pb_uint(p.at, UUID, acui_track(ACUI_TRACK_PROCESS, 0));
    unsigned char *process = p.at = acui_pb_open(p.at, PROCESS);
    p.at = acui_pb_uint(p.at, PID, (uint64_t)getpid());
    p.at = acui_pb_text(p.at, PROCESS_NAME, name);
    acui_pb_close(process, p.at);
    close_packet(out, &p, p.at);
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
    packet p;
    if ((!once && is_known(out, track)) ||
        !open_packet(out, &p, 0, TRACK_DESCRIPTOR,
                     2 * ACUI_PB_UINT + ACUI_PB_HEAD + strlen(name)))
        return track;
    p.at = acui_pb_uint(p.at, UUID, track);
    p.at = acui_pb_uint(p.at, PARENT, acui_track(ACUI_TRACK_PROCESS, 0));
    p.at = acui_pb_text(p.at, TRACK_NAME, name);
    close_packet(out, &p, p.at);
    return track;
}

uint64_t acui_trace_thread(acui_trace_out *out, pid_t thread)
{
    packet p;
    char name[NAME];
    uint64_t track = acui_track(ACUI_TRACK_THREAD, (uint64_t)thread);
    if (is_known(out, track))
        return track;
    acui_trace_thread_name(thread, name, sizeof name);
    if (!open_packet(out, &p, 0, TRACK_DESCRIPTOR, 3 * ACUI_PB_UINT + 2 * ACUI_PB_HEAD + NAME))
        return track;
    p.at = acui_pb_uint(p.at, UUID, track);
    unsigned char *inner = p.at = acui_pb_open(p.at, THREAD);
    p.at = acui_pb_uint(p.at, PID, (uint64_t)getpid());
    p.at = acui_pb_uint(p.at, TID, (uint64_t)thread);
    if (name[0])
        p.at = acui_pb_text(p.at, THREAD_NAME, name);
    acui_pb_close(inner, p.at);
    close_packet(out, &p, p.at);
    return track;
}

/* ---- events ---- */

/* At most, without its texts. */
enum {
    NOTE_MOST = 3 * ACUI_PB_HEAD + ACUI_PB_UINT,
    EVENT_MOST = 5 * ACUI_PB_UINT + 4 * ACUI_PB_HEAD + sizeof "acuda"
};

static size_t event_bytes(const acui_trace_event *event)
{
    size_t bytes = EVENT_MOST + event->note_count * NOTE_MOST;
    bytes += (event->name ? strlen(event->name) : 0) + (event->file ? strlen(event->file) : 0);
    for (const acui_trace_note *n = event->notes; n < event->notes + event->note_count; n++)
        bytes += strlen(n->name) + (n->text ? strlen(n->text) : 0);
    return bytes;
}

static unsigned char *put_note(unsigned char *at, const acui_trace_note *note)
{
    unsigned char *body = at = acui_pb_open(at, NOTE);
    at = acui_pb_literal(at, NOTE_NAME, note->name);
    at = note->text ? acui_pb_text(at, NOTE_TEXT, note->text)
                    : acui_pb_uint(at, NOTE_NUMBER, note->number);
    acui_pb_close(body, at);
    return at;
}

static unsigned char *put_location(unsigned char *at, const acui_trace_event *event)
{
    unsigned char *location = at = acui_pb_open(at, LOCATION);
    at = acui_pb_text(at, LOCATION_FILE, event->file);
    at = acui_pb_uint(at, LOCATION_LINE, (uint64_t)event->line);
    acui_pb_close(location, at);
    return at;
}

static void put_event(acui_trace_out *out, const acui_trace_event *event, unsigned type)
{
    packet p;
    if (!open_packet(out, &p, event->at, TRACK_EVENT, event_bytes(event)))
        return;
    unsigned char *at = acui_pb_uint(p.at, TYPE, type);
    at = acui_pb_uint(at, TRACK, event->track);
    if (event->name) {
        at = acui_pb_literal(at, CATEGORY, "acuda");
        at = acui_pb_text(at, EVENT_NAME, event->name);
    }
    for (size_t i = 0; i < event->note_count; i++)
        at = put_note(at, &event->notes[i]);
    if (event->file)
        at = put_location(at, event);
    if (event->flow)
        at = acui_pb_fixed64(at, FLOW, event->flow);
    if (event->flow_to)
        at = acui_pb_fixed64(at, FLOW_END, event->flow_to);
    p.at = at;
    close_packet(out, &p, at);
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
    packet p;
    if (!open_packet(out, &p, 0, TRACK_DESCRIPTOR,
                     3 * ACUI_PB_UINT + 2 * ACUI_PB_HEAD + strlen(name)))
        return;
    p.at = acui_pb_uint(p.at, UUID, track);
    p.at = acui_pb_uint(p.at, PARENT, acui_track(ACUI_TRACK_PROCESS, 0));
    p.at = acui_pb_text(p.at, TRACK_NAME, name);
    unsigned char *counter = p.at = acui_pb_open(p.at, TRACK_COUNTER);
    p.at = acui_pb_uint(p.at, UNIT, bytes ? UNIT_BYTES : UNIT_COUNT);
    acui_pb_close(counter, p.at);
    close_packet(out, &p, p.at);
}

void acui_trace_count(acui_trace_out *out, const char *name, unsigned number, bool bytes,
                      uint64_t at, uint64_t value)
{
    packet p;
    uint64_t track = acui_track(ACUI_TRACK_COUNTER, number);
    if (!is_known(out, track))
        describe_counter(out, track, name, bytes);
    if (!open_packet(out, &p, at, TRACK_EVENT, 3 * ACUI_PB_UINT))
        return;
    p.at = acui_pb_uint(p.at, TYPE, COUNTER);
    p.at = acui_pb_uint(p.at, TRACK, track);
    p.at = acui_pb_uint(p.at, VALUE, value);
    close_packet(out, &p, p.at);
}
