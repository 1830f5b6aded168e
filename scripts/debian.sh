# For the scripts beside this one: Debian's packages, installed unasked where that is allowed.
# shellcheck shell=bash
as_root=()

may_install() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || return 1
        as_root=(sudo -n)
    fi
}

install_packages() {
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install --yes --quiet --no-install-recommends "$@")
    "${install[@]}" || { "${as_root[@]}" apt-get update --quiet && "${install[@]}"; }
}
