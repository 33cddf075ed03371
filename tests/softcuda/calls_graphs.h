/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random graphs: made, changed, instantiated, updated, launched. */
#ifndef TESTS_SOFTCUDA_CALLS_GRAPHS_H
#define TESTS_SOFTCUDA_CALLS_GRAPHS_H

#include "softcuda/calls_kernels.h"
#include "softcuda/calls_streams.h"

/* A graph that exists, or NULL. */
static known_graph *some_graph(world *w, unsigned *n)
{
    for (int tries = 0; tries < 8; tries++) {
        *n = below(w, GRAPHS);
        if (w->graphs[*n].graph)
            return &w->graphs[*n];
    }
    return NULL;
}

static void make_graph(world *w)
{
    const unsigned n = below(w, GRAPHS), flags = rarely(w, 12) ? 1 : 0;
    CUgraph graph = NULL;
    if (w->graphs[n].graph)
        return;
    ask(w, "GraphCreate g%u flags %u", n, flags);
    if (told(w, w->cu->GraphCreate(&graph, flags)))
        w->graphs[n] = (known_graph){.graph = graph, .life = ++w->lives};
}

static void destroy_graph(world *w)
{
    unsigned n;
    known_graph *g = some_graph(w, &n);
    if (!g || below(w, 4))
        return;
    ask(w, "GraphDestroy g%u", n);
    if (told(w, w->cu->GraphDestroy(g->graph)))
        g->graph = NULL;
}

static void clone_graph(world *w)
{
    unsigned n, to = below(w, GRAPHS);
    known_graph *g = some_graph(w, &n);
    CUgraph clone = NULL;
    if (!g || w->graphs[to].graph)
        return;
    ask(w, "GraphClone g%u g%u", n, to);
    if (told(w, w->cu->GraphClone(&clone, g->graph))) {
        tell_graph(w, clone);
        w->graphs[to] = (known_graph){.graph = clone, .life = ++w->lives};
    }
}

/* The predecessors of a new node: some nodes of the graph; sometimes one of them twice, or a node
 * of another graph. */
static size_t some_nodes(world *w, known_graph *g, CUgraphNode *nodes)
{
    size_t count = 0;
    if (g->count && below(w, 3))
        nodes[count++] = g->nodes[g->count - 1];
    if (g->count && rarely(w, 3)) {
        CUgraphNode other = g->nodes[below(w, g->count)];
        if (!count || other != nodes[0] || rarely(w, 8))
            nodes[count++] = other;
    }
    if (rarely(w, 25)) {
        unsigned n;
        known_graph *other = some_graph(w, &n);
        if (other && other->count)
            nodes[count++] = other->nodes[0];
    }
    return count;
}

/* The parameters of nodes; right ones for the most part. */
typedef struct kernel_values {
    CUdeviceptr at;
    unsigned v;
    void *params[2];
    acu_CUDA_KERNEL_NODE_PARAMS_v1 p;
} kernel_values;

static void fill_kernel(world *w, kernel_values *k)
{
    unsigned which, c;
    const form f = some_form(w);
    CUfunction kernel = some_kernel(w, &which);
    k->at = some_counter(w, &c);
    k->v = 1 + below(w, 9);
    k->params[0] = &k->at;
    k->params[1] = &k->v;
    k->p =
        (acu_CUDA_KERNEL_NODE_PARAMS_v1){kernel,     f.grid[0],  f.grid[1], f.grid[2], f.block[0],
                                         f.block[1], f.block[2], f.shared,  k->params, NULL};
    if (rarely(w, 30))
        k->p.func = NULL;
    ask(w, "kernel %u%s grid %u,%u,%u block %u,%u,%u shared %u counter %u by %u: ", which,
        k->p.func ? "" : " (none)", f.grid[0], f.grid[1], f.grid[2], f.block[0], f.block[1],
        f.block[2], f.shared, c, k->v);
}

static acu_CUDA_MEMSET_NODE_PARAMS some_fill(world *w)
{
    acu_CUDA_MEMSET_NODE_PARAMS p = {
        .dst = w->scratch + 8192 + ONE_OF(w, 0, 0, 0, 0, 0, 1, 2),
        .pitch = ONE_OF(w, 0, 64, 64, 512),
        .value = ONE_OF(w, 1, 1, 255, 256, 65536),
        .elementSize = ONE_OF(w, 1, 2, 4, 4, 4, 4, 3, 8, 0),
        .width = ONE_OF(w, 0, 1, 16, 16, 100),
        .height = ONE_OF(w, 1, 1, 1, 1, 1, 0, 2),
    };
    if (rarely(w, 20))
        p.dst = 0;
    ask(w, "fill +%u pitch %zu value %u element %u width %zu height %zu: ", (unsigned)(p.dst % 4),
        p.pitch, p.value, p.elementSize, p.width, p.height);
    return p;
}

static acu_CUDA_MEMCPY3D some_copy(world *w)
{
    const unsigned kinds = below(w, 4);
    acu_CUDA_MEMCPY3D p = {
        .srcMemoryType = kinds & 1 ? ACU_CU_MEMORYTYPE_DEVICE : ACU_CU_MEMORYTYPE_HOST,
        .srcHost = rarely(w, 4) ? pageable : w->pinned,
        .srcDevice = w->scratch + 4096,
        .srcPitch = ONE_OF(w, 0, 64, 64, 64, 10),
        .srcHeight = ONE_OF(w, 0, 4, 4),
        .dstMemoryType = kinds & 2 ? ACU_CU_MEMORYTYPE_DEVICE : ACU_CU_MEMORYTYPE_HOST,
        .dstHost = rarely(w, 4) ? pageable + 32768 : w->pinned + 32768,
        .dstDevice = w->scratch + 32768,
        .dstPitch = ONE_OF(w, 0, 64, 64, 64, 10),
        .dstHeight = ONE_OF(w, 0, 4, 4),
        .WidthInBytes = ONE_OF(w, 16, 16, 16, 64, 0),
        .Height = ONE_OF(w, 1, 1, 1, 1, 4, 0),
        .Depth = ONE_OF(w, 1, 1, 1, 1, 1, 2, 0),
    };
    if (rarely(w, 15))
        p.srcMemoryType = ONE_OF(w, 0, 9);
    ask(w, "copy kinds %u pitches %zu,%zu %zu,%zu size %zu,%zu,%zu: ", kinds, p.srcPitch,
        p.srcHeight, p.dstPitch, p.dstHeight, p.WidthInBytes, p.Height, p.Depth);
    return p;
}

static acu_CUDA_HOST_NODE_PARAMS some_host(world *w)
{
    acu_CUDA_HOST_NODE_PARAMS p = {count_on_host, &host_counters[below(w, COUNTERS)]};
    if (rarely(w, 12))
        p.fn = NULL;
    ask(w, "host%s: ", p.fn ? "" : " (none)");
    return p;
}

/* Where a node goes, and behind which. */
typedef struct place {
    known_graph *graph;
    unsigned number; /* of the graph */
    CUgraphNode behind[4];
    size_t count;
} place;

static bool add_child(world *w, const place *p, CUgraphNode *node)
{
    unsigned other;
    known_graph *child = some_graph(w, &other);
    if (!child || child == p->graph)
        return false; /* a graph in itself: NVIDIA's driver 580 crashes */
    ask(w, "GraphAddChildGraphNode g%u g%u behind %zu", p->number, other, p->count);
    return told(
        w, w->cu->GraphAddChildGraphNode(node, p->graph->graph, p->behind, p->count, child->graph));
}

static bool add_event(world *w, const place *p, bool record, CUgraphNode *node)
{
    const unsigned e = below(w, EVENTS);
    ask(w, "GraphAddEvent%sNode g%u e%u%s behind %zu", record ? "Record" : "Wait", p->number, e,
        w->events[e] ? "" : " (none)", p->count);
    return told(w, record ? w->cu->GraphAddEventRecordNode(node, p->graph->graph, p->behind,
                                                           p->count, w->events[e])
                          : w->cu->GraphAddEventWaitNode(node, p->graph->graph, p->behind, p->count,
                                                         w->events[e]));
}

static bool add_kernel(world *w, const place *p, CUgraphNode *node)
{
    kernel_values k;
    fill_kernel(w, &k);
    ask(w, "GraphAddKernelNode g%u behind %zu", p->number, p->count);
    return told(w, w->cu->GraphAddKernelNode(node, p->graph->graph, p->behind, p->count, &k.p));
}

/* Copies, fills, host functions, and nodes that do nothing. */
static bool add_other(world *w, const place *p, unsigned type, CUgraphNode *node)
{
    CUgraph graph = p->graph->graph;
    if (type == ACU_CU_GRAPH_NODE_TYPE_MEMCPY) {
        const acu_CUDA_MEMCPY3D c = some_copy(w);
        ask(w, "GraphAddMemcpyNode g%u behind %zu", p->number, p->count);
        return told(w, w->cu->GraphAddMemcpyNode(node, graph, p->behind, p->count, &c, w->context));
    }
    if (type == ACU_CU_GRAPH_NODE_TYPE_MEMSET) {
        const acu_CUDA_MEMSET_NODE_PARAMS f = some_fill(w);
        ask(w, "GraphAddMemsetNode g%u behind %zu", p->number, p->count);
        return told(w, w->cu->GraphAddMemsetNode(node, graph, p->behind, p->count, &f, w->context));
    }
    if (type == ACU_CU_GRAPH_NODE_TYPE_HOST) {
        const acu_CUDA_HOST_NODE_PARAMS h = some_host(w);
        ask(w, "GraphAddHostNode g%u behind %zu", p->number, p->count);
        return told(w, w->cu->GraphAddHostNode(node, graph, p->behind, p->count, &h));
    }
    ask(w, "GraphAddEmptyNode g%u behind %zu", p->number, p->count);
    return told(w, w->cu->GraphAddEmptyNode(node, graph, p->behind, p->count));
}

static void add_node(world *w)
{
    place p;
    CUgraphNode node = NULL;
    p.graph = some_graph(w, &p.number);
    if (!p.graph || p.graph->count == NODES)
        return;
    p.count = some_nodes(w, p.graph, p.behind);
    const unsigned type = ONE_OF(w, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7);
    const bool there = type == ACU_CU_GRAPH_NODE_TYPE_KERNEL         ? add_kernel(w, &p, &node)
                       : type == ACU_CU_GRAPH_NODE_TYPE_GRAPH        ? add_child(w, &p, &node)
                       : type == ACU_CU_GRAPH_NODE_TYPE_EVENT_RECORD ? add_event(w, &p, true, &node)
                       : type == ACU_CU_GRAPH_NODE_TYPE_WAIT_EVENT ? add_event(w, &p, false, &node)
                                                                   : add_other(w, &p, type, &node);
    if (there) {
        p.graph->nodes[p.graph->count] = node;
        p.graph->types[p.graph->count++] = type;
    }
}

static void add_edge(world *w)
{
    unsigned n;
    known_graph *g = some_graph(w, &n);
    if (!g || g->count < 2)
        return;
    const unsigned from = below(w, g->count), to = below(w, g->count);
    if (from >= to && below(w, 5))
        return; /* it makes a circle, maybe */
    ask(w, "GraphAddDependencies g%u %u to %u", n, from, to);
    told(w, w->cu->GraphAddDependencies(g->graph, &g->nodes[from], &g->nodes[to], 1));
    tell_graph(w, g->graph);
}

static void ask_graph(world *w)
{
    unsigned n, type = 77;
    known_graph *g = some_graph(w, &n);
    CUgraphNode nodes[3];
    size_t count = below(w, 4);
    if (!g)
        return;
    switch (below(w, 4)) {
    case 0:
        ask(w, "GraphGetNodes g%u room %zu", n, count);
        if (told(w, w->cu->GraphGetNodes(g->graph, count ? nodes : NULL, &count)))
            gave(w, count);
        break;
    case 1:
        ask(w, "GraphGetRootNodes g%u room %zu", n, count);
        if (told(w, w->cu->GraphGetRootNodes(g->graph, count ? nodes : NULL, &count)))
            gave(w, count);
        break;
    case 2:
        ask(w, "GraphGetEdges g%u", n);
        if (told(w, w->cu->GraphGetEdges(g->graph, NULL, NULL, &count)))
            gave(w, count);
        break;
    default:
        if (!g->count)
            break;
        ask(w, "GraphNodeGetType g%u", n);
        if (told(w, w->cu->GraphNodeGetType(g->nodes[below(w, g->count)], &type)))
            gave(w, type);
    }
}

static void set_node(world *w)
{
    unsigned n;
    known_graph *g = some_graph(w, &n);
    kernel_values k;
    acu_CUlaunchAttributeValue value = {.pad = {0}};
    if (!g || !g->count)
        return;
    const unsigned i = below(w, g->count), attribute = ONE_OF(w, 2, 8, 8, 77);
    switch (below(w, 3)) {
    case 0:
        fill_kernel(w, &k);
        ask(w, "GraphKernelNodeSetParams g%u node %u of type %u", n, i, g->types[i]);
        told(w, w->cu->GraphKernelNodeSetParams(g->nodes[i], &k.p));
        break;
    case 1:
        value.priority = attribute == 8 ? -(int)below(w, 3) : (int)below(w, 2);
        ask(w, "GraphKernelNodeSetAttribute %u g%u node %u of type %u to %d", attribute, n, i,
            g->types[i], value.priority);
        told(w, w->cu->GraphKernelNodeSetAttribute(g->nodes[i], attribute, &value));
        break;
    default:
        ask(w, "GraphKernelNodeGetAttribute %u g%u node %u of type %u", attribute, n, i,
            g->types[i]);
        if (told(w, w->cu->GraphKernelNodeGetAttribute(g->nodes[i], attribute, &value)))
            gave(w, (unsigned)(value.priority + 10));
    }
}

/* ---- executable ones ---- */

static void instantiate(world *w)
{
    unsigned n, x = below(w, EXECS);
    known_graph *g = some_graph(w, &n);
    const unsigned flags = ONE_OF(w, 0, 0, 0, 0, 1, 8, 2, 16);
    CUgraphExec exec = NULL;
    if (!g || w->execs[x].exec)
        return;
    if (rarely(w, 3)) {
        /* Uploading besides is allowed even where instantiating is not, while a stream captures. */
        acu_CUDA_GRAPH_INSTANTIATE_PARAMS p = {.flags = flags == 2 ? 0 : flags, .result_out = 77};
        ask(w, "GraphInstantiateWithParams x%u g%u flags %u", x, n, (unsigned)p.flags);
        told(w, w->cu->GraphInstantiateWithParams(&exec, g->graph, &p));
        gave(w, p.result_out);
    } else {
        ask(w, "GraphInstantiateWithFlags x%u g%u flags %u", x, n, flags);
        told(w, w->cu->GraphInstantiateWithFlags(&exec, g->graph, flags));
    }
    if (exec)
        w->execs[x] = (known_exec){exec, n, g->life};
}

static known_exec *some_exec(world *w, unsigned *x)
{
    for (int tries = 0; tries < 8; tries++) {
        *x = below(w, EXECS);
        if (w->execs[*x].exec)
            return &w->execs[*x];
    }
    return NULL;
}

static void destroy_exec(world *w)
{
    unsigned n;
    known_exec *x = some_exec(w, &n);
    if (!x || below(w, 4))
        return;
    ask(w, "GraphExecDestroy x%u", n);
    if (told(w, w->cu->GraphExecDestroy(x->exec)))
        x->exec = NULL;
}

static void set_exec(world *w)
{
    unsigned n, m;
    known_exec *x = some_exec(w, &n);
    known_graph *g = x ? &w->graphs[x->graph] : NULL;
    kernel_values k;
    if (!x)
        return;
    if (g->life != x->life || !g->graph || rarely(w, 15))
        g = some_graph(w, &m); /* a node that the executable graph does not have */
    if (!g || !g->count)
        return;
    const unsigned i = below(w, g->count);
    unsigned kind = g->types[i];
    if (rarely(w, 10))
        kind = below(w, 5);
    CUgraphNode node = g->nodes[i];
    const bool own = g == &w->graphs[x->graph] && g->life == x->life;
    const char *whose = own ? "its" : "a foreign";
    switch (kind) {
    case 0:
        fill_kernel(w, &k);
        ask(w, "GraphExecKernelNodeSetParams x%u %s node %u of type %u", n, whose, i, g->types[i]);
        told(w, w->cu->GraphExecKernelNodeSetParams(x->exec, node, &k.p));
        break;
    case 1: {
        const acu_CUDA_MEMCPY3D p = some_copy(w);
        ask(w, "GraphExecMemcpyNodeSetParams x%u %s node %u of type %u", n, whose, i, g->types[i]);
        told(w, w->cu->GraphExecMemcpyNodeSetParams(x->exec, node, &p, w->context));
        break;
    }
    case 2: {
        const acu_CUDA_MEMSET_NODE_PARAMS p = some_fill(w);
        ask(w, "GraphExecMemsetNodeSetParams x%u %s node %u of type %u", n, whose, i, g->types[i]);
        told(w, w->cu->GraphExecMemsetNodeSetParams(x->exec, node, &p, w->context));
        break;
    }
    case 3: {
        const acu_CUDA_HOST_NODE_PARAMS p = some_host(w);
        ask(w, "GraphExecHostNodeSetParams x%u %s node %u of type %u", n, whose, i, g->types[i]);
        told(w, w->cu->GraphExecHostNodeSetParams(x->exec, node, &p));
        break;
    }
    default: {
        const unsigned yes = below(w, 2);
        ask(w, "GraphNodeSetEnabled x%u %s node %u of type %u to %u", n, whose, i, g->types[i],
            yes);
        told(w, w->cu->GraphNodeSetEnabled(x->exec, node, yes));
    }
    }
}

static void update_exec(world *w)
{
    unsigned n, m;
    known_exec *x = some_exec(w, &n);
    known_graph *g = some_graph(w, &m);
    acu_CUgraphExecUpdateResultInfo info = {.result = 77};
    if (!x || !g)
        return;
    ask(w, "GraphExecUpdate x%u g%u%s", n, m,
        x->graph == m && x->life == g->life ? "" : ", another one");
    told(w, w->cu->GraphExecUpdate_v2(x->exec, g->graph, &info));
    /* Two graphs that differ in more than one respect: either difference may be reported. */
    gave(w, info.result == ACU_CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED ||
                    info.result == ACU_CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
                ? ACU_CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
                : info.result);
}

/* A launch on another stream does not wait for it. The thread may wait, whatever it captures. */
static void await_upload(const world *w, unsigned s)
{
    unsigned mode = ACU_CU_STREAM_CAPTURE_MODE_RELAXED;
    OK(w->cu->ThreadExchangeStreamCaptureMode(&mode));
    OK(w->cu->StreamSynchronize(w->streams[s]));
    OK(w->cu->ThreadExchangeStreamCaptureMode(&mode));
}

static void launch_graph(world *w)
{
    unsigned n;
    known_exec *x = some_exec(w, &n);
    const unsigned s = some_stream(w);
    if (!x)
        return;
    if (rarely(w, 8)) {
        ask(w, "GraphUpload x%u s%u", n, s);
        const unsigned result = w->cu->GraphUpload(x->exec, w->streams[s]);
        told(w, result);
        if (result == 0)
            await_upload(w, s);
        return;
    }
    ask(w, "GraphLaunch x%u s%u", n, s);
    told(w, w->cu->GraphLaunch(x->exec, w->streams[s]));
}

#endif
