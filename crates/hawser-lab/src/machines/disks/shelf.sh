# What a shelf machine does at each boot: its disks become units of the kernel's target. The lines that follow name them.
set -eu
modprobe -a target_core_iblock iscsi_target_mod dm-mod dm-delay dm-flakey
tree=/sys/kernel/config/target
[ -d $tree ] || mount -t configfs none /sys/kernel/config
registered=$(cat $tree/dbroot)/pr
udevadm settle

# STORE SERIAL: what heads registered to stay (APTPL) is there again, as in any array. The kernel writes a file of it, and reads none.
restore() {
	[ -s "$registered/aptpl_$2" ] || return 0
	awk '/^PR_REG_START/ { line = ""; next } /^PR_REG_END/ { print line; next } { line = line (line ? "," : "") $0 }' \
		"$registered/aptpl_$2" | while read -r one; do
		echo "$one" >"$1/pr/res_aptpl_metadata"
	done
}

# NAME SERIAL NUMBER: through device-mapper, by which a drill makes the disk slow, or has it answer with errors.
unit() {
	disk=/dev/disk/by-id/ubd-$1
	dmsetup create "$1" --table "0 $(blockdev --getsz "$disk") linear $disk 0"
	store=$tree/core/iblock_0/$1
	mkdir -p "$store"
	echo "udev_path=/dev/mapper/$1" >"$store/control"
	echo 1 >"$store/enable"
	echo "$2" >"$store/wwn/vpd_unit_serial"
	restore "$store" "$2"
	mkdir -p "$group/lun/lun_$3"
	ln -s "$store" "$group/lun/lun_$3/$1"
}

# NAME [ADDRESS…]
target() {
	group=$tree/iscsi/$1/tpgt_1
	mkdir -p "$group"
	echo 0 >"$group/attrib/authentication"
	echo 1 >"$group/attrib/generate_node_acls"
	echo 1 >"$group/attrib/cache_dynamic_acls"
	echo 0 >"$group/attrib/demo_mode_write_protect"
	shift
	for address; do mkdir -p "$group/np/$address:3260"; done
}

# The target takes sessions from here on.
open() { echo 1 >"$group/enable"; }

