#!/bin/sh
# Directories of a pool by NFS (`[[nfs]]` of exports.toml) with the kernel's own server and client, in a machine of a lab:
# each line of output is one thing held against the kernel. Run by machines.rs.
start() { hawser exports start tank --root /tank --iqn iqn.2026-01.lab --backend tgt 2>&1; }
export OCF_RESKEY_pool=tank OCF_RESKEY_root=/tank OCF_RESKEY_iqn=iqn.2026-01.lab OCF_RESKEY_backend=tgt
uname -r

for m in nfsd nfsv3 nfsv4 loop; do modprobe $m; done
mkdir -p /tank /run/rpcbind
ip addr add 10.72.200.1/24 dev lo; ip addr add 10.72.9.1/24 dev lo; ip addr add fd00:72::1/64 dev lo
truncate -s 32M /root/disk; mke2fs -q -t ext4 /root/disk
losetup /dev/loop0 /root/disk; mount -t ext4 /dev/loop0 /tank
mkdir -p /tank/home/joe /tank/iso; chmod 777 /tank/home; echo one >/tank/home/joe/file; echo two >/tank/iso/file
cat >/tank/exports.toml <<'TOML'
[[nfs]]
directory = "home"
clients = ["10.72.200.0/24", "fd00:72::/64"]
options = "rw,no_root_squash,insecure"

[[nfs]]
directory = "iso"
clients = ["10.72.200.0/24"]
options = "ro"
TOML

# A host whose server does not run cannot, and says so; nothing is exported.
said=$(start) && no "a start without a server" || ok "a start without a server fails"
has "and says what is missing" "its NFS server does not run (systemctl enable --now nfs-server)" "$said"
is "nothing is exported" "" "$(exportfs -s)"
hawser exports ocf start 2>/dev/null; is "the agent fails softly" 1 $?
rpcbind || no "rpcbind"
mount -t nfsd nfsd /proc/fs/nfsd
# Without it Linux 6.12 knows of no client, and lets all of them wait for 90 s.
systemctl start nfsdcld || no "nfsdcld"
rpc.nfsd 4 || no "rpc.nfsd"
said=$(start) && no "a start without rpc.mountd" || ok "a start without rpc.mountd fails"
has "and says so" "rpc.mountd does not run" "$said"
rpc.mountd || no "rpc.mountd"

said=$(start) && ok "a start" || no "start: $said"
has "it says what it does" "/tank/home is exported to 10.72.200.0/24, fd00:72::/64 (rw,insecure,no_root_squash)" "$said"
hasnt "and offers nothing by iSCSI" "iqn" "$said"
has "a second start has nothing to do" "nothing to do" "$(start)"
hawser exports ocf monitor; is "monitor of what runs" 0 $?
hawser exports verify tank >/tmp/said; is "verify" 0 $?
fsid=$(hawser exports show tank --json | sed -n 's/.*"fsid": "\(.*\)".*/\1/p' | head -1)
is "a file system's number is a UUID" 36 "${#fsid}"
has "and the server has it" "fsid=$fsid" "$(exportfs -s)"

# A client of version 4 and one of version 3, each by its network.
mkdir -p /mnt/4 /mnt/3 /mnt/iso /mnt/no
mount.nfs 10.72.200.1:/tank/home /mnt/4 -o vers=4.2,soft,timeo=50 && ok "mounted by NFS 4.2" || no "mount by NFS 4.2"
mount.nfs 10.72.200.1:/tank/home /mnt/3 -o vers=3,nolock,soft,timeo=50 && ok "mounted by NFS 3" || no "mount by NFS 3"
is "a file is read" one "$(cat /mnt/4/joe/file)"
is "by the other too" one "$(cat /mnt/3/joe/file)"
echo three >/mnt/4/new && ok "a file is written" || no "a file is written"
is "and is the pool's" three "$(cat /tank/home/new)"
is "as root" 0 "$(stat -c %u /tank/home/new)"
mount.nfs 10.72.200.1:/tank/iso /mnt/iso -o vers=4.2,soft,timeo=50 && ok "mounted read only" || no "mount read only"
is "it is read" two "$(cat /mnt/iso/file)"
echo x >/mnt/iso/x 2>/dev/null && no "it is written" || ok "and not written"
mount.nfs '[fd00:72::1]:/tank/home' /mnt/no -o vers=4.2,soft,timeo=50 && ok "mounted by IPv6" || no "mount by IPv6"
umount /mnt/no
mount.nfs 10.72.9.1:/tank/home /mnt/no -o vers=3,nolock,soft,timeo=50 2>/tmp/said && { no "a stranger mounts it"; umount /mnt/no; } || ok "a stranger does not mount it"

# What changes in the file, while a client writes.
: >/mnt/4/log; chmod 666 /mnt/4/log; echo new >/tank/iso/unread
(i=0; while [ ! -e /tmp/end ]; do i=$((i + 1)); echo $i >>/mnt/4/log || { echo "write $i" >>/tmp/errors; break; }; done; echo $i >/tmp/count) &
writer=$!
sed -i 's/rw,no_root_squash,insecure/rw,insecure/' /tank/exports.toml
has "other options" "as rw,insecure from now on" "$(start)"
cat >>/tank/exports.toml <<'TOML'
[[nfs]]
directory = "vm"
clients = ["*"]
TOML
said=$(start) && no "a directory that is not there" || has "a directory that is not there is an error" 'there is no directory "vm" in pool tank' "$said"
mkdir /tank/vm; start >/dev/null || no "a directory more"
printf '[[nfs]]\ndirectory = "home"\nclients = ["10.72.200.0/24", "fd00:72::/64"]\noptions = "rw,insecure"\n[[nfs]]\ndirectory = "vm"\nclients = ["*"]\n' >/tank/exports.toml
has "a directory less" "/tank/iso is no longer exported to 10.72.200.0/24" "$(start)"
sleep 1; touch /tmp/end; wait $writer
is "a client that wrote meanwhile had no errors" "" "$(cat /tmp/errors 2>/dev/null)"
is "and all it wrote is there" "$(cat /tmp/count)" "$(wc -l </tank/home/log)"
# Not what the client has in its cache.
cat /mnt/iso/unread >/dev/null 2>&1 && no "what is no longer exported is read" || ok "what is no longer exported is not read"
umount -l /mnt/iso
(cd /mnt/4 && : >squashed) && is "root is nobody now" 65534 "$(stat -c %u /tank/home/squashed)"

# Something is gone behind its back, and somebody else's export beside it.
mkdir -p /theirs /tank/other; exportfs -i -o ro,fsid=9,no_subtree_check "*:/theirs"
exportfs -u '*:/tank/vm'
hawser exports ocf monitor 2>/tmp/said; is "monitor finds an export missing" 1 $?
has "and says which" "/tank/vm is exported to *" "$(cat /tmp/said)"
start >/dev/null; hawser exports ocf monitor; is "a start mends it" 0 $?
exportfs -i -o ro,fsid=8,no_subtree_check '*:/tank/other'
printf '[[nfs]]\ndirectory = "other"\nclients = ["*"]\n' >>/tank/exports.toml
said=$(start) && no "takes another's export" || has "another's export is not taken" "is exported to * already, and not by hawser" "$said"
exportfs -u '*:/tank/other'; start >/dev/null || no "start after another's is gone"

# A renamed directory keeps its number.
mv /tank/vm /tank/machines; sed -i 's/"vm"/"machines"/' /tank/exports.toml
number() { exportfs -s | sed -n "s,^/tank/$1 .*fsid=\([0-9a-f-]*\).*,\1,p"; }
before=$(number vm); start >/dev/null; is "a renamed directory keeps its number" "$before" "$(number machines)"

# A takeover: clients have files open, the pool goes and comes back.
exec 7</mnt/4/joe/file 8<>/mnt/4/held 9</mnt/3/joe/file
echo before >&8
# Each exportfs flushes the kernel's tables, and the second in one second moves the time of the flush into the future: nothing
# is taken out of a table before it has come (write_flush and cache_clean, net/sunrpc/cache.c, Linux 6.1).
for i in 1 2 3 4 5 6 7 8; do exportfs -i -o ro,fsid=9,no_subtree_check "*:/theirs"; done
[ "$(cat /proc/net/rpc/nfsd.export/flush)" -gt "$(date +%s)" ] && ok "the kernel's next flush is ahead" || no "the kernel's next flush is ahead"
# As Pacemaker does it: the addresses go first and come last, so that no client asks in between.
ip addr del 10.72.200.1/24 dev lo; ip addr del fd00:72::1/64 dev lo
said=$(hawser exports stop tank 2>&1) && ok "a stop" || no "stop: $said"
is "somebody else's export stays" "/theirs" "$(exportfs -s | cut -d' ' -f1)"
is "no client has revoked state left" "" "$(grep -h revoked /proc/fs/nfsd/clients/*/states 2>/dev/null)"
umount /tank && ok "the pool is unmounted although clients had files open" || no "umount: $(cat /proc/fs/nfsd/clients/*/states 2>&1)"
hawser exports ocf monitor; is "monitor of what does not run" 7 $?
mount -t ext4 /dev/loop0 /tank; start >/dev/null || no "start after the takeover"
ip addr add 10.72.200.1/24 dev lo; ip addr add fd00:72::1/64 dev lo
is "an open file is read on by NFS 4" one "$(cat <&7)"
is "and by NFS 3" one "$(cat <&9)"
(echo after >&8) && ok "an open file is written on" || no "an open file is written on"
exec 8>&-; sync
is "and nothing of it is lost" "before after" "$(tr '\n' ' ' </tank/home/held | sed 's/ $//')"
exec 7<&- 9<&-

# The pool is gone, and the copy of what was started.
umount /mnt/4 /mnt/3; umount -l /tank
hawser exports stop tank >/dev/null && ok "a stop without the pool" || no "a stop without the pool"
is "leaves nothing of it" "/theirs" "$(exportfs -s | cut -d' ' -f1)"
losetup -d /dev/loop0 2>/dev/null; losetup /dev/loop1 /root/disk; mount -t ext4 /dev/loop1 /tank; start >/dev/null || no "start"
rm /run/hawser/exports/tank.json
hawser exports ocf monitor 2>/tmp/said; is "monitor without its copy" 1 $?
hawser exports stop tank --root /tank --iqn iqn.2026-01.lab --backend tgt >/dev/null && ok "a stop without the copy" || no "a stop without the copy"
is "leaves nothing either" "/theirs" "$(exportfs -s | cut -d' ' -f1)"
dmesg | grep -E "BUG:|WARNING: CPU|Oops:" && no "the kernel complains" || ok "the kernel does not complain"
exit $failed
