#!/bin/sh
# Before a removal workers hand over to the others and end. An upgrade leaves them alone: dpkg says "upgrade", rpm "1".
case "$1" in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl stop 'loadworker@*.service' || true
	fi
	;;
esac
