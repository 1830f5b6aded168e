#!/usr/bin/env bash
# Print the folder of a PostgreSQL server's programs, which the tests start one with.
#
#   postgres.sh            find it
#   postgres.sh --install  find it, or install Debian's package if that can be done unasked
set -euo pipefail
source "$(dirname "$0")/debian.sh"

find_programs() {
    local folder
    for folder in "$(dirname "$(command -v initdb || true)")" \
        $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -V -r); do
        # A link on the path leads to where the other programs are.
        folder=$(dirname "$(readlink -f "$folder/initdb" 2>/dev/null || true)")
        if [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] && [ -x "$folder/postgres" ]; then
            echo "$folder"
            return 0
        fi
    done
    return 1
}

install_programs() {
    may_install || return 1
    echo "Installing PostgreSQL for the tests (once)" >&2
    # Only the programs are wanted: the package would also start a server of its own.
    local settings=/etc/postgresql-common/createcluster.conf
    {
        install_packages postgresql-common
        "${as_root[@]}" cp "$settings" "$settings.evichain"
        echo "create_main_cluster = false" | "${as_root[@]}" tee -a "$settings"
        local installed=no
        install_packages postgresql && installed=yes
        "${as_root[@]}" mv "$settings.evichain" "$settings"
    } >&2
    [ "$installed" = yes ]
}

if find_programs; then
    exit 0
elif [ "${1:-}" = --install ] && install_programs && find_programs; then
    exit 0
fi
echo "There is no PostgreSQL server here: install the package 'postgresql' (apt-get install" \
    "postgresql, dnf install postgresql-server, brew install postgresql)." >&2
exit 1
