/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The life of a ring's thread (src/engine/submit/runtime.c: start, give, stop_one). It is started
 * by a thread that hands something over, and stopped by the last close of the process, of which
 * others do not know.
 *
 * Holds: there are never two takers; nothing stays in the ring, even if it was handed over while
 * the thread was being stopped; the last close ends.
 */
mtype = { stopped, running, stopping };
mtype life = stopped;
bool start_lock, ended, alive, stop_done;
byte given, taken, takers;

inline lock(l)   { atomic { !l; l = true } }
inline unlock(l) { l = false }

inline work()
{
    atomic { takers++; assert(takers == 1) }
end_sleeps:
    do
    :: taken < given -> taken++
    :: taken == given && ended -> /* looks at the ring once more: what came before the end is there */
        if
        :: taken == given -> break
        :: else
        fi
    od;
    takers--
}

proctype taker()
{
    work();
    alive = false
}

inline start()
{
    lock(start_lock);
    if
#ifdef BROKEN_STARTS_WHILE_STOPPING
    :: life != running ->
#else
    :: life == stopped ->
#endif
        ended = false;
        alive = true;
        run taker();
        life = running
    :: else
    fi;
    unlock(start_lock)
}

proctype giver()
{
    if
    :: life == stopped -> start()
    :: else
    fi;
    given++;
#ifndef BROKEN_LOOKS_ONCE
    if
    :: life == stopped -> start()
    :: else
    fi
#endif
}

/* The last close: if there is no thread to join, it works off what it finds. */
active proctype closer()
{
    mtype was;
    do
    :: taken == given && life == stopped -> break
    :: else ->
        lock(start_lock);
        was = life;
        life = stopping;
        unlock(start_lock);
        ended = true;
        if
        :: was == running -> !alive /* joins */
        :: else -> work()
        fi;
        life = stopped
    od;
    stop_done = true
}

init { run giver(); run giver() }

active proctype end()
{
    timeout;
    assert(stop_done);
    assert(taken == given && given == 2)
}
