# What a head does at each boot, before its cluster starts: it logs in to shelf machines. The lines that follow name them.
set -eu

# PATHS: how many lead to a unit.
begin() {
	modprobe iscsi_tcp
	services=iscsid
	if [ "$1" -gt 1 ]; then
		modprobe dm-multipath
		services="iscsid multipathd"
	fi
	systemctl start $services
}

# TARGET ADDRESS: one path. iscsid goes on where it does not answer.
path() {
	iscsiadm -m node -T "$1" -p "$2" -o new >/dev/null
	iscsiadm -m node -T "$1" -p "$2" --login --no_wait || true
}

# DEVICE…: a head without its disks is late, and with one that is gone it goes on.
await() {
	for device; do
		for again in $(seq 300); do
			[ -b "$device" ] && break
			sleep 0.5
		done
		[ -b "$device" ] || echo "there is no $device"
	done
}

