#!/bin/sh
# A purge removes what workers have saved there (--save-dir of the unit).
if [ "$1" = purge ]; then
	rm -rf "$DPKG_ROOT/var/lib/loadworker" "$DPKG_ROOT/var/lib/private/loadworker"
fi
# systemd forgets the unit, if it runs here and not in a folder that is being filled.
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
