# SPDX-License-Identifier: MIT OR Apache-2.0
# Shell code that ./demo, ./check and CI share: install what is missing, configure, build.
# Sourced by bash in the root of the checkout. Needs nothing that a minimal Debian lacks.

say()
{
    printf '== %s\n' "$*"
}

die()
{
    printf 'error: %s\n' "$*" >&2
    exit 1
}

has_module()
{
    pkg-config --exists "$1" 2>/dev/null
}

# Is what Debian's package $1 contains already here, wherever it comes from?
have_package()
{
    case $1 in
    ninja-build) command -v ninja >/dev/null ;;
    libc6-dev) [ -e /usr/include/stdio.h ] ;;
    libcmocka-dev) [ -e /usr/include/cmocka.h ] || [ -e /usr/local/include/cmocka.h ] ;;
    libuv1-dev) has_module libuv ;;
    libevent-dev) has_module libevent_core ;;
    liburing-dev) has_module liburing ;;
    libglib2.0-dev) has_module glib-2.0 ;;
    libjson-c-dev) has_module json-c ;;
    libpng-dev) has_module libpng ;;
    libturbojpeg0) /sbin/ldconfig -p 2>/dev/null | grep -q 'libturbojpeg\.so\.0 ' ;;
    debhelper) command -v dh >/dev/null ;;
    dh-python) command -v dh_python3 >/dev/null ;;
    graphviz) command -v dot >/dev/null ;;
    libxml2-utils) command -v xmllint >/dev/null ;;
    xz-utils) command -v xz >/dev/null ;;
    openmpi-bin) command -v mpiexec.openmpi >/dev/null ;;
    mpich) command -v mpiexec.mpich >/dev/null ;;
    python3-cffi)
        python3 -c 'import cffi, pycparser' 2>/dev/null || /usr/bin/python3 -c 'import cffi, pycparser' 2>/dev/null
        ;;
    python3-numpy) python3 -c 'import numpy' 2>/dev/null || /usr/bin/python3 -c 'import numpy' 2>/dev/null ;;
    python3-sphinx) /usr/bin/python3 -c "import sphinx" 2>/dev/null ;;
    python3-myst-parser) /usr/bin/python3 -c "import myst_parser" 2>/dev/null ;;
    furo) /usr/bin/python3 -c "import furo" 2>/dev/null ;;
    python3-opencv) /usr/bin/python3 -c 'import cv2' 2>/dev/null ;;
    python3-pil) python3 -c 'import PIL' 2>/dev/null || /usr/bin/python3 -c 'import PIL' 2>/dev/null ;;
    clang)
        local name
        for name in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
            command -v "$name" >/dev/null && return 0
        done
        return 1
        ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# Run as root; the output is shown only where the command fails.
as_root_quietly()
{
    local log status=0
    local run=()
    log=$(mktemp)
    [ "$(id -u)" = 0 ] || run=(sudo)
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null || status=$?
    [ $status = 0 ] || cat "$log" >&2
    rm -f "$log"
    return $status
}

# apt_get LIMIT ARGUMENTS...: gives up on a mirror that does not answer; waits while another program
# installs packages.
apt_get()
{
    as_root_quietly timeout -k 30 "$1" apt-get -q -o Acquire::Retries=3 -o Acquire::http::Timeout=60 \
        -o DPkg::Lock::Timeout=300 "${@:2}"
}

# Fetches first, within a time limit, and then installs, which must not be cut off. The result of apt-get
# update does not count: it may succeed without having got a list, and fail although old lists suffice.
try_to_install()
{
    apt_get 300 update || true
    problem="apt-get could not fetch: $*"
    apt_get 900 -y --no-install-recommends --download-only install "$@" || return 1
    problem="apt-get could not install: $*"
    apt_get 0 -y --no-install-recommends install "$@"
}

# install PACKAGE...: install those that are missing; if that fails, $problem says why. Tries several
# times, since a mirror may fail for a minute.
install()
{
    local missing=() package pause
    for package in "$@"; do
        have_package "$package" || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return 0
    problem="these are missing, and there is no apt-get to install them: ${missing[*]}"
    command -v apt-get >/dev/null || return 1
    problem="these are missing, and only root can install them: ${missing[*]}"
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null || return 1
    say "installing with apt-get: ${missing[*]}"
    for pause in 5 15 40; do
        try_to_install "${missing[@]}" && return 0
        say "$problem; once more in $pause s"
        sleep $pause
    done
    try_to_install "${missing[@]}"
}

# need PACKAGE...: install them, or exit.
need()
{
    install "$@" || die "$problem"
}

# want PACKAGE...: install them if possible; without them something is left out.
want()
{
    install "$@" || say "going on without: $problem"
}

# quietly LOG COMMAND...: the output goes to LOG; its end is shown where the command fails.
quietly()
{
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null && return 0
    tail -n 60 "$log" >&2
    return 1
}

# build PRESET [TARGETS] [-D...]: configure and build in build/PRESET; TARGETS is one word or several.
build()
{
    local preset=$1 target=${2:-all}
    local dir=build/$preset start=$SECONDS
    local options=("${@:3}")
    mkdir -p "$dir"
    # A folder that was copied here from elsewhere cannot be used as it is.
    if [ -e "$dir/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$dir/CMakeCache.txt"; then
        options+=(--fresh)
    fi
    say "building in $dir"
    quietly "$dir/configure.log" cmake --preset "$preset" "${options[@]}" ||
        die "configuring failed; all of it: $dir/configure.log"
    # shellcheck disable=SC2086 # targets are words
    quietly "$dir/build.log" cmake --build "$dir" --target $target ||
        die "building failed; all of it: $dir/build.log"
    say "built in $((SECONDS - start)) s"
}
