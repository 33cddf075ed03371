/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A future that who submits it waits for at once (src/engine/completion/future.c: resolve_waited, complete.c:
 * acui_submission_close). Whoever sees the end of the submission says so, its own thread or another
 * one, and the submission holds neither itself nor the future: the waiting thread does, and frees
 * both as soon as it sees that the future is done. Where planning fails after a part of the work got
 * away, nobody waits: then that part holds both.
 *
 * Holds: what is freed is looked at by nobody any more, and is freed once; who waits goes on, with
 * the outcome.
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

/* Who looks at the stream first takes the task from it. */
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
