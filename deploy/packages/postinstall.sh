#!/bin/sh
# Notifies systemd of the unit, unless systemd does not run or dpkg installs into another root.
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
