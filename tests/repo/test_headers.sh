#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
command -v gcc >/dev/null || command -v clang >/dev/null || exit 77
exec tools/check-headers
