#!/bin/sh
# A purge removes what workers have saved there (--save-dir of the unit).
if [ "$1" = purge ]; then
	rm -rf "$DPKG_ROOT/var/lib/loadworker" "$DPKG_ROOT/var/lib/private/loadworker"
fi
# Notifies systemd that the unit is gone, unless systemd does not run or dpkg removes from another root.
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
