/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Several rings, one order (src/engine/submit/runtime.c). A thread that hands over notes how far
 * the other ring is before it claims its place; the taker waits until the other ring has entered so
 * much. What would go the direct way is handed over instead while a ring holds something that is
 * not entered.
 *
 * Holds: no deadlock; what was submitted earlier, by the same thread or by one that is known to
 * have done it, is entered earlier, whichever rings and ways the two took.
 */
#define PLACES 6
#define STAMPS 6

typedef ring {
    byte given, entered;
    bool open[PLACES];
    byte stamp[PLACES], after[PLACES]
}
ring rings[2];

/* Stamps say what must come before what: 1 before 2 before 3 (first thread); 2 before 4 before 5
 * (second thread, which knows of 2). */
bool in[STAMPS];
bool told;

inline enter(s)
{
    atomic {
        assert(!in[s]);
        assert(s != 2 || in[1]);
        assert(s != 3 || in[2]);
        assert(s != 4 || in[2]);
        assert(s != 5 || in[4]);
        in[s] = true
    }
}

inline give(r, s)
{
    byte place, far;
#if defined(BROKEN_NOTES_NOTHING)
    far = 0;
#elif !defined(BROKEN_NOTES_LATE)
    far = rings[1 - r].given;
#endif
    atomic { place = rings[r].given; rings[r].given = place + 1 }
#ifdef BROKEN_NOTES_LATE
    far = rings[1 - r].given;
#endif
    rings[r].stamp[place] = s;
    rings[r].after[place] = far;
    rings[r].open[place] = true
}

/* To a device without a ring; also stands for a `then` on a thread that is not a ring's. */
inline direct(s)
{
#ifndef BROKEN_DIRECT_AT_ONCE
    if
    :: rings[0].entered < rings[0].given -> give(0, s)
    :: rings[0].entered == rings[0].given ->
        if
        :: rings[1].entered < rings[1].given -> give(1, s)
        :: rings[1].entered == rings[1].given -> enter(s)
        fi
    fi
#else
    enter(s)
#endif
}

active [2] proctype taker()
{
    byte me = _pid, n = 0, what;
    do
    :: rings[me].open[n] ->
        rings[1 - me].entered >= rings[me].after[n]; /* waits */
        what = rings[me].stamp[n];
        enter(what);
        rings[me].entered = n + 1;
        n = n + 1;
        if
        :: n == PLACES -> break
        :: else
        fi
    :: timeout -> break /* nobody gives any more, and nothing can be taken */
    od
}

active proctype first()
{
    if
    :: give(0, 1)
    :: give(1, 1)
    fi;
    if
    :: give(0, 2)
    :: give(1, 2)
    :: direct(2)
    fi;
    told = true;
    if
    :: give(0, 3)
    :: direct(3)
    fi
}

active proctype second()
{
    told;
    if
    :: give(1, 4)
    :: give(0, 4)
    :: direct(4)
    fi;
    if
    :: give(0, 5)
    :: give(1, 5)
    fi
}

/* When nothing can happen any more, everything is entered: a deadlock is caught here. */
active proctype end()
{
    timeout;
    assert(in[1] && in[2] && in[3] && in[4] && in[5])
}
