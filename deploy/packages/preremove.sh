#!/bin/sh
# Ends the workers before a removal: they hand over to the others, and report. An upgrade leaves them alone. The argument
# says which it is: remove or upgrade from dpkg, 0 or 1 from rpm.
case "$1" in
remove | 0)
	if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
		systemctl stop 'loadworker@*.service' || true
	fi
	;;
esac
