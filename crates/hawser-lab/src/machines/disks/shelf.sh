# What a shelf machine does at each boot: its disks become units of the kernel's target. The lines that follow name them.
set -eu
modprobe -a target_core_iblock iscsi_target_mod dm-mod dm-delay dm-flakey
tree=/sys/kernel/config/target
[ -d $tree ] || mount -t configfs none /sys/kernel/config
udevadm settle

# NAME SERIAL NUMBER: through device-mapper, by which a drill makes the disk slow, or has it answer with errors.
unit() {
	disk=/dev/disk/by-id/ubd-$1
	dmsetup create "$1" --table "0 $(blockdev --getsz "$disk") linear $disk 0"
	store=$tree/core/iblock_0/$1
	mkdir -p "$store"
	echo "udev_path=/dev/mapper/$1" >"$store/control"
	echo 1 >"$store/enable"
	echo "$2" >"$store/wwn/vpd_unit_serial"
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

