#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The example of data-parallel training over two "hosts": network namespaces with names, addresses and a wire of their
# own, between which Open MPI has TCP only. The weights of all ranks must be equal to the last bit. By hand, and by
# tools/nightly. It takes root, and is skipped, in words, where network namespaces can not be made.
# usage: hosts.sh BUILD-FOLDER
set -euo pipefail
example=$(realpath "$1/examples/parallel")
a=acuda-$$-a b=acuda-$$-b
work=$(mktemp -d)
command -v mpiexec.openmpi >/dev/null || { echo "Open MPI is not installed (Debian: openmpi-bin)" && exit 77; }
end()
{
    ip netns del "$a" 2>/dev/null || true
    ip netns del "$b" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
ip netns add "$a" 2>"$work/why" || { echo "network namespaces can not be made here: $(cat "$work/why")" && exit 77; }
ip netns add "$b"
ip link add "a$$" netns "$a" type veth peer name "b$$" netns "$b" 2>"$work/why" ||
    { echo "a wire between network namespaces can not be made here: $(cat "$work/why")" && exit 77; }
for host in "$a 10.177.0.1 a$$" "$b 10.177.0.2 b$$"; do
    read -r name address wire <<<"$host"
    ip -n "$name" addr add "$address/24" dev "$wire"
    ip -n "$name" link set "$wire" up
    ip -n "$name" link set lo up
done

# Instead of ssh: a command on one of the hosts, which has a name of its own.
cat >"$work/agent" <<END
#!/bin/sh
name=$b
[ "\$1" != 10.177.0.1 ] || name=$a
shift
exec ip netns exec \$name unshare -u sh -c "hostname \$name && \$*"
END
chmod +x "$work/agent"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
sent() { ip netns exec "$a" cat "/sys/class/net/a$$/statistics/tx_bytes"; }
before=$(sent)
"$work/agent" 10.177.0.1 timeout -k 5 100 mpiexec.openmpi --host 10.177.0.1:2,10.177.0.2:2 -n 4 \
    --mca plm_rsh_agent "$work/agent" --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.177.0.0/24 \
    --mca oob_tcp_if_include 10.177.0.0/24 sh -c "'hostname >&2; exec $example'" >"$work/out" 2>"$work/hosts" ||
    { cat "$work/out" "$work/hosts" && exit 1; }
cat "$work/out"
sort "$work/hosts" | uniq -c
grep -q "^4 ranks, Open MPI.*weights of all ranks are equal" "$work/out"
[ "$(grep -c "^$a\$" "$work/hosts")" = 2 ] && [ "$(grep -c "^$b\$" "$work/hosts")" = 2 ]
echo "$(($(sent) - before)) bytes went over the wire"
