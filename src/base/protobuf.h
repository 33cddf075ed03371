/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writing protocol buffers' wire format: as much of it as a trace needs (trace.h). */
#ifndef ACUI_BASE_PROTOBUF_H
#define ACUI_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct acui_pb {
    unsigned char *data;
    size_t used, room;
    bool failed; /* there was no memory for something: what was written is incomplete */
} acui_pb;

void acui_pb_uint(acui_pb *pb, unsigned field, uint64_t value); /* also enums and bool */
void acui_pb_fixed64(acui_pb *pb, unsigned field, uint64_t value);
void acui_pb_text(acui_pb *pb, unsigned field, const char *text); /* made valid UTF-8 */

/* A message inside the message: what is written between these two belongs to it. Messages nest; one
 * has less than 256 MiB. */
size_t acui_pb_open(acui_pb *pb, unsigned field);
void acui_pb_close(acui_pb *pb, size_t opened);

void acui_pb_free(acui_pb *pb);

#endif
