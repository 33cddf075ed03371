/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fourier transforms of lines whose threads hold the elements in registers, E each: of thread j
 * those at j, j + n / E, j + 2 n / E and so on, before every pass and behind the last one. So what is
 * in global memory is read and written once, and shared memory only takes elements from one pass to
 * the next. The first pass is of p.radix[0] elements, which divides E, all others are of E.
 *
 * Neighbouring threads have neighbours in memory: in a line where its elements are, else those of
 * neighbouring lines.
 */
#include "fft.cuh"

/* Both parts at once: the compiler makes two of a load of a vector whose parts are used apart. */
ACUI_DEVICE complex<float> load(const float *at)
{
    complex<float> v;
    __asm__ __volatile__("ld.global.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(at) : "memory");
    return v;
}
ACUI_DEVICE complex<double> load(const double *at)
{
    complex<double> v;
    __asm__ __volatile__("ld.global.v2.f64 {%0,%1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(at) : "memory");
    return v;
}

template <typename T, int E> struct held {
    typedef complex<T> C;
    typedef T both __attribute__((ext_vector_type(2)));

    /* Where in a line's shared memory element e is: so that threads meet in few banks. Lines of
     * powers of two need no more memory for that. */
    ACUI_DEVICE int place(int e) { return E == 16 ? e ^ (e >> 4 & 15) : e + (e >> 4); }

    /* a[s] times w to the power of s, and, with ALL, times `high`. */
    template <bool ALL> ACUI_DEVICE void twist(C (&a)[E], C w, C high)
    {
        const C two = w * w, low[4] = {w, w, two, two * w}, four = two * two;
#pragma unroll
        for (int s = ALL ? 0 : 1; s < E; s++) {
            if (s >= 4 && s % 4 == 0)
                high = s > 4 || ALL ? high * four : four;
            a[s] = a[s] * (s % 4 == 0 ? high : s < 4 && !ALL ? low[s % 4] : low[s % 4] * high);
        }
    }

    /* The first pass, to shared memory. */
    template <int R> ACUI_DEVICE void first(C (&a)[E], C *line, int j, int apart, bool active)
    {
        const int COUNT = E / R;
#pragma unroll
        for (int q = 0; q < COUNT; q++) {
            C b[R];
#pragma unroll
            for (int i = 0; i < R; i++)
                b[i] = a[q + i * COUNT];
            few<R>(b);
            if (active)
#pragma unroll
                for (int i = 0; i < R; i++)
                    line[place((j + q * apart) * R + i)] = b[i];
        }
    }
    ACUI_DEVICE void begin(int radix, C (&a)[E], C *line, int j, int apart, bool active)
    {
        if constexpr (E == 16)
            switch (radix) {
            case 2: first<2>(a, line, j, apart, active); return;
            case 4: first<4>(a, line, j, apart, active); return;
            case 8: first<8>(a, line, j, apart, active); return;
            }
        else
            switch (radix) {
            case 2: first<2>(a, line, j, apart, active); return;
            case 5: first<5>(a, line, j, apart, active); return;
            }
        first<E>(a, line, j, apart, active);
    }

    /* All other passes, from shared memory. */
    ACUI_DEVICE void rest(const acui_fft_pass &p, C (&a)[E], C *line, int j, int apart, bool active)
    {
        for (int ns = p.radix[0];; ns *= E) {
            const int k = E == 16 ? j & (ns - 1) : (int)((unsigned)j % (unsigned)ns);
            __syncthreads();
#pragma unroll
            for (int s = 0; s < E; s++)
                a[s] = line[place(j + s * apart)];
            twist<false>(a, turn<T>(k, ns * E, (T)1 / (T)(ns * E)), C());
            few<E>(a);
            if (ns * E == p.n)
                return;
            __syncthreads();
            if (active)
#pragma unroll
                for (int s = 0; s < E; s++)
                    line[place((j - k) * E + k + s * ns)] = a[s];
        }
    }

    /* Which of `left` lines of the block a thread has, and which of its elements is the first. False,
     * and zeros: none. */
    ACUI_DEVICE bool share(const acui_fft_side &side, int each, long long left, int apart, int &line, int &j)
    {
        const unsigned t = threadIdx.x, by = side.step <= 2 ? (unsigned)apart : (unsigned)each;
        const int q = (int)(t / by), r = (int)(t - (unsigned)q * by);
        line = side.step <= 2 ? q : r;
        j = side.step <= 2 ? r : q;
        if (line < each && line < left && j < apart)
            return true;
        line = j = 0;
        return false;
    }

    ACUI_DEVICE bool whole(const acui_fft_side &side, const T *at)
    {
        return side.form == ACUI_FFT_COMPLEX && (unsigned long long)at % sizeof(C) == 0;
    }
    ACUI_DEVICE void get(const acui_fft_side &side, C (&a)[E], const T *at, int j, int apart, int n)
    {
        if (whole(side, at)) {
            const long long hop = apart * side.step;
            at += j * side.step;
#pragma unroll
            for (int s = 0; s < E; s++)
                a[s] = load(at + s * hop);
#pragma unroll
            for (int s = 0; s < E; s++)
                a[s] = side.swapped ? C{a[s].y, a[s].x} : a[s];
        } else {
#pragma unroll
            for (int s = 0; s < E; s++)
                a[s] = read<T>(side, at, j + s * apart, n);
        }
    }
    ACUI_DEVICE void put(const acui_fft_side &side, C (&a)[E], T *at, int j, int apart, int n)
    {
        if (whole(side, at)) {
            const long long hop = apart * side.step;
            at += j * side.step;
#pragma unroll
            for (int s = 0; s < E; s++)
                *(both *)(at + s * hop) = side.swapped ? both{a[s].y, a[s].x} : both{a[s].x, a[s].y};
        } else {
#pragma unroll
            for (int s = 0; s < E; s++)
                write<T>(side, at, j + s * apart, n, a[s]);
        }
    }

    /* The side of a line of which this one is a part, one of `half`, beginning with c. */
    ACUI_DEVICE acui_fft_side part_of(const acui_fft_side &side, int half)
    {
        acui_fft_side whole_line = side;
        whole_line.step /= half;
        return whole_line;
    }

    /* c of acui_fft_pass. */
    ACUI_DEVICE long long column(const acui_fft_pass &p, long long line)
    {
        if (p.index.wide)
            return line / p.inner % p.columns;
        return (unsigned)line / (unsigned)p.inner % (unsigned)p.columns;
    }

    ACUI_DEVICE void run(const acui_fft_pass &p, T *out, const T *x)
    {
        extern __shared__ __align__(16) char memory[];
        C *data = (C *)memory;
        const int apart = p.n / E;
        for (long long first = (long long)blockIdx.x * p.each; first < p.lines; first += (long long)gridDim.x * p.each) {
            const long long left = p.lines - first;
            int line, j;
            long long at[1];
            C a[E];
            bool active = share(p.in, p.each, left, apart, line, j);
            if (active) {
                acui_offsets<1>(p.index, p.at + 1, first + line, at);
                if (p.half && p.in.form == ACUI_FFT_HALF) {
                    const acui_fft_side side = part_of(p.in, p.half);
                    const int c = (int)column(p, first + line);
                    get(side, a, x + at[0] - c * side.step, j * p.half + c, apart * p.half, p.n * p.half);
                } else {
                    get(p.in, a, x + at[0], j, apart, p.n);
                }
            }
            begin(p.radix[0], a, data + line * p.pitch, j, apart, active);
            active = share(p.out, p.each, left, apart, line, j);
            rest(p, a, data + line * p.pitch, j, apart, active);
            if (active) {
                if (p.whole) {
                    const T by = (T)1 / (T)p.whole;
                    const long long c = column(p, first + line);
                    twist<true>(a, turn<T>(c * apart, p.whole, by), turn<T>(c * j, p.whole, by));
                }
                acui_offsets<1>(p.index, p.at, first + line, at);
                if (p.half && p.out.form == ACUI_FFT_HALF) {
                    const acui_fft_side side = part_of(p.out, p.half);
                    const int c = (int)column(p, first + line);
                    put(side, a, out + at[0] - c * side.step, j * p.half + c, apart * p.half, p.n * p.half);
                } else {
                    put(p.out, a, out + at[0], j, apart, p.n);
                }
            }
            __syncthreads();
        }
    }
};

/* Without an operand, lines are transformed where they are. */
#define ACUI_FFT_HELD(class, T, each, threads, blocks)                                             \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        fft_##each##_##class(T *out, const T *x, acui_fft_pass p)                                  \
    {                                                                                              \
        held<T, each>::run(p, out, x ? x : out);                                                   \
    }
