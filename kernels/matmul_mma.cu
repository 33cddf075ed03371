/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products of f16, bf16 and tf32 matrices by tensor cores (compute capability 8.0 and newer), added
 * in float. A block computes a tile of the result, each of its warps 64 by 64 of it, from strips of
 * 64 bytes along k. Of the strips in shared memory one is used while the next ones are on their way,
 * and a warp loads what it multiplies next while it multiplies.
 *
 * A strip lies in shared memory as its operand does: along k (rows of 64 bytes), or across (a row for
 * each k). Chunks of 16 bytes are exchanged within a row, so that those that one instruction reads
 * are in different banks. mma.cuh says which thread holds what of a matrix.
 */
#include "mma.cuh"

#define ACUI_MEMBER __inline__ __attribute__((device, always_inline))

/* In elements: two of these steps are a strip. */
template <int BYTES> struct depth {
    static const int CHUNK = 16 / BYTES, STEP = 2 * CHUNK, STRIP = 2 * STEP;
};

/* Where a strip of TILE rows, or columns, has its chunks, for a block of THREADS. */
template <int BYTES, int TILE, int THREADS, bool LEFT> struct operand {
    typedef depth<BYTES> D;
    static const int SIZE = TILE * 64, ACROSS = TILE * BYTES / 16, COUNT = SIZE / 16 / THREADS;

    bool along;         /* along k */
    const char *from;   /* this thread's next chunk on the way */
    long long hop, far; /* bytes to the next one in the strip, and from the last one to the next strip */
    int rows, row_step; /* rows that are left from its first one on; fewer for the next strip */
    int bytes, byte_step; /* the same of bytes in a row */
    unsigned to, read;  /* places in the strip: of the first chunk, and of what the warp reads */

    ACUI_MEMBER int chunks() const { return along ? 4 : ACROSS; }
    ACUI_MEMBER int place(int row, int chunk) const
    {
        return along ? row * 64 + (chunk ^ (row >> 1 & 3)) * 16
                     : row * ACROSS * 16 + (chunk ^ (BYTES == 2 ? row & 7 : (row & 3) << 1)) * 16;
    }

    /* across: the stride and what is left of rows, or columns; part: the warp's, of 64 of them. */
    ACUI_MEMBER void open(bool k_first, const char *at, long long across, long long across_left, long long k, long long k_left, int part)
    {
        const int t = (int)threadIdx.x, lane = t % 32, second = lane / 8 % 2, third = lane / 16;
        const int half_across = LEFT ? second : third, half_k = LEFT ? third : second;
        along = k_first;
        const int row = t / chunks(), chunk = t % chunks(), most = across_left < TILE ? (int)across_left : TILE;
        const long long by_row = (along ? across : k) * BYTES;
        from = at + row * by_row + chunk * 16;
        hop = THREADS / chunks() * by_row;
        far = D::STRIP * k * BYTES - (COUNT - 1) * hop;
        rows = (along ? most : (int)k_left) - row;
        bytes = (along ? (int)k_left : most) * BYTES - chunk * 16;
        row_step = along ? 0 : D::STRIP;
        byte_step = along ? 64 : 0;
        to = (unsigned)place(row, chunk);
        if (along)
            read = (unsigned)place(part * 64 + lane % 8 + half_across * 8, half_k);
        else if (BYTES == 2)
            read = (unsigned)place(lane % 8 + half_k * 8, part * 8 + half_across);
        else
            read = (unsigned)place(lane % 4, part * 16 + lane / 16) + lane / 4 % 4 * 4;
    }

    /* Chunk number e of the next strip on its way, if there are more of them. Not WHOLE: zeros
     * outside, beyond k too. */
    template <bool WHOLE> ACUI_MEMBER void send(unsigned strip, int e, bool more)
    {
        const unsigned place = strip + to + (unsigned)(e * (SIZE / COUNT));
        if (WHOLE) {
            __asm__ __volatile__("{.reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16;}"
                                 :: "r"(place), "l"(from), "r"((unsigned)more) : "memory");
        } else {
            const int most = bytes < 0 ? 0 : bytes > 16 ? 16 : bytes;
            __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                                 :: "r"(place), "l"(from), "r"(e * (THREADS / chunks()) < rows ? most : 0) : "memory");
        }
        from += e < COUNT - 1 ? hop : far;
        if (!WHOLE && e == COUNT - 1) {
            rows -= row_step;
            bytes -= byte_step;
        }
    }
    template <bool WHOLE> ACUI_MEMBER void send(unsigned strip)
    {
#pragma unroll
        for (int e = 0; e < COUNT; e++)
            send<WHOLE>(strip, e, true);
    }

    /* 64 across by a step along k, as mma wants them: 16 across in each r[i]. */
    ACUI_MEMBER void load(unsigned (&r)[4][4], unsigned strip, int k) const
    {
        if (along) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                load_four<false>(r[i], strip + (read ^ (unsigned)k * 32) + (unsigned)i * 1024);
        } else if constexpr (BYTES == 2) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                load_four<true>(r[i], strip + (read ^ (unsigned)i * 32) + (unsigned)(k * D::STEP * ACROSS * 16));
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    const int half_across = LEFT ? q & 1 : q >> 1, half_k = LEFT ? q >> 1 : q & 1;
                    const unsigned at = strip + (read ^ (unsigned)((i & 1) * 64 + half_across * 32)) +
                                        (unsigned)((i >> 1) * 128 + (k * D::STEP + half_k * 4) * ACROSS * 16);
                    __asm__ __volatile__("ld.shared.u32 %0, [%1];" : "=r"(r[i][q]) : "r"(at) : "memory");
                }
        }
    }

    /* The strip at k, one element after the other, for operands in which 16 bytes can not move. */
    ACUI_MEMBER void fill(char *strip, const char *at, long long across, long long across_left, long long k, long long k_left) const
    {
        const int by = along ? D::STRIP : TILE;
        for (int i = (int)threadIdx.x; i < TILE * D::STRIP; i += THREADS) {
            const int row = i / by, column = i % by, a = along ? row : column, d = along ? column : row;
            char *to_it = strip + place(row, column / D::CHUNK) + column % D::CHUNK * BYTES;
            const char *it = at + (a * across + d * k) * BYTES;
            const bool inside = a < across_left && d < k_left;
            if (BYTES == 2)
                *(unsigned short *)to_it = inside ? *(const unsigned short *)it : (unsigned short)0;
            else
                *(unsigned *)to_it = inside ? *(const unsigned *)it : 0;
        }
    }
};

template <typename H, int M, int N, int STAGES> struct product {
    static const int BYTES = H::BYTES, ACROSS = N / 64, THREADS = M / 64 * ACROSS * 32, BAND = N > M ? 16 : 8;
    typedef depth<BYTES> D;
    typedef operand<BYTES, M, THREADS, true> left;
    typedef operand<BYTES, N, THREADS, false> right;
    static const unsigned STAGE = left::SIZE + right::SIZE;
    /* What is multiplied next is loaded behind the first products: no others wait for it then. tf32
     * loads four times as many words across, and is faster with all of them first. */
    static const bool LATE = BYTES == 2;

    ACUI_DEVICE void load(const left &x, const right &y, unsigned (&u)[4][4], unsigned (&v)[4][4], unsigned strip, int k)
    {
        x.load(u, strip, k);
        y.load(v, strip + left::SIZE, k);
    }

    /* between(i) goes on while what is behind row i is multiplied. */
    template <typename F>
    ACUI_DEVICE void multiply(bool works, float (&sum)[4][8][4], const unsigned (&u)[4][4], const unsigned (&v)[4][4], F &&between)
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; works && j < 8; j++)
                H::multiply(sum[i][j], u[i], v[j / 2][j % 2 * 2], v[j / 2][j % 2 * 2 + 1]);
            between(i);
        }
    }

    /* rows and columns: what there is of the warp's part, which begins at out. */
    ACUI_DEVICE void store(const acui_matmul &p, char *out, long long rows, long long columns, const float (&sum)[4][8][4])
    {
        const int lane = (int)threadIdx.x % 32;
        const bool even = p.out_column == 1 && p.out_row % 2 == 0 && (unsigned long long)out % (2 * BYTES) == 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int row = i * 16 + h * 8 + lane / 4;
                if (row >= rows)
                    continue;
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    const int column = j * 8 + lane % 4 * 2;
                    char *at = out + (row * p.out_row + column * p.out_column) * BYTES;
                    const float x = sum[i][j][2 * h], y = sum[i][j][2 * h + 1];
                    if (even && column + 1 < columns) {
                        H::store_two(at, x, y);
                        continue;
                    }
                    if (column < columns)
                        H::store(at, x);
                    if (column + 1 < columns)
                        H::store(at + p.out_column * BYTES, y);
                }
            }
    }

    ACUI_DEVICE void commit() { __asm__ __volatile__("cp.async.commit_group;" ::: "memory"); }
    /* For the oldest strip that is on its way, of all threads. */
    ACUI_DEVICE void wait()
    {
        __asm__ __volatile__("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    }

    /* WHOLE: the tile and all strips are. works: the warp's part is not outside. */
    template <bool WHOLE>
    ACUI_DEVICE void by_chunks(bool works, float (&sum)[4][8][4], left &x, right &y, int strips, unsigned memory)
    {
        unsigned u[2][4][4], v[2][4][4];
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (!WHOLE || s < strips) {
                x.template send<WHOLE>(memory + s * STAGE);
                y.template send<WHOLE>(memory + s * STAGE + left::SIZE);
            }
            commit();
        }
        unsigned now = memory, next = memory + (STAGES - 1) * STAGE;
        wait();
        load(x, y, u[0], v[0], now, 0);
#pragma unroll 1
        for (; strips > 0; strips--) {
            const bool more = strips >= STAGES;
            if (!LATE)
                load(x, y, u[1], v[1], now, 1);
            multiply(works, sum, u[0], v[0], [&](int i) ACUI_INLINE {
                if (LATE && i == 0)
                    load(x, y, u[1], v[1], now, 1);
                if (i < left::COUNT)
                    x.template send<WHOLE>(next, i, more);
                if (i < right::COUNT)
                    y.template send<WHOLE>(next + left::SIZE, i, more);
            });
            commit();
            next = now;
            now = now == memory + (STAGES - 1) * STAGE ? memory : now + STAGE;
            wait();
            if (!LATE && strips > 1)
                load(x, y, u[0], v[0], now, 0);
            multiply(works, sum, u[1], v[1], [&](int i) ACUI_INLINE {
                if (LATE && i == 0 && strips > 1)
                    load(x, y, u[0], v[0], now, 0);
            });
        }
        __asm__ __volatile__("cp.async.wait_all;" ::: "memory");
    }

    ACUI_DEVICE void by_elements(float (&sum)[4][8][4], const acui_matmul &p, const left &x, const right &y, const char *a, const char *b,
                                 long long rows, long long columns, char *memory)
    {
        unsigned u[4][4], v[4][4];
#pragma unroll 1
        for (long long k = 0; k < p.k; k += D::STRIP) {
            __syncthreads();
            x.fill(memory, a + k * p.a_column * BYTES, p.a_row, rows, p.a_column, p.k - k);
            y.fill(memory + left::SIZE, b + k * p.b_row * BYTES, p.b_column, columns, p.b_row, p.k - k);
            __syncthreads();
#pragma unroll 1
            for (int s = 0; s < 2; s++) {
                load(x, y, u, v, shared_address(memory), s);
                multiply(true, sum, u, v, [](int) ACUI_INLINE {});
            }
        }
    }

    ACUI_DEVICE bool is_even(const char *at, long long stride) { return (unsigned long long)at % 16 == 0 && stride % D::CHUNK == 0; }

    ACUI_DEVICE void tile(const acui_matmul &p, char *out, const char *a, const char *b, long long row, long long column)
    {
        extern __shared__ __align__(128) char memory[];
        const int warp = (int)threadIdx.x / 32, down = warp / ACROSS * 64, across = warp % ACROSS * 64;
        const bool a_along = p.a_column == 1, b_along = p.b_row == 1;
        float sum[4][8][4] = {};
        left x;
        right y;
        a += row * p.a_row * BYTES;
        b += column * p.b_column * BYTES;
        x.open(a_along, a, p.a_row, p.m - row, p.a_column, p.k, down / 64);
        y.open(b_along, b, p.b_column, p.n - column, p.b_row, p.k, across / 64);
        row += down;
        column += across;
        __syncthreads(); /* the tile before is done */
        const bool works = row < p.m && column < p.n;
        const long long rows = p.m - (row - down), columns = p.n - (column - across);
        const int strips = (int)((p.k + D::STRIP - 1) / D::STRIP);
        if (!is_even(a, a_along ? p.a_row : p.a_column) || !is_even(b, b_along ? p.b_column : p.b_row))
            by_elements(sum, p, x, y, a, b, rows, columns, memory);
        else if (rows >= M && columns >= N && p.k % D::STRIP == 0)
            by_chunks<true>(true, sum, x, y, strips, shared_address(memory));
        else
            by_chunks<false>(works, sum, x, y, strips, shared_address(memory));
        if (works)
            store(p, out + (row * p.out_row + column * p.out_column) * BYTES, p.m - row, p.n - column, sum);
    }

    /* Tiles that run at the same time share strips: BAND rows of tiles at a time, column by column. */
    ACUI_DEVICE void run(const acui_matmul &p, char *out, const char *a, const char *b)
    {
        const long long down = (p.m + M - 1) / M, across = (p.n + N - 1) / N;
        for (long long unit = blockIdx.x; unit < down * across * p.batches; unit += gridDim.x) {
            long long offset[3];
            const long long in_batch = unit % (down * across), band = in_batch / (BAND * across) * BAND;
            const long long high = down - band < BAND ? down - band : BAND, in_band = in_batch - band * across;
            acui_offsets<3>(p.batch, p.at, unit / (down * across), offset);
            tile(p, out + offset[0] * BYTES, a + offset[1] * BYTES, b + offset[2] * BYTES,
                 (band + in_band % high) * M, in_band / high * N);
        }
    }
};

#define ACUI_MATMUL_MMA(dtype)                                                                     \
    extern "C" __global__ void __launch_bounds__(ACUI_MMA_THREADS)                                 \
        matmul_##dtype(char *out, const char *a, const char *b, acui_matmul p)                     \
    {                                                                                              \
        product<as_##dtype, ACUI_MMA_ROWS, ACUI_MMA_COLUMNS, ACUI_MMA_STAGES>::run(p, out, a, b);  \
    }
ACUI_MATMUL_MMA(f16)
ACUI_MATMUL_MMA(bf16)
ACUI_MATMUL_MMA(tf32)
