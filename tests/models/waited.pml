/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A future that the thread which submits it waits for at once (src/engine/completion/future.c:
 * resolve_waited; complete.c: acui_submission_close). Whichever thread sees the end of the
 * submission says so, the waiting one or another. The submission holds neither itself nor the
 * future: the waiting thread does, and frees both as soon as it sees that the future is done. If
 * planning fails after a part of the work got away, nobody waits: then that part holds both.
 *
 * Holds: nobody looks at what is freed, and it is freed once; the waiting thread goes on, with the
 * outcome.
 */
byte open = 2; /* the work on the device, and the thread that plans */
bool refused, done, freed, harvested, ended;
byte outcome;

inline touch() { assert(!freed) }
inline free()  { touch(); freed = true }

inline close()
{
    touch();
    atomic { open--; left = open }
    if
    :: left == 0 ->
        touch();
        if
        :: refused -> free() /* it held both itself */
        :: else ->
            outcome = 1;
#ifdef BROKEN_HOLDS_ITSELF_LATE
            done = true;
            touch()
#else
            touch();
            done = true
#endif
        fi
    :: else
    fi
}

/* The first thread that looks at the stream takes the task from it. */
inline harvest()
{
    atomic { mine = !harvested; harvested = true }
    if
    :: mine -> close()
    :: else
    fi
}

active proctype other()
{
    byte left;
    bool mine;
    harvest()
}

active proctype waiter()
{
    byte left;
    bool mine, failed;
    if
    :: refused = true /* planning failed: the rest goes on without it */
    :: skip
    fi;
    failed = refused;
    close();
    if
    :: failed ->
#ifdef BROKEN_FREES_WHAT_FAILED
        free()
#else
        skip
#endif
    :: else ->
        do
        :: done -> break
        :: !done -> harvest()
        od;
        assert(outcome == 1);
        free()
    fi;
    ended = true
}

active proctype end()
{
    timeout;
    assert(ended && freed)
}
