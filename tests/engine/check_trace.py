#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decodes traces with Google's protocol buffers and Perfetto's own schema, and checks what Perfetto expects of
them: no unknown field, every track described, slices that nest, arrows with two ends, one clock.

usage: check_trace.py FILE...     needs the Python packages protobuf and perfetto
"""
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

EVENT = schema.TrackEvent


def unknown(message, path):
    """Fields that the schema does not know, in the message and all that it contains."""
    for field in UnknownFieldSet(message):
        yield f"{path}.{field.field_number}"
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                yield from unknown(one, f"{path}.{field.name}")


def check(path):
    trace = schema.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    strange = sorted(set(unknown(trace, "trace")))
    assert not strange, f"fields that Perfetto does not know: {strange}"
    tracks, open_slices, begun, ended, slices = {}, {}, set(), set(), 0
    assert trace.packet[0].HasField("clock_snapshot"), "the first packet has no clocks"
    assert trace.packet[0].first_packet_on_sequence
    events = []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        elif packet.HasField("track_event"):
            assert packet.timestamp_clock_id == 3 and packet.timestamp > 0  # CLOCK_MONOTONIC
            assert packet.track_event.track_uuid in tracks, "an event is on a track that was not described before"
            events.append((packet.timestamp, len(events), packet.track_event))
    for track in tracks.values():
        assert not track.parent_uuid or track.parent_uuid in tracks
    for at, _, event in sorted(events, key=lambda e: e[:2]):
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            assert event.name and list(event.categories) == ["acuda"]
            open_slices.setdefault(event.track_uuid, []).append(at)
        elif event.type == EVENT.TYPE_SLICE_END:
            assert open_slices.get(event.track_uuid), f"an end at {at} of what did not begin"
            open_slices[event.track_uuid].pop()
            slices += 1
        elif event.type == EVENT.TYPE_COUNTER:
            assert tracks[event.track_uuid].HasField("counter")
        begun.update(event.flow_ids)
        ended.update(event.terminating_flow_ids)
    still = sum(len(list_) for list_ in open_slices.values())
    assert still == 0, f"{still} slices have no end"
    assert ended <= begun, "an arrow ends that did not begin"
    print(f"{path}: {len(trace.packet)} packets, {len(tracks)} tracks, {slices} slices, {len(ended)} arrows")


for file_path in sys.argv[1:]:
    check(file_path)
