#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# tools/bootstrap.sh installs what is missing even if the mirror fails a few times, does not call apt-get
# if nothing is missing, and gives up in the end.
set -euo pipefail
. tools/bootstrap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An apt-get that fails as often as $work/failures says, and then brings programs that do nothing.
cat >"$work/apt-get" <<END
#!/bin/bash
echo "\$*" >>"$work/log"
left=\$(cat "$work/failures")
[ "\$left" = 0 ] || { echo \$((left - 1)) >"$work/failures" && echo "the mirror is away" && exit 100; }
[[ " \$* " == *" install "* && " \$* " != *" --download-only "* ]] || exit 0
for word; do
    [[ \$word != missing-* ]] || { printf '#!/bin/sh\n' >"$work/\$word" && chmod +x "$work/\$word"; }
done
END
printf '#!/bin/sh\nexec "$@"\n' >"$work/sudo"
chmod +x "$work/apt-get" "$work/sudo"
PATH=$work:$PATH
sleep() { echo "$1" >>"$work/slept"; }

# expect FAILURES STATUS SLEEPS: of an installation of two programs that are not here.
expect()
{
    local status=0 slept
    rm -f "$work"/missing-* "$work/log"
    : >"$work/slept"
    echo "$1" >"$work/failures"
    (need missing-one missing-two) >"$work/said" 2>&1 || status=$?
    slept=$(wc -l <"$work/slept")
    if [ "$status" != "$2" ] || [ "$slept" != "$3" ]; then
        echo "$1 failures: expected status $2 after $3 pauses, not $status after $slept:"
        cat "$work/said" "$work/log"
        exit 1
    fi
}

expect 0 0 0
expect 1 0 0 # old lists will do
expect 2 0 1
expect 6 0 3
expect 99 1 3
grep -q '^error: apt-get could not fetch: missing-one missing-two$' "$work/said"

# What is there is not installed again.
expect 0 0 0
: >"$work/log"
need missing-one missing-two
[ ! -s "$work/log" ]
have_package python3-numpy || exit 0
want python3-numpy
[ ! -s "$work/log" ]
