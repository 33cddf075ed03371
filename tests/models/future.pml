/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A future's end (src/engine/completion/future.c, src/engine/completion/cancel.c). It is resolved by its
 * submission when that is over, or by a thread that cancels it, while others add callbacks, look at
 * it and let it go; perhaps before another thread has planned the submission. The reactor calls the
 * callbacks. Each holder has a reference: the submission until it has resolved the future, each
 * callback until it was called, and each user.
 *
 * Holds: the first outcome stays; every callback is called once, with it; a submission whose future
 * was cancelled learns of that, from one side only; the memory goes once, after the last look.
 */
#define USERS 2
#define DONE_WELL 7
#define CANCELLED 8

mtype = { starting, running, done };
mtype state = starting;
byte refs = 3; /* the submission's and the users' */
bool locked, freed, over;
byte status, winner, gave_up;
bool added[USERS], queued[USERS], called[USERS];

inline touch()  { assert(!freed) }
inline lock()   { atomic { touch(); !locked; locked = true } }
inline unlock() { touch(); locked = false }
inline retain() { touch(); refs++ }
inline drop()
{
    byte left;
    touch();
    atomic { refs--; left = refs }
    if
    :: left == 0 -> assert(!freed); freed = true
    :: else
    fi
}

/* `was`: the state before; if that is done, somebody else was first. */
inline resolve(outcome)
{
    byte i;
    bool taken[USERS];
#ifdef BROKEN_LOOKS_UNLOCKED
    was = state;
    lock();
#else
    lock();
    was = state;
#endif
    if
    :: was == done -> unlock()
    :: else ->
        assert(winner == 0);
        winner = outcome;
        status = outcome;
        /* The list of callbacks is taken as a whole. */
        for (i : 0 .. USERS - 1) { taken[i] = added[i]; added[i] = false }
#ifdef BROKEN_DONE_AFTER
        unlock();
        atomic { was = state; state = done }
#else
        atomic { was = state; state = done }
        unlock();
#endif
        for (i : 0 .. USERS - 1) {
            if
            :: taken[i] -> queued[i] = true
            :: else
            fi
        }
    fi
}

/* Plans the submission; then it is over, on the device or because it was given up. */
active proctype submission()
{
    mtype was;
    bool lost;
    touch();
    atomic {
        if
        :: state == starting -> state = running
        :: else -> lost = true
        fi
    }
    if
    :: lost -> gave_up++
    :: else
    fi;
    resolve(DONE_WELL);
    over = true;
    drop()
}

proctype user(byte me)
{
    mtype was;
    bool late;
#ifndef BROKEN_CALLBACK_HOLDS_NOTHING
    retain(); /* the callback's */
#endif
    lock();
    late = (state == done);
    if
    :: !late -> added[me] = true
    :: else
    fi;
    unlock();
    if
    :: late -> queued[me] = true
    :: else
    fi;
    if
    :: me == 0 -> /* cancels */
        resolve(CANCELLED);
        if
#ifdef BROKEN_TELLS_NOBODY
        :: false
#else
        :: was == running -> gave_up++
#endif
        :: else
        fi
    :: else
    fi;
    drop() /* lets go while it runs, or later */
}

active proctype reactor()
{
    byte which, calls;
end_sleeps:
    do
    :: queued[0] -> which = 0; queued[0] = false; goto call
    :: queued[1] -> which = 1; queued[1] = false; goto call
    :: calls == USERS -> goto ended
    od;
call:
    touch();
    assert(state == done && status == winner);
    assert(!called[which]);
    called[which] = true;
    calls++;
#ifndef BROKEN_CALLBACK_HOLDS_NOTHING
    drop();
#endif
    goto end_sleeps;
ended:
    skip
}

init { run user(0); run user(1) }

active proctype end()
{
    timeout;
    assert(called[0] && called[1] && over);
    assert(gave_up == (winner == CANCELLED));
    assert(freed && refs == 0)
}
