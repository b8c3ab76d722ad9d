#!/bin/sh
# systemd forgets the unit, if it runs here and not in a folder that is being filled.
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
