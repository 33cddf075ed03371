#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The example of data-parallel training over two "hosts": network namespaces with names, addresses and a wire of their
# own, between which MPI (Open MPI, and MPICH) has TCP only. The weights of all ranks must be equal to the last bit. By
# hand, and by tools/nightly. It takes root, and is skipped, in words, where network namespaces can not be made.
# Debian's, or the MPICH in a folder of its own, such as pip makes. MPICH before 4.2 can wait for good in MPI_Finalize over
# TCP by UCX, whatever the program (pmodels/mpich, pull request 6596), and is left out.
# usage: hosts.sh BUILD-FOLDER [MPI-FOLDER]
set -euo pipefail
example=$(realpath "$1/examples/parallel")
a=acuda-$$-a b=acuda-$$-b
work=$(mktemp -d)
end()
{
    ip netns del "$a" 2>/dev/null || true
    ip netns del "$b" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
ip netns add "$a" 2>"$work/why" || { echo "network namespaces can not be made here: $(cat "$work/why")" && exit 77; }
ip netns add "$b"
ip link add wire netns "$a" type veth peer name wire netns "$b" 2>"$work/why" ||
    { echo "a wire between network namespaces can not be made here: $(cat "$work/why")" && exit 77; }
for host in "$a 10.177.0.1" "$b 10.177.0.2"; do
    read -r name address <<<"$host"
    ip -n "$name" addr add "$address/24" dev wire
    ip -n "$name" link set wire up
    ip -n "$name" link set lo up
done
for name in "$a" "$b"; do
    until [ "$(ip netns exec "$name" cat /sys/class/net/wire/operstate)" = up ]; do sleep 0.05; done
done

# Instead of ssh: a command on one of the hosts, which has a name of its own.
cat >"$work/agent" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
name=$b
[ "\$1" != 10.177.0.1 ] || name=$a
shift
exec ip netns exec \$name unshare -u sh -c "hostname \$name && \$*"
END
chmod +x "$work/agent"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
sent() { ip netns exec "$a" cat /sys/class/net/wire/statistics/tx_bytes; }

# over NAME COMMAND...: the example, by two processes on each host
over()
{
    local name=$1 before
    before=$(sent)
    "$work/agent" 10.177.0.1 timeout -k 5 100 "${@:2}" -n 4 sh -c "'hostname >&2; exec $example'" \
        >"$work/out" 2>"$work/hosts" || { cat "$work/out" "$work/hosts" && exit 1; }
    cat "$work/out"
    grep -q "^4 ranks, $name.*weights of all ranks are equal" "$work/out"
    [ "$(grep -c "^$a\$" "$work/hosts")" = 2 ] && [ "$(grep -c "^$b\$" "$work/hosts")" = 2 ] ||
        { cat "$work/hosts" && exit 1; }
    echo "$(($(sent) - before)) bytes went over the wire"
    ran=1
}

# mpich MPIEXEC
mpich()
{
    over MPICH env UCX_TLS=tcp,self UCX_NET_DEVICES=wire "$1" -launcher ssh -launcher-exec "$work/agent" -iface wire \
        -hosts 10.177.0.1:2,10.177.0.2:2
}

ran=0
if [ $# -gt 1 ]; then
    export ACUDA_MPI=$2/lib/libmpi.so.12
    mpich "$2/bin/mpiexec"
    exit
fi
if command -v mpiexec.openmpi >/dev/null; then
    over "Open MPI" mpiexec.openmpi --host 10.177.0.1:2,10.177.0.2:2 --mca plm_rsh_agent "$work/agent" --mca pml ob1 \
        --mca btl tcp,self --mca btl_tcp_if_include 10.177.0.0/24 --mca oob_tcp_if_include 10.177.0.0/24
fi
version=$(mpichversion 2>/dev/null | sed -n 's/^MPICH Version:[[:space:]]*//p')
if command -v mpiexec.mpich >/dev/null && [ "$(printf '4.2\n%s\n' "$version" | sort -V | head -n 1)" = 4.2 ]; then
    mpich mpiexec.mpich
else
    echo "without MPICH: ${version:-not installed}"
fi
[ $ran = 1 ] || { echo "neither Open MPI nor MPICH from 4.2 on is installed (Debian: openmpi-bin, mpich)" && exit 77; }
