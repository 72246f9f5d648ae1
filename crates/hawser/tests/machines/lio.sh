#!/bin/sh
# `hawser exports` with the kernel's own target (LIO), in a machine of a lab: each line of output is one thing held against
# the kernel. Run by machines.rs.
authority=iqn.2026-01.lab iqn=iqn.2026-01.lab:tank tree=/sys/kernel/config/target
start() { hawser exports start tank --root /tank --iqn $authority --portal 10.72.200.1 --portal fd00:72::1 --backend lio 2>&1; }
# A client that logs in for the first time is told by each unit that the list of units has changed; iscsi-ls gives up.
luns() {
	for again in 1 2 3 4 5 6; do iscsi-ls -s $1 "iscsi://${2:-}${3:-10.72.200.1}" >/tmp/ls 2>&1 && break; done
	sed -n 's/^ *Lun:\([0-9]*\).*/\1/p' /tmp/ls | sort -nu | tr '\n' ' '
}
serial() { iscsi-inq -e 1 -c 128 "iscsi://10.72.200.1/$iqn/$1" 2>/dev/null | sed -n 's/.*Serial Number:\[\(.*\)\].*/\1/p'; }

mkdir -p /tank; mount -t tmpfs tank /tank
for v in a b; do truncate -s 16M /tank/$v.img; done
: >/tank/exports.toml
uname -r

# The pool's addresses come after its units.
said=$(start) && ok "a start before the addresses are there" || no "start: $said"
has "it says what it does" "a becomes LUN 1 on $iqn" "$said"
ip addr add 10.72.200.1/24 dev lo; ip addr add fd00:72::1/64 dev lo
has "a second start has nothing to do" "nothing to do" "$(start)"
is "both units by IPv4" "1 2 " "$(luns)"
is "both units by IPv6" "1 2 " "$(luns "" "" "[fd00:72::1]")"
one=$(serial 1) two=$(serial 2)
is "a unit's serial number has 32 digits" 32 "${#one}"
naa=$(iscsi-inq -e 1 -c 131 iscsi://10.72.200.1/$iqn/1 | tail -c 18 | head -c 16 | od -An -v -tx1 | tr -d ' \n')
is "its NAA identifier is the one that tgtd would show" "6001405$(echo $one | cut -c1-25)" "$naa"
has "its size" "16777216" "$(iscsi-readcapacity16 iscsi://10.72.200.1/$iqn/1 2>&1)"
export OCF_RESKEY_pool=tank OCF_RESKEY_root=/tank OCF_RESKEY_iqn=$authority OCF_RESKEY_backend=lio OCF_RESKEY_portals="10.72.200.1 fd00:72::1"
hawser exports ocf monitor; is "monitor of what runs" 0 $?
hawser exports ocf validate-all; is "validate-all" 0 $?

# Renames, removal, and clients that do not notice.
iscsi-perf -r -m 4 -b 8 "iscsi://10.72.200.1/$iqn/2" >/tmp/perf 2>&1 &
perf=$!
sleep 3
before=$(cat $tree/iscsi/$iqn/tpgt_1/dynamic_sessions)
has "a client is logged in" "iqn." "$before"
mv /tank/a.img /tank/z.img; truncate -s 16M /tank/c.img; start >/dev/null
is "numbers outlive a rename" "1 2 3 " "$(luns)"
rm /tank/c.img; start >/dev/null
is "what is gone is no longer offered" "1 2 " "$(luns)"
# It says what it has read once a second.
said() { tr '\r' '\n' </tmp/perf | grep -c '^00:'; }
so_far=$(said)
until [ "$(said)" -gt $((so_far + 1)) ] || ! kill -0 $perf 2>/dev/null; do sleep 1; done
kill -0 $perf && ok "the client that read meanwhile reads on" || no "the client that read meanwhile has ended"
kill -9 $perf; wait $perf
grep -iq "error\|fail\|reconnect" /tmp/perf && no "the client says: $(tail -3 /tmp/perf)" || ok "and says none"
is "serial numbers outlive it too" "$one $two" "$(serial 1) $(serial 2)"
mv /tank/z.img /tank/a.img

# Policies.
printf '[defaults]\nblock_size = 4096\nwrite_cache = false\n' >/tank/exports.toml
start >/dev/null
has "blocks of 4096 bytes" "4096" "$(iscsi-readcapacity16 iscsi://10.72.200.1/$iqn/1 2>&1)"
has "no write cache: every write is synchronous" "Mode: O_DSYNC" "$(cat $tree/core/fileio_*/$one/info)"
is "and it says that it has none" 0 "$(cat $tree/core/fileio_*/$one/attrib/emulate_write_cache)"
printf '[defaults]\nwrite_cache = true\n' >/tank/exports.toml
has "a start says what a write cache loses" "takes acknowledged writes of a, b with it" "$(start)"
has "with a write cache" "Mode: Buffered-WCE" "$(cat $tree/core/fileio_*/$one/info)"
: >/tank/exports.toml; start >/dev/null
has "which files have only if somebody says so" "Mode: O_DSYNC" "$(cat $tree/core/fileio_*/$one/info)"

# Hosts, each with units of its own on one target, which tgtd cannot.
cat >/tank/exports.toml <<'TOML'
[[host_group]]
name = "g"
members = ["iqn.2026-01.lab:good"]
[[host_group]]
name = "h"
members = ["iqn.2026-01.lab:other"]
[[unit]]
volume = "a"
[[unit]]
volume = "b"
read_only = true
[[view]]
name = "v"
units = ["a"]
host_group = "g"
[[view]]
name = "w"
units = ["b"]
host_group = "h"
TOML
said=$(start) || no "host groups: $said"
is "the first host sees the first unit" "1 " "$(luns "-i iqn.2026-01.lab:good")"
is "the other host sees the other" "2 " "$(luns "-i iqn.2026-01.lab:other")"
hasnt "a stranger does not even see the target" "$iqn" "$(iscsi-ls -i iqn.2026-01.lab:bad iscsi://10.72.200.1 2>&1)"
is "its unit is write protected" 1 "$(cat $tree/iscsi/$iqn/tpgt_1/acls/iqn.2026-01.lab:other/lun_2/write_protect)"
has "and again nothing to do" "nothing to do" "$(start)"

# Proofs, one way and both, for everybody and for certain hosts.
umask 077; echo first-secret-1 >/tmp/one; echo other-secret-2 >/tmp/two
chap='[[target]]
name = "tank"
chap = { user = "joe", secret = "file:/tmp/one", mutual_user = "us", mutual_secret = "file:/tmp/two" }'
hosts='[[host_group]]
name = "g"
members = ["iqn.2026-01.lab:good"]
[[view]]
name = "v"
host_group = "g"'
inq() { LIBISCSI_CHAP_TARGET_USERNAME=us LIBISCSI_CHAP_TARGET_PASSWORD=$2 iscsi-inq $3 "iscsi://joe%$1@10.72.200.1/$iqn/1" >/dev/null 2>&1; }
for who in everybody hosts; do
	as=; echo "$chap" >/tank/exports.toml
	if [ $who = hosts ]; then echo "$hosts" >>/tank/exports.toml; as="-i iqn.2026-01.lab:good"; fi
	said=$(start) || no "CHAP for $who: $said"
	hasnt "$who: no secret is said" "secret-" "$said"
	has "$who: nothing to do again" "nothing to do" "$(start)"
	iscsi-inq $as "iscsi://10.72.200.1/$iqn/1" >/dev/null 2>&1 && no "$who: without a secret" || ok "$who: nobody without a secret"
	inq first-secret-1 other-secret-2 "$as" && ok "$who: both secrets right" || no "$who: both secrets right"
	inq wrong-secret-9 other-secret-2 "$as" && no "$who: wrong secret" || ok "$who: not with a wrong one"
	inq first-secret-1 forged-secret-3 "$as" && no "$who: forged target" || ok "$who: not to a target that cannot prove itself"
done
LIBISCSI_CHAP_TARGET_USERNAME=us LIBISCSI_CHAP_TARGET_PASSWORD=other-secret-2 \
	iscsi-perf $as -r -m 4 -b 8 "iscsi://joe%first-secret-1@10.72.200.1/$iqn/1" >/tmp/perf 2>&1 &
perf=$!
sleep 3
session() { cat $tree/iscsi/$iqn/tpgt_1/acls/iqn.2026-01.lab:good/info; }
hasnt "a client is logged in with a secret" "No active iSCSI Session" "$(session)"
echo newer-secret-4 >/tmp/one
has "a changed secret: a start says who is cut" "its clients log in again" "$(start)"
has "and who had logged in with the old one is out" "No active iSCSI Session" "$(session)"
kill -9 $perf; wait $perf
inq first-secret-1 other-secret-2 "$as" && no "the old secret" || ok "a changed secret: not with the old one"
inq newer-secret-4 other-secret-2 "$as" && ok "but with the new one" || no "the new secret"
: >/tank/exports.toml; said=$(start) || no "open again: $said"
is "open again" "1 2 " "$(luns)"

# What a client gives back is free again, without a gap in its session.
modprobe iscsi_tcp; systemctl start iscsid
iscsiadm -m discovery -t sendtargets -p 10.72.200.1 >/dev/null; iscsiadm -m node -T $iqn -p 10.72.200.1 --login >/dev/null; udevadm settle
disk=/dev/$(ls /sys/class/iscsi_session/session*/device/target*/*:1/block)
blocks() { stat -c %b /tank/a.img; }
dd if=/dev/urandom of=$disk bs=1M count=8 oflag=direct conv=fsync 2>/dev/null
is "a file has what was written" 16384 "$(blocks)"
blkdiscard $disk && ok "a client gives it back" || no "blkdiscard"
is "the file has none of it any more" 0 "$(blocks)"
dd if=/dev/urandom of=$disk bs=1M count=8 oflag=direct conv=fsync 2>/dev/null
printf '[defaults]\nunmap = false\n' >/tank/exports.toml; said=$(start) || no "without unmap: $said"
has "a start says what it sets" "emulate_tpu = 0" "$said"
blkdiscard $disk 2>/dev/null && no "given back although nobody may" || ok "nobody gives anything back where that is not wanted"
is "and what was written is there" 16384 "$(blocks)"
: >/tank/exports.toml; start >/dev/null

# A block is written if it has what the client says, and the target copies, unless nobody may.
other=/dev/$(ls /sys/class/iscsi_session/session*/device/target*/*:2/block)
head -c 512 /dev/zero >/tmp/old; head -c 512 /dev/urandom >/tmp/new; cat /tmp/old /tmp/new >/tmp/swap; cat /tmp/new /tmp/new >/tmp/again
dd if=/tmp/old of=$disk oflag=direct 2>/dev/null
swap() { sg_compare_and_write --in=/tmp/$1 --lba=0 --num=1 --xferlen=1024 $disk >/tmp/said 2>&1; }
first() { dd if=$1 bs=512 count=1 iflag=direct 2>/dev/null | cmp -s - $2; }
swap again; is "a block that has something else is not written (a miscompare)" 14 $?
swap swap && first $disk /tmp/new && swap again && ok "one that has what the client says is" || no "COMPARE AND WRITE: $(cat /tmp/said)"
copy() { sg_xcopy if=$disk of=$other bs=512 count=2048 >/tmp/said 2>&1; }
copy && first $other /tmp/new && ok "the target copies from unit to unit" || no "EXTENDED COPY: $(cat /tmp/said)"
printf '[defaults]\nats = false\n' >/tank/exports.toml; said=$(start) || no "without ats: $said"
has "a start says what it sets" "emulate_caw = 0" "$said"
swap again; is "nobody compares and writes where that is not wanted (an invalid opcode)" 9 $?
copy && ok "while the target copies" || no "EXTENDED COPY without ats: $(cat /tmp/said)"
printf '[defaults]\nxcopy = false\n' >/tank/exports.toml; said=$(start) || no "without xcopy: $said"
has "a start says what it sets" "emulate_3pc = 0" "$said"
copy && no "copied although nobody may" || ok "nobody has the target copy where that is not wanted"
swap again && ok "while blocks are compared and written" || no "COMPARE AND WRITE without xcopy: $(cat /tmp/said)"
: >/tank/exports.toml; start >/dev/null

# A volume grows under a client, who reads and writes on in the same session.
session=$(ls -d /sys/class/iscsi_session/session*)
head -c 1M /dev/urandom >/tmp/before; dd if=/tmp/before of=$disk bs=1M oflag=direct conv=fsync 2>/dev/null
truncate -s 32M /tank/a.img
has "a start tells the kernel of it" "a has 33554432 bytes now" "$(start)"
echo 1 >/sys/block/${disk#/dev/}/device/rescan
is "a client that looks again sees it" 65536 "$(cat /sys/block/${disk#/dev/}/size)"
is "in the same session" "$session" "$(ls -d /sys/class/iscsi_session/session*)"
dd if=$disk bs=1M count=1 iflag=direct 2>/dev/null | cmp -s - /tmp/before && ok "what was there is there" || no "what was there"
dd if=/tmp/before of=$disk bs=1M seek=31 oflag=direct conv=fsync 2>/dev/null && ok "and the end can be written" || no "the end"
has "again nothing to do" "nothing to do" "$(start)"
iscsiadm -m node -T $iqn --logout >/dev/null

# Something is gone behind its back.
rm $tree/iscsi/$iqn/tpgt_1/lun/lun_2/$two
hawser exports ocf monitor 2>/tmp/said; is "monitor finds a unit missing" 1 $?
has "and says which" "b becomes LUN 2" "$(cat /tmp/said)"
start >/dev/null; is "a start mends it" "1 2 " "$(luns)"

# A stop without the pool, and another's target beside it.
mkdir -p $tree/iscsi/iqn.2026-01.other:x/tpgt_1 $tree/core/fileio_0/theirs
umount -l /tank
hawser exports ocf monitor; is "monitor while the pool is gone" 0 $?
said=$(hawser exports stop tank 2>&1) && ok "a stop without the pool" || no "stop: $said"
is "leaves nothing of it" "iqn.2026-01.other:x" "$(ls $tree/iscsi | grep iqn)"
is "and nothing behind it" "alua fileio_0" "$(ls $tree/core | tr '\n' ' ' | sed 's/ $//')"
hawser exports ocf monitor; is "monitor of what does not run" 7 $?

# LVM's devices are passed on as they are; without a write cache they are opened by fileio.
mount -t tmpfs tank /tank; : >/tank/exports.toml
modprobe loop; truncate -s 64M /root/pv; losetup /dev/loop0 /root/pv
for step in "pvcreate /dev/loop0" "vgcreate vg /dev/loop0" "lvcreate -L 16M -n x vg" "lvcreate -L 16M -n y vg"; do
	said=$($step -y 2>&1) || no "$step: $said"
done
printf '[[unit]]\nvolume = "x"\n[[unit]]\nvolume = "y"\nwrite_cache = false\n' >/tank/exports.toml
said=$(hawser exports start tank --root /tank --iqn $authority --portal 10.72.200.1 --backend lio --volume-group vg 2>&1) || no "devices: $said"
is "both devices" "1 2 " "$(luns)"
size() { iscsi-readcapacity16 iscsi://10.72.200.1/$iqn/$1 2>&1; }
lvextend -q -L 24M vg/x >/dev/null 2>&1; lvextend -q -L 24M vg/y >/dev/null 2>&1
has "a device that has grown is seen so at once" 25165824 "$(size 1)"
has "also by fileio" 25165824 "$(size 2)"
has "a device by iblock" "x" "$(cat $tree/core/iblock_*/*/udev_path)"
has "and one by fileio, synchronous" "Mode: O_DSYNC" "$(cat $tree/core/fileio_[1-9]*/*/info)"
hawser exports stop tank >/dev/null && ok "stopped" || no "stop of devices"

# A hundred units.
: >/tank/exports.toml; rm -f /tank/*.img /tank/exports-state.toml
for i in $(seq 100); do truncate -s 1M /tank/v$i.img; done
t=$(cut -d' ' -f1 /proc/uptime); said=$(start) || no "100 units: $said"; u=$(cut -d' ' -f1 /proc/uptime)
is "100 units" 100 "$(ls $tree/iscsi/$iqn/tpgt_1/lun | wc -l)"
is "the last of them is a disk of its size" 0 "$(iscsi-readcapacity16 iscsi://10.72.200.1/$iqn/100 >/dev/null 2>&1; echo $?)"
echo "100 units started in $(awk "BEGIN { print $u - $t }") s here"
t=$(cut -d' ' -f1 /proc/uptime); start >/dev/null; u=$(cut -d' ' -f1 /proc/uptime)
echo "and again, unchanged, in $(awk "BEGIN { print $u - $t }") s"
hawser exports stop tank >/dev/null && ok "and stopped" || no "stop of 100 units"
dmesg | grep -E "BUG:|WARNING: CPU|Oops:" && no "the kernel complains" || ok "the kernel does not complain"
exit $failed
