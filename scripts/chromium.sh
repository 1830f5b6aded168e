#!/usr/bin/env bash
# Print the path of a Chromium, which the tests of the page look at it with.
#
#   chromium.sh            find it
#   chromium.sh --install  find it, or install Debian's package if that can be done unasked
set -euo pipefail
source "$(dirname "$0")/debian.sh"

find_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && return 0
    done
    return 1
}

install_browser() {
    may_install || return 1
    echo "Installing Chromium for the tests (once)" >&2
    # A page without any font has no width to measure.
    install_packages chromium fonts-dejavu-core >&2
}

if find_browser; then
    exit 0
elif [ "${1:-}" = --install ] && install_browser && find_browser; then
    exit 0
fi
echo "There is no Chromium here: install the package 'chromium' (apt-get install chromium," \
    "dnf install chromium, brew install chromium)." >&2
exit 1
