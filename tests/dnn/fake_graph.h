/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operation graphs of the backend API, as the library that poses as cuDNN understands them. */
#ifndef ACUDA_TESTS_FAKE_GRAPH_H
#define ACUDA_TESTS_FAKE_GRAPH_H

#include "fake_cudnn.h"

typedef struct fake_desc fake_desc;

enum { X, W, Y, BIAS, TENSORS };

typedef struct fake_graph {
    int kind; /* the descriptor's type: 10 forward, 11 the weight's gradient, 12 x's; 19 matmul,
               * with which attention begins */
    fake_tensor at[TENSORS];
    int64_t id[TENSORS]; /* 0: there is none */
    int64_t stride[3], padding[3], dilation[3];
    int activation; /* -1: none */
    bool causal;    /* attention, with its scalars: scale, keys, queries, what hides */
    int64_t scalar_id[4];
    union {
        float real;
        int32_t whole;
    } scalar[4];
    bool rounds;    /* f32 to tf32 */
    int shift;      /* odd: sums are formed in another order */
    char *memory;   /* temporary; on the device */
    int64_t bytes;
} fake_graph;

/* ---- what descriptors say (fake_backend.c) ---- */

int fake_kind(const fake_desc *d);
bool fake_whole(const fake_desc *d, int name, int64_t *values, int64_t most, int64_t *count);
bool fake_number(const fake_desc *d, int name, int type, int *value);
bool fake_real(const fake_desc *d, int name, float *value);
fake_desc *fake_part(const fake_desc *d, int name, int type); /* type -1: any */

/* ---- graphs (fake_graph.c) ---- */

bool fake_read_tensor(const fake_desc *d, fake_tensor *t, int64_t *id, bool *is_virtual);
int fake_check_tensor(const fake_desc *d);
int fake_understand(fake_graph *g, fake_desc *const *ops, int64_t count);
bool fake_is_fused(const fake_graph *g);
bool fake_place(fake_graph *g, int64_t id, void *at);
bool fake_is_complete(const fake_graph *g);
void fake_run_graph(fake_driver *driver, const void *data);

/* ---- attention (fake_attention.c) ---- */

int fake_understand_attention(fake_graph *g, fake_desc *const *ops, int64_t count);
void fake_run_attention(const fake_graph *g, char *const *host);

#endif
